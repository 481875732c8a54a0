package scheduler

import (
	"time"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease"
)

// The outcomes of a tick.
const (
	Succeeded protocol.Outcome = wire.Succeeded            // the handler returned nil
	Failed    protocol.Outcome = wire.Failed               // its last attempt returned an error
	Skipped   protocol.Outcome = protocol.OutcomeSkipped   // a policy refused it: overlap, or the job is paused
	Missed    protocol.Outcome = wire.Missed               // a misfire that the policy does not run
	Lost      protocol.Outcome = protocol.OutcomeLost      // its holders' leases ran out too often
	Replaced  protocol.Outcome = protocol.OutcomeReplaced  // it had to make room for a newer tick
	Cancelled protocol.Outcome = protocol.OutcomeCancelled // somebody has ended it
)

// Observer takes events. See [WithObserver] and [WithSyncObserver] for how it is called.
type Observer func(Event)

// Event is something that happened: one of the types of this package whose comment says so. Later versions may add some.
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

// RunSettled is the event that a tick this replica ran is settled, as Succeeded, Failed, Replaced or Cancelled.
type RunSettled struct {
	Run     jobs.Run
	Outcome protocol.Outcome
	Err     error         // why it failed, or what it returned when it had to make room or was cancelled
	By      string        // who cancelled it; empty unless the outcome is Cancelled
	Took    time.Duration // the run, all attempts of this holder
	Held    time.Duration // the lease, until it was settled
}

// RunLost is the event that a run ended without its holder deciding about the tick: the lease was lost, or the store says
// that another was granted the tick since.
type RunLost struct {
	Run  jobs.Run
	Err  error // what the handler returned
	Why  error // a *lease.LostError, or protocol.ErrFenced
	Took time.Duration
	Held time.Duration
}

// RunReleased is the event that a run was stopped with its replica, and its tick given up for another to run.
type RunReleased struct {
	Run  jobs.Run
	Err  error
	Took time.Duration
	Held time.Duration
}

// TicksSkipped is the event that this replica settled ticks of a job that nobody ran.
type TicksSkipped struct {
	Job     string
	To      time.Time // the newest of them
	Count   int       // how many; counting ends at MostCounted
	Outcome protocol.Outcome
	Reason  Reason
}

// MostCounted bounds [TicksSkipped].Count: counting the ticks of a year takes a while.
const MostCounted = 100_000

// Reason says in a word why ticks were settled without a run.
type Reason string

const (
	ReasonOverlap   Reason = protocol.NoteOverlap // an earlier tick was still running
	ReasonOpen      Reason = protocol.NoteOpen    // protocol.MaxOpen ticks of the job were
	ReasonPaused    Reason = protocol.NotePaused  // the job is
	ReasonMisfire   Reason = wire.ReasonMisfire   // late, and the misfire policy does not run it
	ReasonCapacity  Reason = wire.ReasonCapacity  // late because no replica had room for it, and the misfire policy does not run it
	ReasonOverload  Reason = wire.ReasonOverload  // late because the store was slower than it was asked, and the misfire policy does not run it
	ReasonTooOld    Reason = wire.ReasonTooOld    // late, and older than the catch-up window
	ReasonTooMany   Reason = wire.ReasonTooMany   // late, and past the most that are caught up
	ReasonForgotten Reason = wire.ReasonForgotten // the store lost its record, so whether it ran is unknown
	ReasonTakeovers Reason = wire.ReasonTakeovers // its holders' leases ran out, and it may not be granted again
	ReasonNewer     Reason = protocol.NoteNewer   // a newer tick took its place
	ReasonCancelled Reason = wire.ReasonCancelled // somebody has ended it, and its holder is gone
	ReasonPast      Reason = wire.ReasonPast      // the only tick of its schedule was over when the job was first known
	ReasonEdited    Reason = wire.ReasonEdited    // late, and from before the schedule was changed
	ReasonStopping  Reason = wire.ReasonStopping  // its replica stopped before the run had ended, and it may not be granted again
)

// CapacityReached is the event that ticks have to wait because this replica has no room for their runs. Those that others
// have room for do not wait. It comes once, until [CapacityFreed].
type CapacityReached struct{ Capacity }

// CapacityFreed is the event that no tick has waited for room for a while.
type CapacityFreed struct {
	Capacity
	Full time.Duration // from the first tick that waited to the last
}

