package view

import (
	"slices"
	"time"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
)

// State is something that is so about a job now; several may be.
type State string

// The states of a job, the most urgent first.
const (
	StateOverdue  State = "overdue"   // a tick should have been decided by now
	StateAhead    State = "ahead"     // its watermark lies in the future, so that nothing runs: repair
	StateUnserved State = "unserved"  // no live replica serves it
	StateLeftOver State = "left_over" // only the store knows it: forget
	StateFailing  State = "failing"   // its newest run failed or was lost, or the last attempt of one that is open failed
	StateDiffers  State = "differs"   // replicas define it differently
	StatePaused   State = "paused"    // for the whole fleet, or by the configuration
	StateRunning  State = "running"
	StateWaiting  State = "waiting" // a tick of it waits for its turn, to be claimed or taken over, or for its next attempt
	StateIdle     State = "idle"    // none of the others
)

// States has all states, the most urgent first.
var States = []State{
	StateOverdue, StateAhead, StateUnserved, StateLeftOver, StateFailing, StateDiffers, StatePaused, StateRunning, StateWaiting, StateIdle,
}

// stateSet is a set of states, a bit for each by its place in States.
type stateSet uint16

func bit(s State) stateSet { return 1 << slices.Index(States, s) }

// The bits are looked up once: states are found for every job of each request.
var (
	overdueBit, aheadBit, unservedBit, leftOverBit, failingBit = bit(StateOverdue), bit(StateAhead), bit(StateUnserved), bit(StateLeftOver), bit(StateFailing)
	differsBit, pausedBit, runningBit, waitingBit, idleBit     = bit(StateDiffers), bit(StatePaused), bit(StateRunning), bit(StateWaiting), bit(StateIdle)
)

func stateOf(j *fleet.JobStatus) (set stateSet) {
	when := func(is bool, b stateSet) {
		if is {
			set |= b
		}
	}
	left := j.LeftOver()
	when(!j.Overdue.IsZero(), overdueBit)
	when(j.Ahead > 0, aheadBit)
	when(j.Unserved && !left, unservedBit)
	when(left, leftOverBit)
	when(j.LastRun != nil && (j.LastRun.Outcome == wire.Failed || j.LastRun.Outcome == protocol.OutcomeLost), failingBit)
	when(len(j.Revisions) > 0, differsBit)
	when(j.Paused != nil || j.Spec.Paused, pausedBit)
	for _, e := range j.Open {
		if e.State == wire.StateRunning {
			set |= runningBit
		} else {
			set |= waitingBit
		}
		when(e.Failing != nil, failingBit)
	}
	when(set == 0, idleBit)
	return set
}

// list returns the states of a set, the most urgent first.
func (set stateSet) list() []State {
	list := []State{}
	for i, s := range States {
		if set&(1<<i) != 0 {
			list = append(list, s)
		}
	}
	return list
}

// moment returns the time of the newest run; 0 when there is none.
func moment(e *fleet.Entry) int64 {
	if e == nil {
		return 0
	}
	return e.Moment().UnixMilli()
}

// unix is a time as a sort key: those without one come last.
func unix(t time.Time) int64 {
	if t.IsZero() {
		return 1<<62 - 1
	}
	return t.UnixMilli()
}
