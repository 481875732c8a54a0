package scheduler

import (
	"context"
	"hash/fnv"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease"
)

// contender contends for the ticks of one job. At most one goroutine does so at a time, so that the claims of a job are
// made in order; the runs have goroutines of their own. All times are Unix ms of fleet time.
type contender struct {
	s       *Scheduler
	job     *jobs.Job
	spec    jobs.Spec
	handler jobs.Handler

	// Guarded by timers.mu.
	actAt int64
	index int // in the heap; -1 when not in it

	mu       sync.Mutex
	active   bool           // a goroutine contends
	poked    bool           // something happened meanwhile: it has to look again
	synced   bool           // mark is what the store said, and its record is there
	made     bool           // there has been a record before
	since    int64          // since when the store remembered when the record was read
	mark     int64          // the newest that is known to be decided
	next     int64          // the first tick after mark; 0 when there is none
	caughtUp int64          // see state
	blocked  int64          // see state
	retryAt  int64          // not before this; 0: at once
	failures int            // calls that failed in a row
	asking   *asking        // a claim whose answer is not known
	open     map[int64]look // ticks that others hold, or held
	running  map[int64]int64
	granted  func() // the run of a tick that was just granted
}

// asking is a claim that has to be repeated until it is answered: it may have been granted.
type asking struct {
	claim    lease.Claim
	began    time.Time
	sent     time.Time // for the last time
	answered bool      // it was not granted
	busy     bool      // since its tick, or this claim before it, has to wait for its turn
}

func newContender(s *Scheduler, job *jobs.Job) *contender {
	c := &contender{s: s, job: job, spec: job.Spec(), index: -1, open: map[int64]look{}, running: map[int64]int64{}}
	c.handler = jobs.Chain(job, jobs.Hooks{OnRetry: c.onRetry, Announce: c.announce})
	return c
}

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
	_, _ = h.Write(strconv.AppendInt([]byte(c.spec.Name), tick, 10))
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
	c.s.timers.set(c, c.actAtLocked())
	c.mu.Unlock()
}

