package scheduler

import "strconv"

// state is what a replica does about a job at one moment: see docs/scheduler.md.
type state int

const (
	removed    state = iota // nothing any more: the job was removed, or the replica stops
	untrusted               // waits: the store's clock is not trusted
	unread                  // waits for its record to be read: at the start, after a loss, or to confirm reports
	doubting                // waits until all who may know what its record has lost have written that back
	idle                    // nothing: the schedule has no further tick
	resting                 // waits for the next tick to be due
	deferring               // leaves the tick that is due to the replicas before this one
	settling                // waits after a loss of records, or an edit: others know more about the tick
	blocked                 // waits for an earlier tick to end
	crowded                 // waits for room
	watching                // waits for the lease of another replica's run to end
	retrying                // sends the pending request again; waits before it does
	claiming                // decides about the tick that is due, and claims or skips it
	confirming              // has the record read, to confirm what others have reported
	takingOver              // claims a tick whose lease has run out, or that was waiting
)

var stateNames = [...]string{
	"removed", "untrusted", "unread", "doubting", "idle", "resting", "deferring", "settling", "blocked", "crowded", "watching",
	"retrying", "claiming", "confirming", "taking over",
}

func (s state) String() string {
	if s < 0 || int(s) >= len(stateNames) {
		return "state " + strconv.Itoa(int(s))
	}
	return stateNames[s]
}

// step is the state of a contender, and when it acts in it. If at is 0, it acts when something
// happens.
type step struct {
	state state
	at    int64
	tick  int64 // the one to take over
}

// rest is why nothing is decided before a time. An event may end it early.
type rest struct {
	state state
	until int64
}

// stepLocked returns the next step.
func (c *contender) stepLocked(now int64) step {
	switch {
	case !c.contendingLocked():
		return step{state: removed}
	case c.s.trust.Holds():
		return step{state: untrusted}
	case !c.synced:
		return step{state: unread} // until the syncer has read it
	case c.inDoubtLocked():
		return c.doubtStepLocked()
	case c.pending != nil:
		return step{state: retrying, at: max(c.rest.until, 1)}
	}
	tick, at := c.lookLocked(now)
	if tick != 0 {
		return step{state: takingOver, at: at, tick: tick}
	}
	next := c.tickStepLocked(now)
	if at != 0 && (next.at == 0 || at < next.at) {
		return step{state: watching, at: at}
	}
	return next
}

// tickStepLocked returns the next step for the ticks that are undecided.
func (c *contender) tickStepLocked(now int64) step {
	claimAt, confirmAt := c.claimAtLocked(), c.confirmAtLocked()
	at := claimAt
	if confirmAt != 0 && (at == 0 || confirmAt < at) {
		at = confirmAt
	}
	if at == 0 {
		return step{state: idle}
	}
	s := step{at: max(at, c.rest.until, c.notBefore)}
	switch {
	case s.at <= now && c.unconfirmedLocked():
		s.state = confirming
	case s.at <= now:
		s.state = claiming
	case c.rest.until == s.at:
		s.state = c.rest.state
	case c.notBefore == s.at:
		s.state = settling
	case c.Due(c.upcomingLocked()) <= now:
		s.state = deferring
	default:
		s.state = resting
	}
	return s
}

func (c *contender) contendingLocked() bool { return !c.gone && c.s.contending() }
