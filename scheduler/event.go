package scheduler

import (
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/solotick/solotick/internal/eventqueue"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease"
)

// Event is one of the events of this package. Later versions may add some. See [WithObserver] and
// [WithSyncObserver] for how an observer is called.
//
//sumtype:decl
type Event interface{ event() }

// Claimed is emitted when a claim was answered.
type Claimed struct {
	Job    string
	Key    string // of the stored schedule; empty for other jobs
	Tick   time.Time
	Status protocol.Status
	Took   time.Duration // from the claim to its answer, retries included
}

// RunStarted is emitted when this replica begins to run a tick.
type RunStarted struct {
	Run jobs.Run
	Lag time.Duration // since the scheduled time, by fleet time
}

// RunRetried is emitted when an attempt failed and another one follows after Wait.
type RunRetried struct {
	Run  jobs.Run
	Err  error
	Wait time.Duration
}

// RunSettled is emitted when this replica has settled a tick that it ran.
type RunSettled struct {
	Run jobs.Run
	// Outcome is succeeded, failed (the last attempt returned an error), replaced (the run made room
	// for a newer tick), cancelled (somebody ended it), or lost (the replica stopped, and the tick
	// may not be granted again).
	Outcome lease.Outcome
	Err     error         // what the handler returned; nil if it succeeded
	By      string        // who cancelled it; empty unless the outcome is cancelled
	Took    time.Duration // of all attempts of this holder
	Held    time.Duration // from the grant until the tick was settled
}

// RunLost is emitted when a run ended after its lease was lost or another replica was granted the
// tick. Its holder decides nothing about the tick.
type RunLost struct {
	Run   jobs.Run
	Err   error // what the handler returned
	Cause error // a *lease.LostError, or [lease.ErrFenced]

	Took, Held time.Duration // as in [RunSettled]
}

// RunReleased is emitted when a replica that stops has released a tick.
type RunReleased struct {
	Run jobs.Run
	Err error

	Took, Held time.Duration // as in [RunSettled]
}

// TicksSkipped is emitted when this replica settled ticks of a job that nobody ran.
type TicksSkipped struct {
	Job   string
	Key   string    // of the stored schedule; empty for other jobs
	To    time.Time // the newest of them
	Count int       // how many; counting ends at 100,000
	// Outcome is skipped (by a policy, or since the job is paused), missed (misfires that the policy
	// does not run), lost (the leases of their holders ran out too often), or cancelled.
	Outcome lease.Outcome
	Reason  string // one of the words of docs/policies.md, such as overlap, paused, misfire or too_old
}

// CapacityChanged is emitted when ticks begin to wait for room that no other replica has, and again
// when none has waited for a while.
type CapacityChanged struct {
	Capacity
	Full   bool          // ticks wait for room
	Lasted time.Duration // once they do not: from the first tick that waited to the last
}

// StoreLoadChanged is emitted when claims begin to wait for the store, and again when none has
// waited for a while. While claims wait, ticks start late and the replica makes fewer claims at a
// time.
type StoreLoadChanged struct {
	Overloaded bool          // claims wait
	InFlight   int           // how many claims may be under way at a time
	Waiting    int           // how many jobs wait for theirs
	Waited     time.Duration // for how long the last one did
	Lasted     time.Duration // once none waits: for how long claims did
}

// Renewed is emitted after a round of renewals.
type Renewed struct{ lease.Renewal }

// StoreChanged is emitted when the store stops working, once a minute while it does not answer, and
// when it works (again). It works if reads, renewals, and writes that may grow what it keeps all
// succeed; after a failure, if a write has succeeded and no call has failed for 1.5 s.
type StoreChanged struct {
	Up         bool
	WritesOnly bool          // reads succeed or succeeded all the while; only writes fail or failed
	Away       time.Duration // for how long it did not work, or has not so far; 0 when it just stopped
	Err        error         // why it does not work
	Hint       string        // what to change then; "" when the store does not know
}

// RecordUnreadable is emitted, at most once a minute, when the store holds something else in place
// of a record. That job does not run until somebody removes it; other jobs do.
type RecordUnreadable struct{ Err error }

// RecordsLost is emitted when the store has lost its records, or that of one job. The live replicas
// write back what they know, and ticks wait for that.
type RecordsLost struct {
	Job   string    // whose record is gone or older than this replica has seen it; "" if the store has lost all
	Since time.Time // since when the store remembers; the zero time if Job is not ""
}

