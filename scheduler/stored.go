package scheduler

import (
	"github.com/solotick/solotick/scheduler/internal/admission"
	"github.com/solotick/solotick/scheduler/internal/job"
	"github.com/solotick/solotick/scheduler/internal/membership"
	"github.com/solotick/solotick/scheduler/internal/plan"
	"github.com/solotick/solotick/scheduler/internal/reports"
	"github.com/solotick/solotick/scheduler/internal/storehealth"

	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/solotick/solotick/internal/naming"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/sleep"
	"github.com/solotick/solotick/jobs/schedule"
)

// loader runs the schedules that lie in the store. The ranking of the members gives each replica some
// shares of the store's index. The loader asks for the records in its shares that are due within
// loadAhead, and makes a contender of each, which claims and runs ticks as that of any other job does. It
// drops the contender when nothing of the schedule is due. So the memory of a replica depends on what is
// due now, and not on how many schedules there are.
//
//	two replicas own a share           both claim, and the record grants each tick once
//	the owner of a share is gone       the next three members look at the share, too, a little later
//	a schedule is put or deleted       a claim names the revision that was loaded. If the record has another one, it
//	                                   decides nothing, and the loader reads it again
//	the holder of a tick dies          the record is due when the lease runs out; the owner of the share takes the tick over
//	the store was away                 what came due is still in the index
//	the job is paused                  the claim says so, and the record skips a tick that is not open
//	the store went back in time        a replica that knows of a tick that was decided brings its record back first;
//	                                   until then nobody loads anything
type loader struct {
	*Scheduler
	wanted  sleep.Signal // is set to look at once
	replica *job.Replica // the replica as stored schedules see it: alone, so that they report to nobody

	// suspected counts how often the store may have gone back in time, and returned after how many of these
	// what was known is brought back. While they differ, nothing is claimed.
	suspected, returned atomic.Int64

	// Of the goroutine of run alone.
	looks map[*contender]*looks // of the jobs
	left  map[string]time.Time  // records that cannot be read, and until when they are left alone

	mu      sync.Mutex
	active  map[string]*contender // by the names of their records, JOB/KEY
	decided map[string]int64      // the watermarks of some that were dropped
	parsed  map[string]*schedule.Schedule
}

// looks are what the loader remembers of a job from one look to the next.
type looks struct {
	verified time.Time          // when its record was to be read again
	helped   time.Time          // when it looked at shares of others
	late     []protocol.DueName // what it saw there
}

const (
	// loadAhead is how long before it is due a record is loaded, at least.
	loadAhead = 1500 * time.Millisecond
	// lookEvery is the time between two looks at the index, and lookSoon after one that found something.
	lookEvery, lookSoon = 500 * time.Millisecond, 20 * time.Millisecond
	// helpEvery is the time between two looks at the shares of others, and helpAfter how late a tick must be
	// to be loaded from one.
	helpEvery, helpAfter = 500 * time.Millisecond, 200 * time.Millisecond
	// verifyJobEvery is how often the record of a job is read, which says whether the job is paused.
	verifyJobEvery = 2 * time.Second
	// lookedAt is how many records of each such share a look returns.
	lookedAt = 8
	// restsFor is the least time until the next step of a contender for it to be dropped.
	restsFor = 5_000 // ms
	// mostLoaded bounds how many records of a job one look loads.
	mostLoaded = 1024
	// unreadableFor is the time before a record that cannot be read is tried again. Another replica may have
	// its time zone.
	unreadableFor = time.Minute
	// mostParsed bounds how many parsed schedules are kept. Most customers share a few.
	mostParsed = 4096
)

func newLoader(s *Scheduler) *loader {
	l := &loader{Scheduler: s, wanted: sleep.NewSignal(), active: map[string]*contender{}, parsed: map[string]*schedule.Schedule{}}
	l.looks, l.left, l.decided = map[*contender]*looks{}, map[string]time.Time{}, map[string]int64{}
	l.replica = &job.Replica{
		ID: s.replica, TTL: s.ttl, Peers: membership.NewPeers(s.replica, 0), Request: s.request, MaxStep: s.trust.Limit,
		Sync: l.wanted.Set, Wait: s.takeoverWait, Away: s.away,
		Ask:    func(string, int64) reports.InquiryID { return reports.InquiryID{} },
		Report: func(reports.Report, []string) {},
	}
	return l
}

