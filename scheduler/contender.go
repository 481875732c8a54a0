package scheduler

import (
	"context"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease"
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

	mu        sync.Mutex
	job       *jobs.Job
	spec      jobs.Spec
	handle    func(ctx context.Context, run jobs.Run, then func(error)) // see jobs.ChainThen
	gone      bool                                                      // the job was removed
	paused    *lease.Pause                                              // as the store said; nil when it is not
	edited    int64                                                     // see state
	active    bool                                                      // a goroutine contends
	poked     bool                                                      // something happened meanwhile: it has to look again
	synced    bool                                                      // mark is what the store said, and its record is there
	made      bool                                                      // there has been a record before
	since     int64                                                     // since when the store remembered when the record was read
	mark      int64                                                     // the newest that is known to be decided
	next      int64                                                     // the first tick after mark; 0 when there is none
	caughtUp  int64                                                     // see state
	blocked   int64                                                     // see state
	notBefore int64                                                     // no new tick is claimed before this
	retryAt   int64                                                     // not before this; 0: at once
	failures  int                                                       // calls that failed in a row
	asking    *asking                                                   // a claim whose answer is not known
	ask       asking                                                    // what asking points to, if anything
	open      map[int64]look                                            // ticks that others hold or held, or that wait
	running   map[int64]*lease.Lease
	began     bool // a run has
}

// asking is a claim that has to be repeated until it is answered: it may have been granted.
type asking struct {
	claim    lease.Claim
	began    time.Time // when it, or the one that it goes on from, was sent first; zero before
	sent     time.Time // for the last time
	answered bool      // it was not granted
	busy     bool      // since its tick, or this claim before it, has to wait for its turn
}

func newContender(s *Scheduler, job *jobs.Job) *contender {
	c := &contender{s: s, name: job.Name(), index: -1, open: map[int64]look{}, running: map[int64]*lease.Lease{}}
	c.defineLocked(job)
	return c
}

// defineLocked makes the contender one of this job.
func (c *contender) defineLocked(job *jobs.Job) {
	c.job, c.spec = job, job.Spec()
	c.handle = jobs.ChainThen(job, jobs.Hooks{OnRetry: c.onRetry, Announce: c.announce})
}

// redefine goes on with another definition of the job. Runs that are under way go on under the one before.
func (c *contender) redefine(job *jobs.Job) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.defineLocked(job)
	c.next, c.caughtUp, c.blocked = 0, 0, 0
	c.synced = false // the store has to say since when the schedule is what it is
}

// remove contends no more. Runs that are under way go on.
func (c *contender) remove() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gone = true
	c.s.timers.set(c, 0)
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

// tickAfterLocked returns the same as tickAfter, and has most often no need to ask for it.
func (c *contender) tickAfterLocked(after int64) int64 {
	if after == c.mark && c.next != 0 {
		return c.next
	}
	return c.tickAfter(after)
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
		c.s.timers.set(c, c.actAtLocked())
	}
	c.mu.Unlock()
}

// contend begins to contend, and reports whether a run has begun. Then it stops there, for others to begin theirs, and
// goOn has to be called.
func (c *contender) contend() (began bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
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
	if c.contendingLocked() {
		c.s.timers.set(c, c.actAtLocked()) // under the lock, so that no poke gets lost
	}
}