// StoreOverloaded is the event that ticks start late because the store answers more slowly than claims come: the replica
// makes fewer at a time. It comes once, until [StoreKeepsUp].
type StoreOverloaded struct {
	InFlight int           // how many claims may be under way at a time
	Waiting  int           // how many jobs wait for theirs
	Waited   time.Duration // for how long the last one did
}

// StoreKeepsUp is the event that no claim has had to wait for a while.
type StoreKeepsUp struct{ Overloaded time.Duration }

// Renewed is the event of a round of renewals.
type Renewed struct{ lease.Renewal }

// StoreDown is the event that the store does not answer: at the start, or from now on.
type StoreDown struct {
	Err  error
	Hint string // what to change; "" when the store is no [protocol.Checker], or does not know
}

// StoreUp is the event that it answers, for the first time or again.
type StoreUp struct{ Away time.Duration }

// RecordUnreadable is the event that the store has answered, but holds something else where it would keep a record: that job
// does not run until somebody has removed it, and the others do. It comes once a minute at most.
type RecordUnreadable struct{ Err error }

// StoreForgot is the event that the store has lost its records.
type StoreForgot struct{ Since time.Time }

// RecordBehind is the event that a job's record is gone, or older than this replica has seen it, while the store remembers
// as long as before. The live replicas write back what they know, and the job's ticks wait for that.
type RecordBehind struct{ Job string }

// ClockStepped is the event that the store's clock cannot be trusted: it stepped by more than the TTL and 5 s, or this
// replica has just started, and the clock disagrees with its machine's while no live replica vouches for it. Nothing is
// claimed until [ClockTrusted].
type ClockStepped struct {
	By    time.Duration // above 0 when forward; at the start, how far it is ahead of this machine's clock
	Start bool          // the replica has just started
}

// ClockTrusted is the event that the store's clock is trusted again, or for the first time.
type ClockTrusted struct {
	By   time.Duration // how far it is from what it was when it was trusted last; 0 when it is back there, and at the start
	Held time.Duration // for how long nothing was claimed
}

// ClockSampled is the event of a new estimate of fleet time.
type ClockSampled struct {
	Offset time.Duration // of fleet time from this machine's wall clock
	RTT    time.Duration
}

// FleetSeen is the event that the replica has looked who else lives, every few seconds. It needs a store that is a
// [protocol.Membership].
type FleetSeen struct {
	Replicas int      // that live, each process with the id of another one counted as one
	Unserved []string // jobs of this replica's registry that no live replica serves, sorted
	Differ   []string // jobs that other replicas have other definitions of, sorted
	// Foreign are the jobs of this replica that programs of other modules serve as well, sorted: two services share a
	// namespace, and take each other's ticks. See [WithModule].
	Foreign []string
	Changed bool // one of these is not as it was the last time
}

// ReplicaShared is the event that the number of processes that use this replica's id has changed. More than one is a
// mistake in their configurations: a replica's id is its own.
type ReplicaShared struct {
	Replica   string
	Processes int // with this one
}

func (ReplicaShared) event() {}

// EventsDropped is the event that an observer did not get Count events, because it was slower than they came for so long
// that no more could be queued, or because it panicked. Who lost events to a full queue gets it as soon as it takes events
// again; a panic is reported to the other observers. Those of [WithSyncObserver] get it for each event that any other lost.
type EventsDropped struct {
	Count int
	Panic string // the value of the panic, on one line; "" when the queue was full
}

func (CapacityReached) event()  {}
func (StoreOverloaded) event()  {}
func (StoreKeepsUp) event()     {}
func (CapacityFreed) event()    {}
func (EventsDropped) event()    {}
func (FleetSeen) event()        {}
func (Claimed) event()          {}
func (RunStarted) event()       {}
func (RunRetried) event()       {}
func (RunSettled) event()       {}
func (RunLost) event()          {}
func (RunReleased) event()      {}
func (TicksSkipped) event()     {}
func (Renewed) event()          {}
func (StoreDown) event()        {}
func (StoreUp) event()          {}
func (RecordUnreadable) event() {}
func (StoreForgot) event()      {}
func (RecordBehind) event()     {}
func (ClockSampled) event()     {}
func (ClockStepped) event()     {}
func (ClockTrusted) event()     {}
