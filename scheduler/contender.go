package scheduler

import (
	"context"
	"hash/fnv"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/protocol"
)

// contender contends for the ticks of one job. At most one goroutine does so at a time, so that the claims of a job are
// made in order; the runs have goroutines of their own. All times are Unix ms of fleet time.
type contender struct {
	s       *Scheduler
	name    string
	working atomic.Int32 // handlers that run

	// Guarded by timers.mu.
	actAt int64
	index int // in the heap; -1 when not in it

	// Guarded by crew.mu.
	queued bool          // it waits for a hand
	late   time.Duration // for how long it had to wait before the store could be asked; 0 when that was short

	waits waiter // for room

	backup atomic.Bool // others claim its ticks before this replica, as far as it knows

	mu     sync.Mutex
	handle func(ctx context.Context, run jobs.Run, then func(error)) // see jobs.ChainThen

	job       *jobs.Job
	spec      jobs.Spec
	revision  string
	defines   bool            // the record has not taken this definition yet
	gone      bool            // the job was removed
	paused    *protocol.Pause // as the store said; nil when it is not
	edited    int64           // see policies
	before    editions        // the schedules that were in force before
	active    bool            // a goroutine contends
	poked     bool            // something happened meanwhile: it has to look again
	synced    bool            // mark is what the store said, and its record is there
	stale     bool            // the record is to be read again, while the contender goes on
	made      bool            // there has been a record before
	since     int64           // since when the store remembered when the record was read
	cursor    cursor
	behind    bool           // a tick waits for a run of this replica, without having asked the store
	short     int64          // when the oldest tick was due that found no room since the contender rested; 0 when none did
	room      int            // what it holds for claims whose answer is not known
	notBefore int64          // no new tick is claimed before this
	retryAt   int64          // not before this; 0: at once
	failures  int            // calls that failed in a row
	asking    *asking        // a claim whose answer is not known
	ask       asking         // what asking points to, if anything
	open      map[int64]look // ticks that others hold or held, or that wait
	running   map[int64]*lease.Lease
	began     bool // a run has

	ranking    *ranking // that place is of
	place      place
	from       int64 // backups count from this time when it is later than the tick's
	hints      hints
	confirming bool // the record is read to confirm hints, and nothing else has changed
}

// asking is a claim that has to be repeated until it is answered: it may have been granted.
type asking struct {
	claim    protocol.Claim
	began    time.Time // when it, or the one that it goes on from, was sent first; zero before
	sent     time.Time // for the last time
	answered bool      // it was not granted
	busy     bool      // since its tick, or this claim before it, has to wait for its turn
}

func newContender(s *Scheduler, job *jobs.Job) *contender {
	c := &contender{s: s, name: job.Name(), index: -1, open: map[int64]look{}, running: map[int64]*lease.Lease{}}
	c.defineLocked(job)
	c.waits = waiter{wake: c.roomFreed, verify: c.verify, order: rand.Uint64()}
	return c
}

// defineLocked makes the contender one of this job.
func (c *contender) defineLocked(job *jobs.Job) {
	c.job, c.spec, c.revision = job, job.Spec(), job.Revision()
	c.ranking, c.defines = nil, true
	c.handle = c.chain(job)
}

func (c *contender) chain(job *jobs.Job) func(ctx context.Context, run jobs.Run, then func(error)) {
	return jobs.ChainThen(job, jobs.Hooks{OnRetry: c.onRetry, Announce: c.announce, Stopping: c.s.stopped})
}

// setHandler makes the runs that begin from now on call the handler of job, which is defined as the one before.
func (c *contender) setHandler(job *jobs.Job) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.handle = c.chain(job)
}

// redefine goes on with another definition of the job. Runs that are under way go on under the one before.
func (c *contender) redefine(job *jobs.Job) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.defineLocked(job)
	c.cursor = cursor{watermark: c.cursor.watermark}
	c.hints.next = c.tickAfter(c.hints.watermark)
	c.synced = false // the store has to say since when the schedule is what it is
}

