package scheduler

import (
	"maps"
	"time"

	"github.com/solotick/solotick/internal/heartbeat"
)

// instances finds other processes that use this replica's id, each of which overwrites the
// heartbeats of the others. Leases are distinguished by their requests all the same, so nothing
// runs twice for that; but people see one replica in place of many.
type instances struct {
	others map[string]time.Time // when each was seen last, by the local clock
}

const (
	instancesLife = 16 // heartbeats after which another instance that was not seen is gone
	mostInstances = 16
)

// ages returns how long ago, in ms, each other instance was noticed, with so much time between two
// heartbeats.
func (i *instances) ages(every time.Duration) map[string]int64 {
	maps.DeleteFunc(i.others, func(_ string, seen time.Time) bool { return time.Since(seen) > instancesLife*every })
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
