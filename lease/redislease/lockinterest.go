package redislease

import (
	"sync"
	"time"
)

const (
	// lookedAt is for how long a lock that was looked at is of interest: a watcher looks every second.
	lookedAt = 5 * time.Second
	// graceAfterTTL is for how much longer than its WaiterTTL a claim's lock is of interest.
	graceAfterTTL = time.Second
)

// interest has the names of the locks that are waited for or looked at in this process. On Cluster
// each has a channel of its own, and only those are subscribed to. Nobody need listen: a later
// listener gets the names that are of interest then.
type interest struct {
	mu        sync.Mutex
	ends      map[string]time.Time // by name; those that have ended are collected from time to time
	collected int                  // how many were left then
	newcomers map[*newcomers]struct{}
}

// newcomers are the names that have become of interest since they were taken last.
type newcomers struct {
	some  chan struct{} // of size 1: has an element when there are some
	names []string      // guarded by interest.mu
}

func newInterest() *interest {
	return &interest{ends: make(map[string]time.Time), newcomers: make(map[*newcomers]struct{})}
}

// note makes a name one of interest for d at least. A nil interest ignores it.
func (i *interest) note(name string, d time.Duration) {
	if i == nil {
		return
	}
	now := time.Now()
	i.mu.Lock()
	defer i.mu.Unlock()
	ends, known := i.ends[name]
	if until := now.Add(d); until.After(ends) {
		i.ends[name] = until
	}
	if known && ends.After(now) {
		return
	}
	for n := range i.newcomers {
		n.addLocked(name)
	}
	if len(i.ends) > 2*i.collected+100 {
		for name, ends := range i.ends {
			if !ends.After(now) {
				delete(i.ends, name)
			}
		}
		i.collected = len(i.ends)
	}
}

func (n *newcomers) addLocked(name string) {
	n.names = append(n.names, name)
	select {
	case n.some <- struct{}{}:
	default:
	}
}

// follow returns the names that become of interest, beginning with those that are already. Call
// unfollow in the end.
func (i *interest) follow() *newcomers {
	n := &newcomers{some: make(chan struct{}, 1)}
	now := time.Now()
	i.mu.Lock()
	defer i.mu.Unlock()
	i.newcomers[n] = struct{}{}
	for name, ends := range i.ends {
		if ends.After(now) {
			n.addLocked(name)
		}
	}
	return n
}

func (i *interest) unfollow(n *newcomers) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.newcomers, n)
}

func (i *interest) take(n *newcomers) []string {
	i.mu.Lock()
	defer i.mu.Unlock()
	names := n.names
	n.names = nil
	return names
}

// lasts reports whether a name is still of interest. One that is not, and becomes so again, is a
// newcomer.
func (i *interest) lasts(name string, now time.Time) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.ends[name].After(now)
}
