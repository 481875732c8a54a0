package scheduler

import (
	"github.com/solotick/solotick/scheduler/internal/admission"
	"github.com/solotick/solotick/scheduler/internal/job"
	"github.com/solotick/solotick/scheduler/internal/reports"

	"math/rand/v2"
	"sync"
	"sync/atomic"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease"
)

// contender claims or skips the ticks of one job. One goroutine at a time does so, with one request
// at a time under way, so the claims of a job are in order. Each run has its own goroutine. See
// job.State for what a contender does.
type contender struct {
	s       *Scheduler
	base    *contender   // of the job whose schedule this is; nil of a job
	job     string       // the name of the job
	key     string       // of the schedule
	working atomic.Int32 // handlers that run
	backup  atomic.Bool  // others claim its ticks before this replica, as far as it knows

	slot   admission.Slot[*contender]
	active bool // a goroutine is at work
	gone   bool // the job was removed

	mu sync.Mutex // see unlock
	job.View
	events *[]Event // to be sent when the mutex is unlocked; nil for none
}

func newContender(s *Scheduler, definition *jobs.Job) *contender {
	c := &contender{s: s, job: definition.Name()}
	c.slot = admission.NewSlot(c)
	room := admission.NewRoom(s.capacity, &admission.Waiter{Wake: c.roomFreed, Verify: c.verify, Order: rand.Uint64()})
	c.View = job.New(s.self, s.common.Define(definition), room)
	return c
}

// IsBackup reports whether others claim the job's ticks before this replica.
func (c *contender) IsBackup() bool { return c.backup.Load() }

// setHandler makes later runs call the handler of a job, whose definition is the same as before.
func (c *contender) setHandler(definition *jobs.Job) {
	c.mu.Lock()
	defer c.unlock()
	next := *c.Definition
	next.Job = definition
	c.Define(&next)
}

// redefine replaces the definition of the job. Runs that have begun keep the old one.
func (c *contender) redefine(definition *jobs.Job) {
	c.mu.Lock()
	defer c.unlock()
	c.Redefine(c.s.common.Define(definition))
}

// remove stops contending. Runs that have begun go on.
func (c *contender) remove() {
	c.mu.Lock()
	defer c.unlock()
	c.removeLocked()
}

func (c *contender) removeLocked() {
	c.gone = true
	c.s.timers.Set(&c.slot, 0)
	if !c.active {
		c.Room.NotShort()
		c.Room.Rest(false)
	}
}

func (c *contender) contendingLocked() bool { return !c.gone && !c.s.stopping.Load() }

// emitLocked queues an event until the mutex is unlocked, because an observer may be slow.
func (c *contender) emitLocked(e Event) {
	if c.events == nil {
		c.events = new([]Event)
	}
	*c.events = append(*c.events, e)
}

// skippedLocked reports ticks that were settled without a run.
func (c *contender) skippedLocked(list ...job.Skipped) {
	for _, t := range list {
		c.emitLocked(TicksSkipped{Job: c.job, Key: c.key, To: utc(t.To), Count: t.Count, Outcome: t.Outcome, Reason: t.Reason})
	}
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

// locked calls f with the mutex locked.
func (c *contender) locked(f func()) {
	c.mu.Lock()
	defer c.unlock()
	f()
}

// pokeLocked makes the contender look for work at once.
func (c *contender) pokeLocked() {
	c.Rest.End()
	if c.active && c.Pending != nil {
		c.Pending.Overtaken = true
	}
	c.rescheduleLocked()
}

// rescheduleLocked sets the timer again, because something that it depends on has changed.
func (c *contender) rescheduleLocked() {
	if !c.gone && !c.active { // else it is set when it comes to rest
		c.s.timers.Set(&c.slot, c.lookAtLocked())
	}
}

// woken handles a notification: see View.Woken.
func (c *contender) woken(triggered int64) {
	c.mu.Lock()
	defer c.unlock()
	c.Woken(triggered, c.s.clock.Ms())
	if c.Spec.Overlap == jobs.Replace {
		c.Running.Check()
	}
	c.pokeLocked()
}

// cancelled renews the runs of the job at once, to learn which one was cancelled, and looks at the
// ticks that others hold.
func (c *contender) cancelled() {
	c.mu.Lock()
	c.Running.Check()
	c.unlock()
	c.woken(0)
}

// reread has the record read after a pause or a resume.
func (c *contender) reread() {
	c.mu.Lock()
	defer c.unlock()
	if c.Record.IsRead() {
		c.Record.Forget()
		c.Sync()
	}
}

// learn applies a report of another replica.
func (c *contender) learn(r reports.Report, from string, now int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone || !c.Record.IsRead() {
		return
	}
	soon, at := c.Learn(r, from, now), c.slot.At()
	if at == 0 || soon != 0 && soon <= at {
		c.rescheduleLocked()
	}
}

// questioned handles a question about the job from another replica: see View.Questioned.
func (c *contender) questioned(id reports.InquiryID, watermark int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone {
		return
	}
	c.Questioned(id, watermark, c.s.clock.Ms())
	c.rescheduleLocked()
}

// resume ends the doubt of an inquiry that all have answered.
func (c *contender) resume(id reports.InquiryID) {
	c.mu.Lock()
	defer c.unlock()
	c.Doubt.Answered(id)
	c.pokeLocked()
}

// read applies the record that was read of the job as it was defined then. It returns false if the
// job was defined again meanwhile.
func (c *contender) read(r protocol.Record, since int64, defined *jobs.Job) bool {
	c.mu.Lock()
	defer c.unlock()
	if c.Job != defined {
		return false
	}
	lost, skipped := c.Read(r, since, c.s.clock.Ms())
	if lost {
		c.emitLocked(RecordsLost{Job: c.Name})
	}
	c.skippedLocked(skipped...)
	c.pokeLocked()
	return true
}

// ended handles the end of a run of this replica. open reports that its tick is not settled.
func (c *contender) ended(l *lease.Lease, open bool) {
	tick := l.Tick()
	c.mu.Lock()
	defer c.unlock()
	c.Running.Remove(l)
	if !open {
		c.Notify(reports.Report{Kind: reports.Settled, Job: c.Name, Tick: tick})
	}
	if c.RunEnded(tick, open, c.s.clock.Ms()) {
		c.pokeLocked()
	}
	c.leaveLocked()
}

// inherit takes the room of a run whose handler has returned, if another tick waits to take its
// place, and reports whether it did. If so, bequeathed must be called when the run is settled.
func (c *contender) inherit(room admission.Taken) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone || !c.Pending.Replaces() && !c.Open.Wait() {
		return false
	}
	c.Room.Inherit(room)
	return true
}

// bequeathed handles the settlement of a run whose room the contender has taken. If nothing is
// claimed with the room now, it is released.
func (c *contender) bequeathed() {
	c.mu.Lock()
	defer c.unlock()
	if c.Room.Bequeathed(); !c.active && !c.contendingLocked() {
		c.restRoomLocked()
	}
	c.pokeLocked()
}

// roomFreed makes the contender act at once, because there is room for it.
func (c *contender) roomFreed() {
	c.mu.Lock()
	defer c.unlock()
	if c.gone {
		c.Room.Leave()
		return
	}
	c.pokeLocked()
}

// verify has the record read again, because others may have run the tick that waits for room.
func (c *contender) verify() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Record.Verify()
	c.Sync()
}
