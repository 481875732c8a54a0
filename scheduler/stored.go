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

// loader has this replica run the schedules that lie in the store. It looks after the shares of the
// store's index that are this replica's by the ranking of the members. What is due there within
// aheadBy it loads: a record and its schedule become a contender, which decides, claims and runs as
// that of any other job, and is dropped when nothing of it is due. So a replica has in memory what is
// due now, however many schedules there are.
//
//	two replicas look after a share    the record grants each tick once; the other one's claim is in vain
//	nobody does                        the next members by the ranking look a little later, too
//	a schedule is put or deleted       a claim names the revision that it was loaded with. If that is not the present
//	                                   one, nothing is decided, and the record is read again
//	its holder dies                    the record is due when the lease runs out: who looks after the share takes it over
//	the store was away                 what is due has waited in the index
//	the job is paused                  a claim says so, and the record skips a tick that is not open
//	the store went back in time        who has decided a tick that is undecided again brings its record back, and
//	                                   all leave what is due alone meanwhile
type loader struct {
	*Scheduler
	wanted  sleep.Signal // look now
	replica *job.Replica // as the jobs know it: it hears of no other replicas, and reports to none

	wentBack atomic.Bool // the store may have gone back in time

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
	// helpEvery is the time between two looks at shares that others look after, and helpAfter how long what
	// is due there is left to them. If they live, they have claimed it, or have more than they can do.
	helpEvery, helpAfter = 500 * time.Millisecond, 200 * time.Millisecond
	// verifyJobEvery is how often the record of a job is read, which says whether the job is paused.
	verifyJobEvery = 2 * time.Second
	// lookedAt is how many records of each such share are looked at.
	lookedAt = 8
	// restsFor is how far away the next step of a contender is for it to be dropped.
	restsFor = 5_000 // ms
	// mostLoaded bounds how many records of a job one look loads.
	mostLoaded = 2048
	// unreadableFor is how long what cannot be read is left alone: others may have its time zone.
	unreadableFor = time.Minute
	// mostParsed bounds the schedules that are kept parsed: a million customers have a few different ones.
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
		if l.wentBack.Swap(false) && begun {
			l.bringBack(ctx)
		}
		found := l.reread()
		set := l.jobs.Load()
		maps.DeleteFunc(l.looks, func(c *contender, _ *looks) bool { return set.byName[c.Name] != c })
		for _, c := range set.contenders {
			if c.Job.Schedule().Stored() {
				found = l.load(ctx, c) || found
			}
		}
		if found {
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
	if time.Since(at.helped) >= helpEvery {
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
		if ctx.Err() != nil || l.wentBack.Load() {
			break
		}
		found = l.get(part, func(k *protocol.Keyed) { l.begin(base, k) }) || found
	}
	return found
}

// stuck returns those of the records, which others look after, in whose share nothing has moved since the
// last look. Where something has, its owner lives and has more than it can do: who helps it makes that
// worse, since the store is what is slow.
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

// each calls f with each contender that is loaded, locked.
func (l *loader) each(f func(c *contender)) {
	for _, c := range l.all() {
		c.locked(func() { f(c) })
	}
}

// each calls f with each contender, of jobs and of stored schedules, locked.
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
	room := admission.NewRoom(l.capacity, &admission.Waiter{Wake: c.roomFreed, Verify: c.verify, Order: rand.Uint64()})
	base.mu.Lock()
	given, resumed := base.Definition, base.Record.Resumption()
	base.mu.Unlock()
	c.View = job.New(l.replica, given.WithKey(key, s, &k.Record), room)
	c.mu.Lock()
	c.readLocked(k, resumed)
	rests, due := restsLocked(c), c.NextDue(c.Cursor.Watermark)
	c.mu.Unlock()
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

// withdraw removes a record that is of no more use.
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
