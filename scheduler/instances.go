package scheduler

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/solotick/solotick/internal/heartbeat"
	"github.com/solotick/solotick/internal/protocol"
)

// instances finds other processes that use this replica's id, each of which overwrites the
// heartbeats of the others. Leases are distinguished by their requests all the same, so nothing
// runs twice for that; but people see one replica in place of many.
type instances struct {
	beats  int                  // heartbeats so far
	others map[string]time.Time // when each was seen last, by the local clock
}

const (
	instancesEvery = 4 // heartbeats between two looks, which read the heartbeats of all replicas
	instancesLife  = 4 // looks after which another instance that was not seen is gone
	mostInstances  = 16
)

// look reads the heartbeat under this replica's id before the next one takes its place: if it is
// another instance's, it was sent after ours. It is for stores that are no [protocol.Heartbeater].
func (i *instances) look(ctx context.Context, membership protocol.Membership, known *heartbeats, replica, own string) {
	if i.beats++; i.beats%instancesEvery != 2 { // the first heartbeat may find the one of a predecessor
		return
	}
	members, err := known.read(ctx, membership)
	at := slices.IndexFunc(members, func(m protocol.Member) bool { return m.Holder == replica })
	if err == nil && at >= 0 {
		i.take(members[at].Info, own, time.Now())
	}
}

// ages returns how long ago, in ms, each other instance was noticed, with so much time between two
// heartbeats.
func (i *instances) ages(every time.Duration) map[string]int64 {
	maps.DeleteFunc(i.others, func(_ string, seen time.Time) bool { return time.Since(seen) > instancesLife*instancesEvery*every })
	ages := make(map[string]int64, len(i.others))
	for id, seen := range i.others {
		ages[id] = time.Since(seen).Milliseconds()
	}
	return ages
}

// take takes in a heartbeat under this replica's id.
func (i *instances) take(info []byte, own string, now time.Time) {
	r, err := heartbeat.Decode(info)
	if err != nil || r.Instance == "" || r.Instance == own {
		return
	}
	if i.others == nil {
		i.others = make(map[string]time.Time)
	}
	i.others[r.Instance] = now
	for id, age := range r.Others { // those that the other has noticed: each takes the place of one only
		seen := now.Add(-time.Duration(age) * time.Millisecond)
		if id != own && seen.After(i.others[id]) && len(i.others) < mostInstances {
			i.others[id] = seen
		}
	}
}
