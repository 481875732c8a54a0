package scheduler

import (
	"github.com/solotick/solotick/scheduler/internal/admission"
	"github.com/solotick/solotick/scheduler/internal/membership"
	"github.com/solotick/solotick/scheduler/internal/plan"
	"github.com/solotick/solotick/scheduler/internal/reports"

	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"github.com/solotick/solotick/internal/chain"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/steady"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease"
)

// contender claims or skips the ticks of one job. One goroutine at a time does so, with one request
// at a time under way, so the claims of a job are in order. Each run has its own goroutine. See
// state for what a contender does. All times are Unix ms of fleet time.
type contender struct {
	s       *Scheduler
	name    string
	waits   *admission.Waiter // for room; nil where that has no limit
	working atomic.Int32      // handlers that run
	backup  atomic.Bool       // others claim its ticks before this replica, as far as it knows

	slot   admission.Slot[*contender]
	active bool // a goroutine is at work
	gone   bool // the job was removed

	mu sync.Mutex // see unlock
	*plan.Definition
	record          // as it was read last
	events *[]Event // to be sent when the mutex is unlocked; nil for none

	cursor    plan.Cursor
	pending   *request               // nil when there is none
	rest      rest                   // between two decisions
	waiting   *waitingTick           // that was answered last to have to wait; nil for none
	notBefore int64                  // no new tick is claimed before this
	blocked   int64                  // until when an earlier tick is in the way of the next one, as far as is known
	open      looks                  // at ticks that others hold or held, or that wait
	running   map[int64]*lease.Lease // by this replica; nil before the first
	retried   map[int64]retries      // by token, of what this replica runs; nil before the first
	short     int64                  // when the oldest tick was due that found no room since the contender rested; 0 when none did
	room      int32                  // held for claims whose answer is not known, and from runs that are to be replaced
	heirs     int32                  // runs that are not settled, and whose room it has
	failures  int32                  // requests that failed in a row
	failing   steady.Instant         // when the first of them was sent; 0 when there is none
	contact   steady.Instant         // when the store answered again after a longer time of failures

	lastSuccess, lastFailure int64 // when a tick was last settled so, as far as is known; 0 for never

	place   membership.Place
	from    int64               // backups count from this time when it is later than the tick's
	woke    int64               // when this replica was notified last that a tick may be free
	ranking *membership.Ranking // that place is of
	passed  passed
	hints   hints
	doubt   doubt
}

// record holds what is known of a job's record besides its ticks.
type record struct {
	synced     bool            // it has been read, and is there
	stale      bool            // it is to be read again, while the contender goes on
	confirming bool            // it is read to confirm hints, and nothing else has changed
	made       bool            // there has been one before
	defined    bool            // it has taken the definition
	since      int64           // since when the store remembered when it was read
	paused     *protocol.Pause // as the store said; nil when it is not
	resumed    int64           // see policies
	edited     int64           // see policies
	had        func(tick int64) bool
}

func newContender(s *Scheduler, job *jobs.Job) *contender {
	c := &contender{s: s, name: job.Name()}
	c.slot = admission.NewSlot(c)
	c.defineLocked(job)
	if s.capacity.Max > 0 {
		c.waits = &admission.Waiter{Wake: c.roomFreed, Verify: c.verify, Order: rand.Uint64()}
	}
	return c
}

// IsBackup reports whether others claim the job's ticks before this replica.
func (c *contender) IsBackup() bool { return c.backup.Load() }

// defineLocked sets the definition of the job.
func (c *contender) defineLocked(job *jobs.Job) {
	c.Definition = c.s.common.Define(job)
	c.ranking, c.defined, c.edited, c.had = nil, false, 0, nil
}

// policiesLocked returns the policies in the definition and in the record.
func (c *contender) policiesLocked() *plan.Policies {
	return &plan.Policies{Spec: c.Spec, TickAfter: c.TickAfter, Due: c.Due, Edited: c.edited, Had: c.had, Resumed: c.resumed}
}

// handlerLocked returns the function that runs a tick: see chain.NewThen.
func (c *contender) handlerLocked() func(ctx context.Context, run jobs.Run, then func(error)) {
	return chain.NewThen(c.Job, chain.Hooks{Wrappers: c.s.wrappers, OnRetry: c.onRetry, BeforeAttempt: c.recordAttempt, Stopping: c.s.stopped})
}

// setHandler makes later runs call the handler of job, whose definition is the same as before.
func (c *contender) setHandler(job *jobs.Job) {
	c.mu.Lock()
	defer c.unlock()
	next := *c.Definition
	next.Job = job
	c.Definition = &next
}

// redefine replaces the definition of the job. Runs that have begun keep the old one.
func (c *contender) redefine(job *jobs.Job) {
	c.mu.Lock()
	defer c.unlock()
	c.defineLocked(job)
	c.cursor = plan.Cursor{Watermark: c.cursor.Watermark}
	c.hints.next = unknownTick
	c.synced = false // the store has to say since when the job has this schedule
	if c.pending.skips() {
		c.pending = nil // those were ticks of the other schedule
	}
}

// remove stops contending. Runs that have begun go on.
func (c *contender) remove() {
	c.mu.Lock()
	defer c.unlock()
	c.gone = true
	c.s.timers.Set(&c.slot, 0)
	if !c.active {
		c.short = 0
		c.restRoomLocked()
	}
}

// emitLocked queues an event until the mutex is unlocked, because an observer may be slow.
func (c *contender) emitLocked(e Event) {
	if c.events == nil {
		c.events = new([]Event)
	}
	*c.events = append(*c.events, e)
}

// unlock unlocks the mutex and sends the queued events.
func (c *contender) unlock() {
	events := c.events
	c.events = nil
	c.mu.Unlock()
	if events == nil {
		return
	}
	for _, e := range *events {
		c.s.observe(e)
	}
}

// poke makes the contender look for work at once.
func (c *contender) poke() {
	c.mu.Lock()
	defer c.unlock()
	c.pokeLocked()
}

func (c *contender) pokeLocked() {
	c.rest = rest{}
	if c.active && c.pending != nil {
		c.pending.overtaken = true
	}
	c.rescheduleLocked()
}

// ended handles the end of a run of this replica. open reports that its tick is not settled.
func (c *contender) ended(l *lease.Lease, open bool) {
	tick := l.Tick()
	c.mu.Lock()
	defer c.unlock()
	if c.running[tick] == l { // else it is a later attempt's by now
		delete(c.running, tick)
	}
	if !open {
		c.s.report(reports.Report{Kind: reports.Settled, Job: c.name, Tick: tick})
	}
	now := c.s.clock.Ms()
	wake := open
	if c.rest.state == blocked {
		c.cursor.Blocked, wake = now, true
	}
	c.blocked = min(c.blocked, now)
	for i := range c.open {
		if l := &c.open[i]; l.waits { // for this one, perhaps
			l.at, wake = now, true
		}
	}
	if open { // its tick was left for another replica to take over: look soon which does
		c.open.set(look{tick: tick, at: now + ms(c.s.ttl/10)})
	}
	if wake {
		c.pokeLocked()
	}
}