// remove contends no more. Runs that are under way go on.
func (c *contender) remove() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gone = true
	c.s.timers.set(c, 0)
	if !c.active {
		c.short = 0
		c.restRoomLocked()
	}
}

func (c *contender) contendingLocked() bool { return !c.gone && c.s.contending() }

// tickAfter returns the first tick after a time; 0 when there is none.
func (c *contender) tickAfter(after int64) int64 {
	t := c.job.Schedule().Next(time.UnixMilli(after))
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// due is when a tick is to start. The jitter depends on nothing but the job and the tick: it is the same everywhere.
func (c *contender) due(tick int64) int64 {
	jitter := c.spec.Jitter.Milliseconds()
	if jitter <= 0 {
		return tick
	}
	h := fnv.New64a()
	_, _ = h.Write(strconv.AppendInt([]byte(c.name), tick, 10))
	return tick + int64(h.Sum64()%uint64(jitter+1))
}

// poke makes the contender look at once whether there is something to do.
func (c *contender) poke() {
	c.mu.Lock()
	c.retryAt = 0
	if c.active {
		c.poked = true
		c.mu.Unlock()
		return
	}
	if !c.gone {
		c.s.timers.set(c, c.lookAtLocked())
	}
	c.mu.Unlock()
}

// contend begins to contend, and reports whether a run has begun. Then it stops there, for others to begin theirs, and
// goOn has to be called. late is for how long the crew has kept it waiting.
func (c *contender) contend(late time.Duration) (began bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if late > 0 {
		c.cursor.overloaded = c.s.clock.ms()
	}
	if c.active {
		c.poked = true
		return false
	}
	c.active, c.began = true, false
	return c.actAllLocked()
}

// goOn does what is left to do after a run has begun.
func (c *contender) goOn() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.began {
		c.began = false
		if at := c.actAtLocked(); !c.poked && (at == 0 || at > c.s.clock.ms()) {
			c.restLocked() // as most often
			return
		}
		c.actAllLocked()
	}
}

// actAllLocked does what there is to do, until a run begins.
func (c *contender) actAllLocked() (began bool) {
	c.short = 0
	for c.contendingLocked() {
		c.poked = false
		more := c.actLocked()
		if c.began {
			return true
		}
		if !more && !c.poked {
			break
		}
	}
	c.restLocked()
	return false
}

// restLocked leaves the contender alone until there is something to do.
func (c *contender) restLocked() {
	c.active = false
	c.restRoomLocked()
	if c.contendingLocked() {
		c.s.timers.set(c, c.actAtLocked()) // under the lock, so that no poke gets lost
	}
}

// actAtLocked is when there will be something to do.
func (c *contender) actAtLocked() int64 {
	c.backup.Store(c.placeLocked().rank > 0)
	if c.waits.offered.Load() {
		return 1 // to take it, or to give it back
	}
	if !c.synced || c.s.trust.holds() {
		return 0 // until the syncer has been here
	}
	at := int64(0)
	earlier := func(t int64) {
		if t != 0 && (at == 0 || t < at) {
			at = t
		}
	}
	if claimAt := c.claimAtLocked(); claimAt != 0 {
		earlier(max(claimAt, c.retryAt, c.notBefore))
	}
	if confirmAt := c.confirmAtLocked(); confirmAt != 0 {
		earlier(max(confirmAt, c.retryAt, c.notBefore))
	}
	if c.asking != nil && !c.asking.answered {
		earlier(max(c.retryAt, 1))
	}
	if len(c.open) > 0 { // to range over an empty map takes a while, too
		for _, l := range c.open {
			earlier(l.at)
		}
	}
	return at
}