// contend does what there is to do, and returns the run of the last tick that was granted, if it is yet to begin: most
// often it is the only one, and then it goes on where it was claimed.
func (c *contender) contend() (run func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.active {
		c.poked = true
		return nil
	}
	c.active = true
	for c.s.contending() {
		c.poked = false
		more := c.actLocked()
		if c.granted != nil {
			run, c.granted = c.granted, nil
			if at := c.actAtLocked(); !c.poked && (at == 0 || at > c.s.clock.ms()) {
				break
			}
			go run()
			run = nil
		}
		if !more && !c.poked {
			break
		}
	}
	c.active = false
	if c.s.contending() {
		c.s.timers.set(c, c.actAtLocked()) // under the lock, so that no poke gets lost
	}
	return run
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
		earlier(max(c.due(c.next), c.retryAt))
	}
	if c.asking != nil {
		earlier(max(c.retryAt, 1))
	}
	for _, l := range c.open {
		earlier(l.at)
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
	if tick, ok := c.lookLocked(now); ok {
		return c.takeOverLocked(tick)
	}
	if c.retryAt > now {
		return false
	}
	c.retryAt = 0
	if c.asking != nil && !c.asking.answered {
		return c.claimLocked(c.asking)
	}
	busy := c.asking // a waiting claim's tick may be too late by now, or decided
	st := plan(state{
		spec: &c.spec, next: c.tickAfter, due: c.due,
		mark: c.mark, now: now, caughtUp: c.caughtUp, blocked: c.blocked,
		settling: c.s.health.steady() < settleGrace,
	})
	switch {
	case st.pass != 0:
		c.asking = nil
		return c.passLocked(st)
	case st.claim != 0:
		c.caughtUp = st.caughtUp
		a := &asking{claim: c.claim(st.claim), began: time.Now()}
		a.claim.NotBefore = time.UnixMilli(c.due(st.claim))
		a.claim.Overlap = st.overlap
		if st.latest != 0 {
			a.claim.NotAfter = time.UnixMilli(st.latest)
		}
		if busy != nil && busy.claim.Occasion == st.claim {
			a.began, a.busy = busy.began, true
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
		Name: c.spec.Name, Occasion: tick, Holder: c.s.replica, Request: c.s.request(), Term: c.s.term,
		Known: c.mark, Takeovers: takeovers,
	}
}

// claimLocked sends a claim and takes in the answer.
func (c *contender) claimLocked(a *asking) bool {
	c.mu.Unlock()
	sent, began := lease.Sent(), time.Now()
	ctx, cancel := c.s.call()
	answer, err := c.s.store.Claim(ctx, a.claim)
	cancel()
	took := time.Since(began)
	c.s.answered(took, err)
	if err == nil {
		c.s.clock.sample(began, began.Add(took), answer.Now)
		c.s.observe(Claimed{Job: c.spec.Name, Tick: time.UnixMilli(a.claim.Occasion).UTC(), Status: answer.Status, Took: time.Since(a.began)})
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
	now := c.s.clock.ms()
	c.learnLocked(answer, tick, now)

	wait := int64(0)
	switch answer.Status {
	case lease.Granted:
		delete(c.open, tick)
		c.running[tick] = answer.Token
		c.granted = c.s.begin(c, a.claim, answer, sent)
	case lease.Held:
		c.open[tick] = look{at: now + ms(answer.Left) + rand.Int64N(50)}
	case lease.Skipped:
		c.s.observe(Passed{Job: c.spec.Name, To: time.UnixMilli(tick).UTC(), Count: 1, Outcome: Skipped, Reason: ReasonOverlap})
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
	for _, t := range answer.LostToo {
		c.lost(t)
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

func (c *contender) lost(tick int64) {
	delete(c.open, tick)
	c.lostOne(tick)
}

func (c *contender) lostOne(tick int64) {
	c.s.observe(Passed{Job: c.spec.Name, To: time.UnixMilli(tick).UTC(), Count: 1, Outcome: Lost, Reason: ReasonTakeovers})
}

// learnLocked takes in what an answer tells of the record.
func (c *contender) learnLocked(a lease.Answer, tick, now int64) {
	c.advanceLocked(a.Mark)
	if tick != 0 {
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
	p := lease.Pass{Name: c.spec.Name, From: c.mark, To: st.pass, Outcome: st.outcome, Request: c.s.request()}
	for try := 0; ; try++ {
		c.mu.Unlock()
		began := time.Now()
		ctx, cancel := c.s.call()
		mark, passed, err := c.s.store.Pass(ctx, p)
		cancel()
		c.s.answered(time.Since(began), err)
		c.mu.Lock()
		switch {
		case err != nil && try == 0:
			continue // the same request: should it have been done already, it is ours all the same
		case err != nil:
			c.retryAt = c.retryLocked()
			return false
		case passed:
			c.s.observe(Passed{Job: c.spec.Name, To: time.UnixMilli(p.To).UTC(), Count: st.count, Outcome: st.outcome, Reason: st.reason})
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
			c.s.observe(Passed{Job: c.spec.Name, To: time.UnixMilli(st.pass).UTC(), Count: st.count, Outcome: Missed, Reason: ReasonForgotten})
		}
	}
	c.synced, c.made = true, true
	c.advanceLocked(r.Mark)
	c.othersLocked(r.Open, 0, c.s.clock.ms())
}

// ended is told that a run of this replica is over.
func (c *contender) ended(tick int64, open bool) {
	c.mu.Lock()
	delete(c.running, tick)
	if open { // and its tick was left for whoever takes it over: look soon who does
		c.open[tick] = look{at: c.s.clock.ms() + ms(c.s.term/10)}
	}
	wait := c.asking != nil || open
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