// ClockChanged is emitted when this replica stops trusting the store's clock, or trusts it again or
// for the first time. Nothing is claimed in between. A replica does not trust a clock that has
// stepped by more than the TTL and 5 s. When it starts, it trusts a clock that agrees with the
// machine's or that a live replica vouches for.
type ClockChanged struct {
	Trusted bool
	// By is how far the clock stepped, or is ahead of this machine's at the start. Once it is
	// trusted, By is how far it is from where it was when it was trusted last.
	By    time.Duration
	Start bool          // the replica has just started, and does not trust the clock yet
	Held  time.Duration // once it is trusted: for how long nothing was claimed
}

// ClockSampled is emitted with each new estimate of fleet time.
type ClockSampled struct {
	Offset time.Duration // of fleet time from this machine's wall clock
	RTT    time.Duration
}

// FleetSeen is emitted every few seconds, with what is known of the others.
type FleetSeen struct {
	Replicas int      // that live, each process with the id of another one counted as one
	Unserved []string // jobs of this replica's registry that no live replica serves, sorted
	Differ   []string // jobs that other replicas define differently, sorted
	Foreign  []string // jobs that other programs serve as well: they take each other's ticks; see [WithModule]; sorted
	Changed  bool     // one of these is not as it was the last time
}

// ReplicaShared is emitted when the number of processes with this replica's id changes. More than
// one is a configuration error.
type ReplicaShared struct {
	Replica   string
	Processes int // with this one
}

// EventsDropped is emitted when an observer missed Count events because its queue was full or it
// panicked. An observer with a full queue gets it once it takes events again; a panic is reported to
// the other observers. Those of [WithSyncObserver] get it for each event that another one missed.
type EventsDropped struct {
	Count int
	Panic string // the value of the panic, on one line; "" if the queue was full
}

func (Claimed) event()          {}
func (RunStarted) event()       {}
func (RunRetried) event()       {}
func (RunSettled) event()       {}
func (RunLost) event()          {}
func (RunReleased) event()      {}
func (TicksSkipped) event()     {}
func (Renewed) event()          {}
func (CapacityChanged) event()  {}
func (StoreChanged) event()     {}
func (StoreLoadChanged) event() {}
func (RecordsLost) event()      {}
func (RecordUnreadable) event() {}
func (ClockChanged) event()     {}
func (ClockSampled) event()     {}
func (FleetSeen) event()        {}
func (ReplicaShared) event()    {}
func (EventsDropped) event()    {}

// maxQueued is how many events wait for one observer before more are dropped. A few thousand ticks
// at one instant make as many.
const maxQueued = 1 << 14

// flushTimeout is how long Run waits at its end until observers have received the queued events.
const flushTimeout = time.Second

// observers passes events to the functions of [WithObserver] and [WithSyncObserver].
type observers struct {
	sync   []func(Event)
	queues []*eventqueue.Queue[Event]
}

func newObservers(sync, queued []func(Event)) *observers {
	o := &observers{sync: sync}
	gap := func(dropped int) Event { return EventsDropped{Count: dropped} }
	for i, f := range queued {
		broken := func(value any) { o.broke(-1, i, value) }
		o.queues = append(o.queues, eventqueue.New(maxQueued, eventqueue.One, f, gap, broken))
	}
	return o
}

// observe passes an event on. It never waits, and recovers from a panic of an observer.
func (o *observers) observe(e Event) {
	for i := range o.sync {
		o.call(i, e)
	}
	for _, q := range o.queues {
		if !q.Put(e) {
			o.count(-1, EventsDropped{Count: 1})
		}
	}
}

// count tells the synchronous observers, except one, how many events an observer has lost.
func (o *observers) count(except int, e EventsDropped) {
	for i := range o.sync {
		if i != except {
			o.call(i, e)
		}
	}
}

// call calls a synchronous observer.
func (o *observers) call(i int, e Event) {
	defer func() {
		if value := recover(); value != nil {
			if _, again := e.(EventsDropped); !again {
				o.broke(i, -1, value)
			}
		}
	}()
	o.sync[i](e)
}

// broke reports that an observer lost an event because it panicked: to the other observers, or to
// the default logger if there are none.
func (o *observers) broke(sync, queued int, value any) {
	e := EventsDropped{Count: 1, Panic: "it ended its goroutine"}
	if value != nil {
		e.Panic = strings.Join(strings.Fields(fmt.Sprint(value)), " ")
	}
	o.count(sync, e)
	for i, q := range o.queues {
		if i != queued {
			q.Put(e)
		}
	}
	if queued >= 0 && len(o.sync)+len(o.queues) == 1 {
		slog.Default().Error("solotick: an observer panicked", slog.String("panic", e.Panic))
	}
}

// flush waits up to flushTimeout until the observers have received the queued events. Later events
// are dropped.
func (o *observers) flush() {
	until := time.Now().Add(flushTimeout)
	for _, q := range o.queues {
		q.Close(time.Until(until))
	}
}
