package lock

import (
	"time"

	"github.com/solotick/solotick/internal/protocol"
)

// State says who holds a lock and who waits for it.
type State struct {
	Name    string
	Token   int64   // of the last grant
	Holds   []Place // oldest grant first
	Queue   []Place // in the order in which they are granted the lock
	Waiters int     // how many wait; Queue shows the first 100 of them
}

// Place is that of a holder of a lock, or of a waiter in its queue.
type Place struct {
	Holder  string // the name that WithHolder gave it
	Token   int64  // 0 of a waiter
	Permits int    // held or asked for
	// Since is when the holder was granted the lock, or the waiter came, by the store's clock.
	Since time.Time
	// Remaining is left of the lease unless it is renewed, or of the waiter's TTL unless it claims
	// again. A holder with 0 keeps its permits until another claim needs them.
	Remaining time.Duration
}

func stateOf(l protocol.Lock) State {
	s := State{Name: l.Name, Token: l.Token, Waiters: l.Waiters}
	for _, h := range l.Holds {
		s.Holds = append(s.Holds, Place{h.Holder, h.Token, h.Permits, h.Since, h.Remaining})
	}
	for _, w := range l.Queue {
		s.Queue = append(s.Queue, Place{w.Holder, 0, w.Permits, w.Since, w.Remaining})
	}
	return s
}
