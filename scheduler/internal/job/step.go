package job

import (
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/solotick/solotick/internal/protocol"
)

// State is what a replica does about a job at one moment: see docs/scheduler.md.
type State int

// The states of a job.
const (
	Removed    State = iota // nothing any more: the job was removed, or the replica stops
	Untrusted               // waits: the store's clock is not trusted
	Unread                  // waits for its record to be read: at the start, after a loss, or to confirm reports
	Doubting                // waits until all who may know what its record has lost have written that back
	Idle                    // nothing: the schedule has no further tick
	Resting                 // waits for the next tick to be due
	Deferring               // leaves the tick that is due to the replicas before this one
	Settling                // waits after a loss of records, or an edit: others know more about the tick
	Blocked                 // waits for an earlier tick to end
	Crowded                 // waits for room
	Watching                // waits for the lease of another replica's run to end
	Retrying                // sends the pending request again; waits before it does
	Claiming                // decides about the tick that is due, and claims or skips it
	Confirming              // has the record read, to confirm what others have reported
	TakingOver              // claims a tick whose lease has run out, or that was waiting
)

var stateNames = [...]string{
	"removed", "untrusted", "unread", "doubting", "idle", "resting", "deferring", "settling", "blocked", "crowded", "watching",
	"retrying", "claiming", "confirming", "taking over",
}

func (s State) String() string {
	if s < 0 || int(s) >= len(stateNames) {
		return "state " + strconv.Itoa(int(s))
	}
	return stateNames[s]
}

// Step is the state of a job, and when the replica acts in it. If At is 0, it acts when something
// happens.
type Step struct {
	State State
	At    int64
	Tick  int64 // the one to take over
	Watch int64 // until when leases of others run that the replica may take over
}

// Rest is why nothing is decided before a time.
type Rest struct {
	State     State // an event may end it early
	at        int64
	notBefore int64        // no new tick is claimed before this
	blocked   int64        // until when an earlier tick is in the way of the next one, as far as is known
	waiting   *waitingTick // that was answered last to have to wait; nil for none
}

// waitingTick is a tick that waits for an earlier one to end.
type waitingTick struct {
	tick  int64
	began time.Time // when it was claimed first
}

// Until makes the job rest.
func (r *Rest) Until(state State, at int64) { r.State, r.at = state, at }

// End ends the rest.
func (r *Rest) End() { r.State, r.at = 0, 0 }

// lateRetry is the wait after a claim that came too late by the store's clock, but not by the
// estimate, in ms. Without it the claim would be repeated at once until the two agree.
const lateRetry = 10

// after makes the job rest after the answer to a claim, and reports whether its tick has had to wait
// for an earlier one.
func (r *Rest) after(q *Request, a protocol.Answer, now int64) (waited bool) {
	busy := a.Status == protocol.Busy
	if busy {
		r.blocked = now + ms(a.Remaining)
	}
	switch {
	case q.Claim.OnlyOpen:
	case busy:
		r.waiting = &waitingTick{q.Claim.Tick, q.Began}
	default:
		r.waiting = nil
	}
	if q.Overtaken { // what it would wait for may have happened
		return busy || q.waited
	}
	switch r.End(); a.Status {
	case protocol.Early:
		r.Until(Resting, now+ms(a.Remaining)+1)
	case protocol.Late:
		r.Until(Settling, now+lateRetry)
	case protocol.Busy:
		// It is notified when the other ends, by the store or by a run of this replica; at the latest its
		// lease runs out.
		r.Until(Blocked, now+ms(a.Remaining)+1+rand.Int64N(50))
	default: // the watermark, or the next decision, says what follows
	}
	return busy || q.waited
}

// Step returns the next step of a job that this replica serves, while it trusts the store's clock.
func (v *View) Step(now int64) Step {
	if !v.Record.IsRead() {
		return Step{State: Unread}
	}
	if s, doubts := v.Doubt.step(now, ms(v.Answering)); doubts {
		return s
	}
	if v.Pending != nil {
		return Step{State: Retrying, At: max(v.Rest.at, 1)}
	}
	tick, at, watch := v.Open.first(now, v.Room.IsShort())
	if tick != 0 {
		return Step{State: TakingOver, At: at, Tick: tick, Watch: watch}
	}
	next := v.tickStep(now)
	if at != 0 && (next.At == 0 || at < next.At) {
		next = Step{State: Watching, At: at}
	}
	next.Watch = watch
	return next
}

// tickStep returns the next step for the ticks that are undecided.
func (v *View) tickStep(now int64) Step {
	at, confirmAt := v.Turn.claimAt(v.upcoming()), v.confirmAt()
	if confirmAt != 0 && (at == 0 || confirmAt < at) {
		at = confirmAt
	}
	if at == 0 {
		return Step{State: Idle}
	}
	s := Step{At: max(at, v.Rest.at, v.Rest.notBefore)}
	switch {
	case s.At <= now && v.unconfirmed():
		s.State = Confirming
	case s.At <= now:
		s.State = Claiming
	case v.Rest.at == s.At:
		s.State = v.Rest.State
	case v.Rest.notBefore == s.At:
		s.State = Settling
	case v.Due(v.upcoming()) <= now:
		s.State = Deferring
	default:
		s.State = Resting
	}
	return s
}
