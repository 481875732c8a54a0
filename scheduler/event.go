package scheduler

import (
	"time"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease"
)

// Event is something that happened: one of the types of this package whose comment says so. Later
// versions may add some. [WithObserver] and [WithSyncObserver] say how an observer is called.
//
//sumtype:decl
type Event interface{ event() }

// Claimed is the event that a claim was answered.
type Claimed struct {
	Job    string
	Tick   time.Time
	Status protocol.Status
	Took   time.Duration // from the claim to its answer, retries included
}

// RunStarted is the event that this replica begins to run a tick.
type RunStarted struct {
	Run jobs.Run
	Lag time.Duration // since the scheduled time, by fleet time
}

// RunRetried is the event that an attempt failed and the next one follows after Wait.
type RunRetried struct {
	Run  jobs.Run
	Err  error
	Wait time.Duration
}

// RunSettled is the event that a tick this replica ran is settled.
type RunSettled struct {
	Run jobs.Run
	// Outcome is one of five. With succeeded the handler returned nil. With failed its last attempt
	// returned an error. With replaced it made room for a newer tick. With cancelled somebody ended
	// it. With lost its replica stopped, and it may not be granted again.
	Outcome lease.Outcome
	Err     error         // why it failed, or what it returned when it had to make room or was cancelled
	By      string        // who cancelled it; empty unless the outcome is cancelled
	Took    time.Duration // the run, all attempts of this holder
	Held    time.Duration // the lease, until it was settled
}

// RunLost is the event that a run ended without its holder deciding about the tick. The lease was
// lost, or the store says that another was granted the tick since.
type RunLost struct {
	Run   jobs.Run
	Err   error // what the handler returned
	Cause error // a *lease.LostError, or [lease.ErrFenced]
	Took  time.Duration
	Held  time.Duration
}

// RunReleased is the event that a run was stopped with its replica, and its tick given up for
// another to run.
type RunReleased struct {
	Run  jobs.Run
	Err  error
	Took time.Duration
	Held time.Duration
}

// TicksSkipped is the event that this replica settled ticks of a job that nobody ran.
type TicksSkipped struct {
	Job   string
	To    time.Time // the newest of them
	Count int       // how many; counting ends at 100,000
	// Outcome is one of four. With skipped a policy refused them, or the job is paused. With missed
	// they are misfires that the policy does not run. With lost the leases of their holders ran out
	// too often. The last is cancelled.
	Outcome lease.Outcome
	Reason  string // one of the words of docs/policies.md, such as overlap, paused, misfire or too_old
}

// CapacityChanged is the event that ticks have to wait because this replica has no room for their
// runs, or that none has waited for a while. Ticks that other replicas have room for do not wait.
type CapacityChanged struct {
	Capacity
	Full   bool          // ticks wait for room
	Lasted time.Duration // once they do not: from the first tick that waited to the last
}

// StoreLoadChanged is the event that claims wait for the store, or that none has waited for a
// while. While claims wait, ticks start late, and the replica makes fewer claims at a time.
type StoreLoadChanged struct {
	Overloaded bool          // claims wait
	InFlight   int           // how many claims may be under way at a time
	Waiting    int           // how many jobs wait for theirs
	Waited     time.Duration // for how long the last one did
	Lasted     time.Duration // once none waits: for how long claims did
}

// Renewed is the event of a round of renewals.
type Renewed struct{ lease.Renewal }

// StoreChanged is the event that the store stopped working, or that it works, for the first time
// or again. It works when no kind of call fails: reads, renewals, and writes that may grow what it
// keeps. After a failure it works again when writes do, and no call has failed for 1.5 s. While it
// does not answer, the event comes again once a minute.
type StoreChanged struct {
	Up         bool
	WritesOnly bool          // it answers or answered all the while, and only writes fail or failed
	Away       time.Duration // for how long it did not work, or has not so far; 0 when it just stopped
	Err        error         // of one that does not: its failure
	Hint       string        // what to change then; "" when the store does not know
}

// RecordUnreadable is the event that the store has answered, but holds something else in place of a
// record. That job does not run until somebody has removed it, and the others do. It comes once a
// minute at most.
type RecordUnreadable struct{ Err error }

// RecordsLost is the event that the store has lost its records, or that of one job. The live
// replicas write back what they know, and ticks wait for that.
type RecordsLost struct {
	// Job is the one whose record is gone, or older than this replica has seen it, while the store
	// remembers as long as before. It is "" when the store has lost all records.
	Job   string
	Since time.Time // since when the store remembers; zero of one job
}

// ClockChanged is the event that the store's clock cannot be trusted, or is trusted again or for
// the first time. It is not trusted after a step of more than the TTL and 5 s. Nor does a replica
// that has just started trust it, when it disagrees with the machine's clock and no live replica
// vouches for it. Meanwhile nothing is claimed.
type ClockChanged struct {
	Trusted bool
	// By is how far the clock stepped, above 0 when forward; at the start, how far it is ahead of
	// this machine's clock. Once the clock is trusted, it is how far it is from where it was when
	// it was trusted last. It is 0 when the clock is back, and at the start.
	By    time.Duration
	Start bool          // the replica has just started, and does not trust the clock yet
	Held  time.Duration // once it is trusted: for how long nothing was claimed
}

// ClockSampled is the event of a new estimate of fleet time.
type ClockSampled struct {
	Offset time.Duration // of fleet time from this machine's wall clock
	RTT    time.Duration
}

// FleetSeen is the event that the replica has looked who else lives, every few seconds. It needs a
// store that keeps members, as all stores of this module do.
type FleetSeen struct {
	Replicas int      // that live, each process with the id of another one counted as one
	Unserved []string // jobs of this replica's registry that no live replica serves, sorted
	Differ   []string // jobs that other replicas have other definitions of, sorted
	// Foreign are the jobs of this replica that other programs serve as well, sorted: two services
	// share a namespace, and take each other's ticks. See [WithModule].
	Foreign []string
	Changed bool // one of these is not as it was the last time
}

// ReplicaShared is the event that the number of processes that use this replica's id has changed.
// More than one is a mistake in their configurations: a replica's id is its own.
type ReplicaShared struct {
	Replica   string
	Processes int // with this one
}

// EventsDropped is the event that an observer did not get Count events. Its queue was full, since
// it was slower than they came, or it panicked. Who lost events to a full queue gets it as soon as
// it takes events again; a panic is reported to the other observers. Those of [WithSyncObserver]
// get it for each event that any other lost.
type EventsDropped struct {
	Count int
	Panic string // the value of the panic, on one line; "" when the queue was full
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
