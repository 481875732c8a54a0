package lock

import (
	"time"

	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/protocol"
)

// Event is something that has happened to a lock in this process: one of the types below.
type Event interface{ event() }

// Waiting says that Acquire has to wait, for Holder before others.
type Waiting struct{ Name, Holder string }

// ClaimFailed says that the store failed while Acquire waits, which then asks again. Failures counts from 1 since the store
// answered last: log the first of them and count them all.
type ClaimFailed struct {
	Name     string
	Failures int
	Waited   time.Duration
	Err      error
}

// Granted says that the lock is held.
type Granted struct {
	Name   string
	Token  int64
	Waited time.Duration
	// TakenOver are those whose leases had run out, and who made room so: holders that died, or were cut off.
	TakenOver []protocol.LostHold
}

// GaveUp says that the lock was not granted. Err matches [lease.ErrHeld] when another held it until the wait limit, or was not to be
// waited for.
type GaveUp struct {
	Name   string
	Waited time.Duration
	Err    error
}

// Renewed says that the lease was renewed, when so much of it was Left.
type Renewed struct {
	Name  string
	Token int64
	Left  time.Duration
}

// Lost says that the lease was lost while it was held. Err says why: expired; fenced, that is, taken over or taken away; or held for
// MaxHold.
type Lost struct {
	Name  string
	Token int64
	Held  time.Duration
	Err   *lease.LostError
}

// Released says that the holder has given the lock back. Err is nil unless that failed: then it runs out by itself.
type Released struct {
	Name  string
	Token int64
	Held  time.Duration
	Err   error
}

// EventsDropped says that an observer lost so many events, because it was too slow for so long that no more could be queued,
// or because it panicked. Who lost them to a full queue gets it as soon as it takes events again; observers of
// [WithSyncObserver] get it for each event that another lost.
type EventsDropped struct{ Count int }

func (EventsDropped) event() {}
func (Waiting) event()       {}
func (ClaimFailed) event()   {}
func (Granted) event()       {}
func (GaveUp) event()        {}
func (Renewed) event()       {}
func (Lost) event()          {}
func (Released) event()      {}
