package exec

import (
	"sync"
	"time"

	"github.com/solotick/solotick/jobs"
)

// fakeLease is a lease that the test renews.
type fakeLease struct {
	mu        sync.Mutex
	deadline  time.Time
	lost      bool
	listeners map[int]func(time.Time)
	next      int
}

func leaseOf(term time.Duration) *fakeLease {
	return &fakeLease{deadline: time.Now().Add(term), listeners: make(map[int]func(time.Time))}
}

func (l *fakeLease) Deadline() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.deadline
}

func (l *fakeLease) Valid() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.lost && time.Until(l.deadline) > 0
}

func (l *fakeLease) OnRenewal(f func(time.Time)) (stop func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	id := l.next
	l.next++
	l.listeners[id] = f
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.listeners, id)
	}
}

func (l *fakeLease) renew(term time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.deadline = time.Now().Add(term)
	for _, f := range l.listeners {
		f(l.deadline)
	}
}

func (l *fakeLease) lose() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lost = true
}

func runUnder(lease jobs.Lease) jobs.Run {
	return jobs.Run{
		Namespace: "billing", Job: "report", Replica: "replica-1",
		Tick:  time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC),
		Token: 1795175158338700, Attempt: 2, Lease: lease,
	}
}