// run loads what is due until ctx ends.
func (l *loader) run(ctx context.Context) {
	wait := time.Duration(0)
	for begun := false; ; begun = true {
		t := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			t.Stop()
			return
		case <-t.C:
		case <-l.wanted:
			sleep.For(ctx, lateRetry) // many may ask for the same look
		}
		t.Stop()
		wait = lookEvery
		if l.trust.Holds() || l.stopping.Load() {
			continue
		}
		if n := l.suspected.Load(); n != l.returned.Load() {
			if begun {
				l.bringBack(ctx)
			}
			l.returned.Store(n)
			l.each(func(c *contender) {
				c.Record.Verify()
				c.pokeLocked()
			})
		}
		found := l.reread()
		set := l.jobs.Load()
		maps.DeleteFunc(l.looks, func(c *contender, _ *looks) bool { return set.byName[c.Name] != c })
		for _, c := range set.stored {
			found = l.load(ctx, c) || found
		}
		if found && len(l.all()) < mostLoaded/2 { // else there is enough to do, and each look lists all of that again
			wait = lookSoon
		}
	}
}

// load loads what is due of the schedules of a job, and reports whether there was something new.
func (l *loader) load(ctx context.Context, base *contender) (found bool) {
	order, at := l.peers.Current(), l.looks[base]
	if at == nil {
		at = new(looks)
		l.looks[base] = at
	}
	base.mu.Lock()
	definition, read := base.Job, base.Record.IsRead()
	if again := time.Since(at.verified) >= verifyJobEvery; again && read { // a notification of a pause may be lost
		at.verified = time.Now()
		base.Record.Verify()
		base.Sync()
	}
	base.mu.Unlock()
	if order == nil || !read {
		return false
	}
	first, next := order.Shares(definition.Name(), definition.Revision(), protocol.Shares)
	due := l.due(definition.Name(), first, loadAhead, mostLoaded+l.running())
	// Where only so many may run, what is late waits for its turn.
	if time.Since(at.helped) >= helpEvery && definition.Spec().MaxConcurrent == 0 {
		at.helped = time.Now()
		due = append(due, at.stuck(l.due(definition.Name(), next, -helpAfter, len(next)*lookedAt))...)
	}
	var names []string
	for _, d := range due {
		if len(names) < mostLoaded && l.contender(d.Name) == nil && !time.Now().Before(l.left[d.Name]) {
			names = append(names, d.Name)
		}
	}
	for part := range slices.Chunk(names, protocol.MaxSummaries) {
		if ctx.Err() != nil || l.isReturning() {
			break
		}
		found = l.get(part, func(k *protocol.Keyed) { l.begin(base, k) }) || found
	}
	return found
}

// stuck returns those of the late records whose share has not moved since the last look. If a share has
// moved, its owner lives and is overloaded. To help it would make the store, which is what is slow, slower.
func (at *looks) stuck(late []protocol.DueName) []protocol.DueName {
	is := make(map[protocol.DueName]bool, len(late))
	for _, d := range late {
		is[d] = true
	}
	stands := make(map[int]bool) // shares, of which something was seen
	for _, d := range at.late {
		before, seen := stands[d.Share]
		stands[d.Share] = is[d] && (before || !seen)
	}
	at.late = late
	return slices.DeleteFunc(slices.Clone(late), func(d protocol.DueName) bool { return !stands[d.Share] })
}

// due returns records of a job in these shares that are due at a time from now, about so many.
func (l *loader) due(job string, shares []int, from time.Duration, most int) []protocol.DueName {
	if len(shares) == 0 {
		return nil
	}
	ctx, cancel := l.call()
	defer cancel()
	began := time.Now()
	names, err := l.store.DueSchedules(ctx, job, shares, l.clock.Now().Add(from), most/len(shares)+1)
	if errors.Is(err, protocol.ErrNoIndex) { // a job that Update has brought
		l.unreadable(err)
		return nil
	}
	l.bounded(storehealth.Reads, began, err)
	return names
}

// get reads records.
func (l *loader) get(names []string, apply func(k *protocol.Keyed)) (ok bool) {
	ctx, cancel := l.call()
	defer cancel()
	began := time.Now()
	list, err := l.store.GetSchedules(ctx, names)
	if l.bounded(storehealth.Reads, began, err); err != nil {
		return false
	}
	for i := range list {
		apply(&list[i])
	}
	return true
}

// running returns how many of the loaded records have a tick that is open. They stay in the index as of
// when their leases were granted, and must not hide what is due after them.
func (l *loader) running() (n int) {
	l.each(func(c *contender) {
		if len(c.Running)+len(c.Open) > 0 {
			n++
		}
	})
	return n
}

// contender returns the contender of a record that is loaded, or nil.
func (l *loader) contender(name string) *contender {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.active[name]
}

// all returns the contenders that are loaded.
func (l *loader) all() []*contender {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Values(l.active))
}

// each calls f for the loaded contenders, with their lock held.
func (l *loader) each(f func(c *contender)) {
	for _, c := range l.all() {
		c.locked(func() { f(c) })
	}
}