// actLocked does one thing and reports whether there may be more to do now. It gives up the lock while it waits for the
// store.
func (c *contender) actLocked() bool {
	if !c.synced || c.s.trust.holds() {
		return false
	}
	now := c.s.clock.ms()
	if len(c.open) > 0 {
		if tick, ok := c.lookLocked(now); ok {
			return c.takeOverLocked(tick)
		}
	}
	if c.retryAt > now {
		return false
	}
	c.retryAt = 0
	if c.asking != nil && !c.asking.answered {
		return c.claimLocked(c.asking)
	}
	if c.notBefore > now {
		return false
	}
	claimAt, confirmAt := c.claimAtLocked(), c.confirmAtLocked()
	switch due := claimAt != 0 && claimAt <= now; {
	case confirmAt != 0 && confirmAt <= now, due && c.hintedLocked():
		c.confirmLocked()
		return false
	case claimAt == 0:
		c.asking = nil
		return false
	case !due:
		return false
	}
	busy := c.asking // a waiting claim's tick may be too late by now, or decided
	d := plan(situation{cursor: c.cursor, policies: c.policiesLocked(), now: now, settling: c.s.health.steady() < settleGrace})
	switch d.action {
	case waitUntil:
		c.retryAt = d.at
		return false
	case skipTicks:
		c.asking = nil
		return c.passLocked(d)
	case claimTick:
		if d.overlap == protocol.OverlapWait && c.overloadedLocked(now) && c.runsLocked() { // the answer is known: it is busy
			c.cursor = c.cursor.planned(d)
			c.cursor.blocked, c.retryAt, c.behind = now, now+ms(c.s.term/2), true
			return false
		}
		if !c.roomLocked(c.due(d.tick) + c.backupLocked()) {
			c.waitForRoomLocked(d.tick, now)
			return false
		}
		c.cursor = c.cursor.planned(d)
		next := asking{claim: c.claim(d.tick)}
		if busy != nil && busy.claim.Occasion == d.tick {
			next.began, next.busy = busy.began, true
		}
		a := &c.ask
		*a = next
		a.claim.NotBefore = time.UnixMilli(c.due(d.tick))
		a.claim.Overlap = d.overlap
		if d.latest != 0 {
			a.claim.NotAfter = time.UnixMilli(d.latest)
		}
		c.asking = a
		return c.claimLocked(a)
	default:
		c.asking = nil
		return false
	}
}

// policiesLocked is what the decisions about the ticks follow.
func (c *contender) policiesLocked() *policies {
	return &policies{spec: &c.spec, tickAfter: c.tickAfter, due: c.due, edited: c.edited, had: c.before.had(c.due)}
}

// overloadFor is for how long a claim that was held back counts as a sign that the store is overloaded.
const overloadFor = 10_000 // ms

func (c *contender) overloadedLocked(now int64) bool {
	return c.cursor.overloaded != 0 && now-c.cursor.overloaded < overloadFor
}

// runsLocked reports whether this replica holds a tick of the job.
func (c *contender) runsLocked() bool {
	for _, l := range c.running {
		if l.Valid() {
			return true
		}
	}
	return false
}

// ended is told that a run of this replica is over.
func (c *contender) ended(l *lease.Lease, open bool) {
	tick := l.Occasion()
	c.mu.Lock()
	if c.running[tick] == l { // else it is a later attempt's by now
		delete(c.running, tick)
	}
	if !open {
		c.s.report(report{kind: progressSettled, job: c.name, tick: tick})
	}
	wait := c.asking != nil || open || c.behind
	now := c.s.clock.ms()
	if c.behind {
		c.cursor.blocked, c.behind = now, false
	}
	for t, l := range c.open {
		if l.waits { // for this one, perhaps
			l.at = now
			c.open[t], wait = l, true
		}
	}
	if open { // and its tick was left for whoever takes it over: look soon who does
		c.open[tick] = look{at: now + ms(c.s.term/10)}
	}
	c.mu.Unlock()
	if wait {
		c.poke()
	}
}

func (c *contender) onRetry(run jobs.Run, err error, wait time.Duration) {
	c.s.observe(RunRetried{Run: run, Err: err, Wait: wait})
}

// announce records a retry in the store, so that a takeover counts on from it. The lease is good whether or not that
// works.
func (c *contender) announce(ctx context.Context, run jobs.Run) {
	if l, ok := run.Lease.(*lease.Lease); ok {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		_ = l.SetAttempt(ctx, run.Attempt)
	}
}

// ms rounds up to whole milliseconds.
func ms(d time.Duration) int64 { return int64((d + time.Millisecond - 1) / time.Millisecond) }
