package membership

import (
	"maps"
	"time"

	"github.com/solotick/solotick/internal/heartbeat"
)

// Instances finds other processes that use this replica's id. They overwrite each other's
// heartbeats. Nothing runs twice, because leases are distinguished by their requests, but people
// see one replica in place of many.
type Instances struct {
	Others map[string]time.Time // when each was seen last, by the local clock
}

const (
	instancesLife = 16 // heartbeats after which another instance that was not seen is gone
	mostInstances = 16
)

// Ages returns how long ago each other instance was noticed, in ms. every is the time between two
// heartbeats.
func (i *Instances) Ages(every time.Duration) map[string]int64 {
	maps.DeleteFunc(i.Others, func(_ string, seen time.Time) bool { return time.Since(seen) > instancesLife*every })
	ages := make(map[string]int64, len(i.Others))
	for id, seen := range i.Others {
		ages[id] = time.Since(seen).Milliseconds()
	}
	return ages
}

// Take notes who sent a heartbeat under this replica's id.
func (i *Instances) Take(info []byte, own string, now time.Time) {
	r, err := heartbeat.Decode(info)
	if err != nil || r.Instance == "" || r.Instance == own {
		return
	}
	if i.Others == nil {
		i.Others = make(map[string]time.Time)
	}
	i.Others[r.Instance] = now
	for id, age := range r.Others { // those that the other has noticed: each takes the place of one only
		seen := now.Add(-time.Duration(age) * time.Millisecond)
		if id != own && seen.After(i.Others[id]) && len(i.Others) < mostInstances {
			i.Others[id] = seen
		}
	}
}