// each calls f for all contenders, those of stored schedules included, with their lock held.
func (s *Scheduler) each(f func(c *contender)) {
	s.jobs.Load().each(f)
	s.loader.each(f)
}

// begin makes the contender of a record, unless nothing of it is due.
func (l *loader) begin(base *contender, k *protocol.Keyed) {
	s, err := l.scheduleOf(k)
	switch {
	case err != nil:
		l.leave(k, err)
		return
	case k.Revision == "" || k.Withdrawn && len(k.Open) == 0:
		l.withdraw(k)
		return
	}
	_, key := naming.SplitKeyed(k.Name)
	c := &contender{s: l.Scheduler, base: base, job: base.job, key: key}
	c.slot = admission.NewSlot(c)
	order := rand.Uint64()
	room := admission.NewRoom(l.capacity, &admission.Waiter{Wake: c.roomFreed, Verify: c.verify, Order: order})
	base.mu.Lock()
	given, resumed := base.Definition, base.Record.Resumption()
	base.mu.Unlock()
	if permits := l.permits.of(given.Job); permits != nil {
		room = room.WithPermits(permits, &admission.Waiter{Wake: c.roomFreed, Order: order})
	}
	c.View = job.New(l.replica, given.WithKey(key, s, &k.Record), room)
	var rests bool
	var due int64
	c.locked(func() {
		c.readLocked(k, resumed)
		rests, due = restsLocked(c), c.NextDue(c.Cursor.Watermark)
	})
	switch {
	case !rests:
		l.mu.Lock()
		l.active[k.Name] = c
		l.mu.Unlock()
		l.redefined(c, given)
		c.locked(c.pokeLocked)
	case due == 0 && k.Due == 0 && k.Look.Before(l.clock.Now().Add(loadAhead)):
		l.withdraw(k) // its last tick was long ago
	default: // somebody has moved the watermark without a word about the next tick
		l.plan(k, due)
	}
}

// redefined handles that the job was removed or redefined while a contender was made by a definition,
// when update did not see it yet.
func (l *loader) redefined(c *contender, given *plan.Definition) {
	if l.jobs.Load().byName[c.base.Name] != c.base {
		c.remove()
		l.drop(c)
		return
	}
	c.base.mu.Lock()
	same := c.base.Definition == given
	c.base.mu.Unlock()
	if !same {
		c.locked(c.Record.Verify)
	}
}

// withdraw removes the record of a schedule that is over.
func (l *loader) withdraw(k *protocol.Keyed) {
	ctx, cancel := l.call()
	defer cancel()
	began := time.Now()
	_, err := l.store.WithdrawSchedule(ctx, protocol.Withdraw{Name: k.Name, If: k.Revision, Until: l.until()})
	l.bounded(storehealth.Writes, began, err)
}

// plan says when the next tick of a schedule is due.
func (l *loader) plan(k *protocol.Keyed, due int64) {
	ctx, cancel := l.call()
	defer cancel()
	began := time.Now()
	err := l.store.PlanSchedule(ctx, protocol.Plan{Name: k.Name, Revision: k.Revision, Watermark: k.Watermark, Due: due, Until: l.until()})
	l.bounded(storehealth.Writes, began, err)
}

// reread reads again the records of contenders that must know more of them, and reports whether there
// were any.
func (l *loader) reread() (found bool) {
	stale := map[string]*contender{}
	var names []string
	l.each(func(c *contender) {
		if c.Record.NeedsReading() && !c.gone {
			stale[c.Name] = c
			names = append(names, c.Name)
		}
	})
	for part := range slices.Chunk(names, protocol.MaxSummaries) {
		found = true
		l.get(part, func(k *protocol.Keyed) {
			c := stale[k.Name]
			s, err := l.scheduleOf(k)
			if k.Revision == "" || err != nil {
				c.remove()
				l.drop(c)
				return
			}
			c.base.mu.Lock()
			definition, resumed := c.base.WithKey(c.key, s, &k.Record), c.base.Record.Resumption()
			c.base.mu.Unlock()
			c.locked(func() {
				c.Restore(definition)
				c.readLocked(k, resumed)
				c.pokeLocked()
				c.leaveLocked()
			})
		})
	}
	return found
}

// drop forgets a contender.
func (l *loader) drop(c *contender) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.active[c.Name] == c {
		delete(l.active, c.Name)
	}
}

// update has the contenders of jobs that were removed end, and those of others read again.
func (l *loader) update(byName map[string]*contender) {
	for _, c := range l.all() {
		if byName[c.job] != c.base {
			c.remove()
			l.drop(c)
			continue
		}
		c.locked(func() { c.Record.Verify() })
	}
	l.wanted.Set()
}