// actAtLocked is when there will be something to do.
func (c *contender) actAtLocked() int64 {
	if !c.synced {
		return 0 // until the syncer has been here
	}
	at := int64(0)
	earlier := func(t int64) {
		if t != 0 && (at == 0 || t < at) {
			at = t
		}
	}
	if c.next != 0 {
		earlier(max(c.due(c.next), c.retryAt, c.notBefore))
	}
	if c.asking != nil {
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
	if !c.synced {
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
	busy := c.asking // a waiting claim's tick may be too late by now, or decided
	st := plan(state{
		spec: &c.spec, next: c.tickAfterLocked, due: c.due,
		mark: c.mark, now: now, caughtUp: c.caughtUp, blocked: c.blocked, edited: c.edited,
		settling: c.s.health.steady() < settleGrace,
	})
	switch {
	case st.wait != 0:
		c.retryAt = st.wait
		return false
	case st.pass != 0:
		c.asking = nil
		return c.passLocked(st)
	case st.claim != 0:
		c.caughtUp = st.caughtUp
		next := asking{claim: c.claim(st.claim)}
		if busy != nil && busy.claim.Occasion == st.claim {
			next.began, next.busy = busy.began, true
		}
		a := &c.ask
		*a = next
		a.claim.NotBefore = time.UnixMilli(c.due(st.claim))
		a.claim.Overlap = st.overlap
		if st.latest != 0 {
			a.claim.NotAfter = time.UnixMilli(st.latest)
		}
		c.asking = a
		return c.claimLocked(a)
	default:
		c.asking = nil
		return false
	}
}

// The wait after an error is doubled from one to the other, while nothing succeeds in between. After an absence of the
// store it is cut short: see recovered.
const firstRetry, lastRetry = 50, 1000 // ms

// lateRetry is the wait after a claim that came too late by the store's clock, but not yet by our idea of it: without one
// it would be made again and again until the two agree.
const lateRetry = 10 // ms

func (c *contender) retryLocked() int64 {
	wait := min(int64(firstRetry)<<min(c.failures, 10), lastRetry)
	c.failures++
	return c.s.clock.ms() + wait
}

func (c *contender) claim(tick int64) lease.Claim {
	takeovers := c.spec.MaxTakeovers
	if c.spec.Delivery == jobs.AtMostOnce {
		takeovers = 0
	}
	return lease.Claim{
		Name: c.name, Occasion: tick, Holder: c.s.replica, Request: c.s.request(), Term: c.s.term,
		Known: c.mark, Takeovers: takeovers,
	}
}

// claimLocked sends a claim and takes in the answer.
func (c *contender) claimLocked(a *asking) bool {
	c.mu.Unlock()
	sent, began := lease.Sent(), time.Now()
	if a.began.IsZero() {
		a.began = began
	}
	c.s.crew.away()
	answer, err := c.s.store.Claim(c.s.calls.context(began), a.claim)
	c.s.crew.back()
	received := time.Now()
	c.s.answered(received.Sub(began), err)
	if err == nil {
		c.s.clock.sample(began, received, answer.Now)
		if c.s.observed {
			c.s.observe(Claimed{Job: c.name, Tick: time.UnixMilli(a.claim.Occasion).UTC(), Status: answer.Status, Took: time.Since(a.began)})
		}
	}
	c.mu.Lock()
	tick := a.claim.Occasion
	a.sent = began
	if err != nil {
		at := c.retryLocked()
		if l, ok := c.open[tick]; ok && l.asking == a {
			l.at = at
			c.open[tick] = l
		}
		c.retryAt = at
		return false
	}
	a.answered, c.failures = true, 0
	if answer.Status == lease.Unknown {
		c.forgottenLocked()
		return false
	}
	now := c.s.clock.msAt(received)
	c.learnLocked(answer, tick, now)

	wait := int64(0)
	switch answer.Status {
	case lease.Granted:
		c.began = true
		if !a.claim.OnlyOpen { // what is open is granted while the job is paused, too
			c.paused = nil
		}
		l := c.s.begin(c, a.claim, answer, sent)
		c.running[tick] = l
		if c.poked && c.spec.Overlap == jobs.Replace {
			l.Check() // it may have been for this one
		}
	case lease.Held, lease.Queued:
		c.open[tick] = c.lookAfterLocked(now, answer.Left, answer.Status == lease.Queued)
	case lease.Paused:
		if c.paused == nil { // by whom, and why: the store may forget it
			c.synced = false
			c.s.wantSync()
		}
		c.s.observe(Passed{Job: c.name, To: time.UnixMilli(tick).UTC(), Count: 1, Outcome: Skipped, Reason: ReasonPaused})
	case lease.Skipped:
		c.s.observe(Passed{Job: c.name, To: time.UnixMilli(tick).UTC(), Count: 1, Outcome: Skipped, Reason: ReasonOverlap})
	case lease.Lost:
		c.lost(tick)
	case lease.Early:
		wait = ms(answer.Left) + 1
	case lease.Late:
		wait = lateRetry
	case lease.Busy:
		// Woken when the other ends, by the store or by our own run; at the latest when its lease would run out.
		wait = ms(answer.Left) + 1 + rand.Int64N(50)
		c.blocked = now
	case lease.Decided, lease.Unknown: // the mark, or the next plan, says what follows
	}
	for _, t := range answer.Settled {
		c.settledLocked(t)
	}
	if c.asking == a {
		if a.busy && answer.Status != lease.Busy {
			c.blocked = now
		}
		a.busy = answer.Status == lease.Busy
		if !a.busy {
			c.asking = nil
		}
	}
	if wait > 0 && !c.poked { // what it would wait for may have happened
		c.retryAt = now + wait
	}
	return true
}

// settledLocked is told that a claim has settled another tick besides, or this one for another reason than its own.
func (c *contender) settledLocked(t lease.Settled) {
	delete(c.open, t.Occasion)
	p := Passed{Job: c.name, To: time.UnixMilli(t.Occasion).UTC(), Count: 1, Outcome: t.Outcome, Reason: ReasonNewer}
	if t.Outcome == Lost {
		p.Reason = ReasonTakeovers
	}
	c.s.observe(p)
}

func (c *contender) lost(tick int64) {
	delete(c.open, tick)
	c.lostOne(tick)
}

func (c *contender) lostOne(tick int64) {
	c.s.observe(Passed{Job: c.name, To: time.UnixMilli(tick).UTC(), Count: 1, Outcome: Lost, Reason: ReasonTakeovers})
}

// learnLocked takes in what an answer tells of the record.
func (c *contender) learnLocked(a lease.Answer, tick, now int64) {
	c.advanceLocked(a.Mark)
	if tick != 0 && len(c.open) > 0 {
		delete(c.open, tick)
	}
	c.othersLocked(a.Open, tick, now)
}

func (c *contender) advanceLocked(mark int64) {
	if mark > c.mark || c.next == 0 {
		c.mark = max(mark, c.mark)
		c.next = c.tickAfter(c.mark)
	}
}

// passLocked settles ticks that nobody runs.
func (c *contender) passLocked(st step) bool {
	p := lease.Pass{
		Name: c.name, From: c.mark, To: st.pass, Outcome: st.outcome, Request: c.s.request(), Holder: c.s.replica,
		Note: fleet.Note{Reason: string(st.reason), Count: st.count}.String(),
	}
	for try := 0; ; try++ {
		c.mu.Unlock()
		began := time.Now()
		c.s.crew.away()
		mark, passed, err := c.s.store.Pass(c.s.calls.context(began), p)
		c.s.crew.back()
		c.s.answered(time.Since(began), err)
		c.mu.Lock()
		switch {
		case err != nil && try == 0:
			continue // the same request: should it have been done already, it is ours all the same
		case err != nil:
			c.retryAt = c.retryLocked()
			return false
		case passed:
			c.s.observe(Passed{Job: c.name, To: time.UnixMilli(p.To).UTC(), Count: st.count, Outcome: st.outcome, Reason: st.reason})
		case mark < p.From:
			c.forgottenLocked() // the record is gone, or went back in time
			return false
		}
		c.caughtUp, c.failures = st.caughtUp, 0
		c.advanceLocked(mark)
		return true
	}
}

// forgottenLocked leaves it to the syncer to make the record anew.
func (c *contender) forgottenLocked() {
	c.synced, c.asking = false, nil
	c.s.wantSync()
}

// syncedLocked takes in the record that the store has.
func (c *contender) syncedLocked(r lease.Record) {
	if r.Made && c.made {
		if tick := c.tickAfter(c.mark); tick != 0 && tick <= r.Mark {
			st := state{spec: &c.spec, next: c.tickAfter, due: func(t int64) int64 { return t }, mark: c.mark}.passUpTo(r.Mark, Missed, ReasonForgotten)
			c.s.observe(Passed{Job: c.name, To: time.UnixMilli(st.pass).UTC(), Count: st.count, Outcome: Missed, Reason: ReasonForgotten})
		}
		if c.spec.Overlap != jobs.Allow { // what runs may be in the way of what comes
			c.notBefore = c.since + ms(heardOf)
		}
		for t, l := range c.open { // nobody can tell whether it was granted
			if l.waits && !l.told && !slices.ContainsFunc(r.Open, func(o lease.Open) bool { return o.Occasion == t }) {
				c.s.observe(Passed{Job: c.name, To: time.UnixMilli(t).UTC(), Count: 1, Outcome: Missed, Reason: ReasonForgotten})
			}
		}
	}
	c.synced, c.made = true, true
	c.paused, c.edited = r.Paused, 0
	if !r.Revised.IsZero() {
		c.edited = r.Revised.UnixMilli()
	}
	c.advanceLocked(r.Mark)
	c.othersLocked(r.Open, 0, c.s.clock.ms())
}

// ended is told that a run of this replica is over.
func (c *contender) ended(l *lease.Lease, open bool) {
	tick := l.Occasion()
	c.mu.Lock()
	if c.running[tick] == l { // else it is a later attempt's by now
		delete(c.running, tick)
	}
	wait := c.asking != nil || open
	now := c.s.clock.ms()
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
