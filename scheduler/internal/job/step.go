package job

import (
	"github.com/solotick/solotick/scheduler/internal/membership"
	"github.com/solotick/solotick/scheduler/internal/plan"
	"github.com/solotick/solotick/scheduler/internal/reports"

	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
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
	Parted                  // leaves the job to the replicas near it
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
	"removed", "untrusted", "unread", "doubting", "parted", "idle", "resting", "deferring", "settling", "blocked", "crowded", "watching",
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
	if s, apart := v.apartStep(now); apart {
		return s
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
	at, confirmAt := v.Order.claimAt(v.upcoming()), v.confirmAt()
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

// Order is this replica's place among those that claim the job's ticks.
type Order struct {
	peers      *membership.Peers
	definition *plan.Definition
	place      membership.Place
	ranking    *membership.Ranking // that place is of
	near       []string            // who else acts about the job, by that ranking; nil for all
	from       int64               // backups count from this time when it is later than the tick's
	woke       int64               // when this replica was notified last that a tick may be free
	passed     passed
}

// passed has the replicas that have no room for a due tick, by their reports. Nobody waits for
// those. Like every report it is a hint: if one is lost, the others wait for that replica.
type passed struct {
	tick int64
	by   []string
	told bool // this replica has reported so itself
}

// CountFrom makes backups count from now, because all replicas notice at about this time what makes
// a tick free to be claimed.
func (o *Order) CountFrom(now int64) { o.from = now }

// Place returns this replica's place in the order in which replicas claim the job's ticks.
func (o *Order) Place() membership.Place {
	r := o.peers.Current()
	switch {
	case r == nil: // the members are not known
		o.ranking, o.place, o.near = nil, membership.Place{}, nil
	case r != o.ranking:
		o.ranking, o.place, o.near = r, o.placeIn(r), o.nearIn(r)
	}
	return o.place
}

// placeIn returns this replica's place among the members of a ranking, except some of them.
func (o *Order) placeIn(r *membership.Ranking, except ...string) membership.Place {
	return r.Of(o.definition.Job.Name(), o.definition.Job.Revision(), o.definition.Spec.Weight, except...)
}

// placeFor returns this replica's place among those that may have room for a tick.
func (o *Order) placeFor(tick int64) membership.Place {
	p := o.Place()
	if p.Rank == 0 || o.passed.tick != tick {
		return p
	}
	return o.placeIn(o.ranking, o.passed.by...)
}

// claimAt returns when this replica claims or skips a tick, or 0 for never.
func (o *Order) claimAt(tick int64) int64 {
	if tick == 0 {
		return 0
	}
	due, p := o.definition.Due(tick), o.placeFor(tick)
	return max(due, o.from, o.busyOwner(p, tick, due)) + o.backupOf(p)
}

// busyOwner returns until when to leave a due tick to its owner, the first in the order of p,
// because it was seen to work off other ticks of that instant. It is alive and only slow, and
// claims of others would make it slower. The result is before due if it was not seen, and a quarter
// of the grace after due at most.
func (o *Order) busyOwner(p membership.Place, tick, due int64) int64 {
	if p.Rank == 0 {
		return 0
	}
	seen := o.peers.Work.Seen(o.ranking.Members[p.First].ID, tick)
	return min(seen, due+min(o.grace()/4, reports.LongestBacklog))
}

// grace returns the misfire grace.
func (o *Order) grace() int64 {
	return max(o.definition.Spec.MisfireGrace.Milliseconds(), plan.MinGrace)
}

// Backup returns how long this replica leaves a tick to those before it, in ms. It is less than the
// grace, so a tick that a backup starts is on time.
func (o *Order) Backup() int64 { return o.backupOf(o.Place()) }

func (o *Order) backupOf(p membership.Place) int64 { return p.Backup(o.grace() * 3 / 4) }

// Takeover returns how long this replica leaves a tick whose lease has run out to those before it,
// not counting its holder.
func (o *Order) Takeover(holder ...string) int64 {
	place := o.Place()
	if len(holder) == 1 {
		if p, ok := o.ranking.Without(place, holder[0]); ok {
			return p.Takeover()
		}
	}
	return o.placeIn(o.peers.Current(), holder...).Takeover()
}

// passedOf returns who has no room for a tick.
func (o *Order) passedOf(tick int64) *passed {
	if o.passed.tick != tick {
		o.passed = passed{tick: tick}
	}
	return &o.passed
}

// pass reports whether the others must be told that this replica, which has room for most at a time,
// has none for a tick that it claims before them.
func (o *Order) pass(tick int64, most int) bool {
	passed, p := o.passedOf(tick), o.Place()
	if passed.told || p.Rank+1 >= p.Among || o.definition.Spec.Weight > most {
		return false // nobody waits for it
	}
	passed.told = true
	return true
}

// passedBy records that a replica has no room for a tick, and returns false if that is known.
func (o *Order) passedBy(tick int64, replica string) bool {
	passed := o.passedOf(tick)
	if slices.Contains(passed.by, replica) {
		return false
	}
	passed.by = append(passed.by, strings.Clone(replica))
	return true
}

// awaited is what decides whether a job is overdue: its first undecided tick, and its open ones.
// All times are Unix ms of fleet time, and 0 is none.
type awaited struct {
	now   int64
	grace int64 // the misfire grace

	due     int64 // when the first tick that is not decided is to start, jitter included
	edited  int64 // since when the job has its schedule
	blocked int64 // until when an earlier tick is in its way
	paused  bool  // the job is, by its definition or by an operator

	// free has, for each open tick that no known holder runs, since when a replica could have begun
	// it: its lease ran out, or the tick before it ended.
	free []int64
}

// overdue returns for how long a job has been overdue, in ms. That is the time since the latest
// moment at which a tick had to have begun that neither runs nor is settled. It is 0 while there is
// no such tick.
//
//	the tick                               has to begin by
//	is next by the schedule                its time and jitter + the grace
//	is older than the job's schedule       the edit + the grace: until then others may run it
//	waits for an earlier one               the end of that one + the grace
//	was granted, and its lease has run out the end of the lease + the grace
//	was triggered, or waits in the queue   the moment at which it could begin + the grace
//	is next, and the job is paused         never: it is skipped
//
// A tick without room, one whose store is away, and one whose store's clock is in doubt has to
// begin none the less.
func overdue(a awaited) int64 {
	since := int64(0)
	if a.due != 0 && !a.paused {
		since = max(a.due, a.edited, a.blocked)
	}
	for _, free := range a.free {
		if since == 0 || free < since {
			since = free
		}
	}
	if since == 0 {
		return 0
	}
	return max(a.now-since-a.grace, 0)
}
