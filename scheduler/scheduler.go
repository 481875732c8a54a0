package scheduler

import (
	"github.com/solotick/solotick/scheduler/internal/admission"
	"github.com/solotick/solotick/scheduler/internal/job"
	"github.com/solotick/solotick/scheduler/internal/membership"
	"github.com/solotick/solotick/scheduler/internal/plan"
	"github.com/solotick/solotick/scheduler/internal/reports"
	"github.com/solotick/solotick/scheduler/internal/runs"

	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/solotick/solotick/internal/chain"
	"github.com/solotick/solotick/internal/heartbeat"
	"github.com/solotick/solotick/internal/limits"
	"github.com/solotick/solotick/internal/naming"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/sleep"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease"
)

// Scheduler runs jobs as one replica of a fleet. Make one with [New]; it is safe for concurrent
// use.
type Scheduler struct {
	*link
	namespace string
	grace     time.Duration
	groups    []string
	version   string
	module    string
	wrappers  []chain.Wrapper
	observers *observers
	observed  bool   // somebody wants every event, not the failures only
	epoch     string // distinguishes the requests of this Scheduler from those of others
	requests  atomic.Uint64

	timers    *admission.Timers[*contender]
	queue     *admission.Queue[*contender]
	capacity  *admission.Capacity
	inflight  *admission.Inflight
	peers     *membership.Peers
	feed      *feed
	facts     *facts
	syncer    *syncer
	announcer *announcer
	loader    *loader
	permits   *permits
	failing   runs.Failing

	self     *job.Replica // as its jobs know it
	updating sync.Mutex
	registry *jobs.Registry // all jobs, those of other groups too; guarded by updating
	common   plan.Common    // guarded by updating
	jobs     atomic.Pointer[jobSet]

	life     *life
	stopping atomic.Bool
	stopped  chan struct{} // closed with it: no attempt begins any more
	ready    atomic.Bool
	news     news // of readiness

	runs, ends         context.Context // the parents of leases, and of settling
	stopRuns, stopEnds context.CancelCauseFunc
	leads              context.Context // the parent of leader tasks; nil before Run; guarded by updating
	working            runs.Count      // handlers that run
	ending             runs.Count      // runs, until the store was notified of their end
}

// New makes a scheduler of the jobs of the registry. Jobs that name groups count only if this
// replica serves one of them. Later changes of the registry take effect through [Scheduler.Update]
// only. It starts nothing: see [Scheduler.Run]. The error joins all faults of the arguments.
func New(store lease.Store, registry *jobs.Registry, opts ...Option) (*Scheduler, error) {
	o := options{replica: "replica-" + strings.ToLower(rand.Text()[:8]), ttl: 15 * time.Second, grace: 30 * time.Second, module: mainPackage()}
	var faults []error
	for i, opt := range opts {
		if opt == nil {
			faults = append(faults, fmt.Errorf("scheduler: options[%d]: nil must be an option", i))
			continue
		}
		opt(&o)
	}
	if slices.ContainsFunc(o.observe, func(f func(Event)) bool { return f == nil }) {
		faults = append(faults, errors.New("scheduler: observer: nil must be a function"))
	}
	for i, wrap := range o.wrap {
		if wrap == nil {
			faults = append(faults, fmt.Errorf("scheduler: wrappers[%d]: nil must be a function", i))
		}
	}
	fault := func(ok bool, field string, value any, rule string) {
		if !ok {
			faults = append(faults, fmt.Errorf("scheduler: %s: %q %s", field, fmt.Sprint(value), rule))
		}
	}
	fault(!protocol.IsNil(store), "store", store, "must not be nil")
	fault(naming.Valid(o.replica), "replica", o.replica, naming.Rule)
	fault(o.ttl >= 100*time.Millisecond && o.ttl <= 24*time.Hour, "ttl", o.ttl, "must be from 100ms to 24h")
	fault(o.grace >= 0, "shutdown grace", o.grace, "must be at least 0s")
	fault(o.maxRuns >= 0 && o.maxRuns <= limits.MaxWeight, "max runs", o.maxRuns, fmt.Sprintf("must be from 0 to %d", limits.MaxWeight))
	for _, g := range o.groups {
		fault(naming.Valid(g), "group", g, naming.Rule)
	}
	if registry != nil && !protocol.IsNil(store) {
		faults = append(faults, keepsSchedules(store, registry.All()))
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}

	observed := len(o.observe) > 0
	if !observed {
		o.observe = []func(Event){logFailures()}
	}
	s := &Scheduler{
		namespace: store.Namespace(), grace: o.grace, groups: groupsOf(o.groups), version: o.version, module: o.module, wrappers: o.wrap,
		observers: newObservers(o.sync, o.observe), observed: observed || len(o.sync) > 0, epoch: strings.ToLower(rand.Text()[:10]),
		timers: admission.NewTimers[*contender](), capacity: admission.NewCapacity(o.maxRuns), inflight: admission.NewInflight(o.ttl),
		peers: membership.NewPeers(o.replica, wire.MissedHeartbeats*wire.HeartbeatInterval(o.ttl)), feed: newFeed(),
		life: newLife(), stopped: make(chan struct{}),
	}
	s.queue = admission.NewQueue[*contender](s.inflight, o.ttl)
	s.jobs.Store(newJobSet())
	s.syncer = &syncer{Scheduler: s, wanted: sleep.NewSignal(), inquiries: reports.NewInquiries(s.epoch, o.ttl)}
	s.announcer = &announcer{Scheduler: s, wanted: sleep.NewSignal(), sets: heartbeat.NewJobSets(store)}
	s.link = newLink(store, o.replica, o.ttl, s)
	s.facts = newFacts(s.link)
	s.health.Back = s.facts.storeIsBack
	s.self = &job.Replica{
		ID: s.replica, TTL: s.ttl, Peers: s.peers, Request: s.request, MaxStep: s.trust.Limit, Reporting: reportedWithin,
		Answering: s.syncer.inquiries.Time, Sync: s.syncer.wanted.Set, Ask: s.syncer.inquire, Report: s.report, Wait: s.takeoverWait, Away: s.away,
	}
	s.loader, s.permits = newLoader(s), newPermits(s)
	s.Update(registry)
	return s, nil
}

func serves(mine, wanted []string) bool {
	return len(wanted) == 0 || slices.ContainsFunc(wanted, func(g string) bool { return slices.Contains(mine, g) })
}

// Replica returns the replica's id.
func (s *Scheduler) Replica() string { return s.replica }

// Ready reports whether the store answers and takes writes, its clock is trusted, and every job's
// ticks are being contended for.
func (s *Scheduler) Ready() bool {
	return s.ready.Load() && s.health.IsWorking() && !s.trust.Holds() && !s.stopping.Load()
}

// Held returns how many leases this replica holds.
func (s *Scheduler) Held() int { return s.renewer.Held() }

const (
	stopLimit = 10 * time.Second // how long a cancelled run may take to return
	endLimit  = 5 * time.Second  // how long after that the store may be asked to settle or release
)

// run is Run and Start, and what Shutdown ends.
func (s *Scheduler) run(ctx context.Context) error {
	s.runs, s.stopRuns = context.WithCancelCause(context.WithoutCancel(ctx))
	s.ends, s.stopEnds = context.WithCancelCause(context.WithoutCancel(ctx))
	defer s.stopRuns(ErrStopping)
	defer s.stopEnds(ErrStopping)

	leads, stopLeading := context.WithCancelCause(s.runs)
	defer stopLeading(ErrStopping)
	s.updating.Lock()
	s.leads = leads
	s.startLeaders()
	s.updating.Unlock()

	ctx, stop := context.WithCancel(ctx)
	defer stop()
	background, stopBackground := context.WithCancel(context.WithoutCancel(ctx))
	var helpers sync.WaitGroup
	helpers.Go(func() { s.beat(background) })
	helpers.Go(func() { s.syncer.run(background) })
	helpers.Go(func() { s.watch(background) })
	helpers.Go(func() { s.announcer.run(background) })
	helpers.Go(func() { s.facts.run(background) })
	helpers.Go(func() { (&definitionNotes{Scheduler: s}).run(background) })
	helpers.Go(func() { s.sendReports(background) })
	helpers.Go(func() { s.receiveReports(background) })
	helpers.Go(func() { s.admit(background) })
	helpers.Go(func() { s.loader.run(background) })
	helpers.Go(func() { s.repeatOutages(background) })
	helpers.Go(func() {
		select {
		case <-s.life.stop:
			stop()
		case <-background.Done():
		}
	})

	s.loop(ctx)
	s.stopping.Store(true)
	s.news.publish()
	s.sendLeaving()
	s.announcer.wanted.Set()
	close(s.stopped)
	stopLeading(ErrStopping) // they would never end by themselves
	s.queue.Serving.Wait()
	err := s.drain()
	s.permits.end()
	s.renewer.Close()
	stopBackground()
	helpers.Wait()
	s.calls.Close()
	s.observers.flush()
	return err
}

// loop queues contenders when their timers fire.
func (s *Scheduler) loop(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	var due []*admission.Slot[*contender]
	for ctx.Err() == nil {
		var next int64
		now := s.clock.Ms()
		due, next = s.timers.Due(now, due)
		s.queue.Add(stillDue(due, now))
		if next != 0 && next <= now {
			continue // there are more
		}
		// A second at most, so that a step of fleet time is noticed.
		wait := time.Second
		if next != 0 {
			wait = min(wait, time.Duration(next*int64(time.Millisecond)-s.clock.Nanos()))
		}
		timer.Reset(wait)
		select {
		case <-ctx.Done():
		case <-timer.C:
		case <-s.timers.Wake:
		}
	}
}

// drain waits for runs to end, and cancels those that take too long.
func (s *Scheduler) drain() error {
	stuck := false
	if !s.working.Wait(s.grace, s.life.cut) {
		s.stopRuns(ErrStopping)
		stuck = !s.working.Wait(stopLimit, nil)
	}
	if !stuck && s.ending.Wait(endLimit, nil) {
		return nil
	}
	s.stopEnds(ErrStopping) // the store notices runs that are not settled by now when their leases run out
	if !stuck {
		s.ending.Wait(time.Second, nil)
		return nil
	}
	return &StuckError{Jobs: s.jobs.Load().working()}
}

// request returns an id that no other request of the fleet has.
func (s *Scheduler) request() string {
	var buffer [32]byte
	id := append(append(buffer[:0], s.epoch...), '-')
	return string(strconv.AppendUint(id, s.requests.Add(1), 36))
}

const (
	// verifyEvery is how often the records of ticks that wait for room are read, because others may
	// have run those ticks.
	verifyEvery = time.Second
	// verifyAtOnce bounds how many are read each time.
	verifyAtOnce = 64
	// freeAfter is how long no tick may wait for room before the replica counts as having some.
	// Otherwise many short waits would each send an event.
	freeAfter = 10 * time.Second
)

// admit offers freed room to waiters and reports when the replica or the store is overloaded, until
// ctx ends.
func (s *Scheduler) admit(ctx context.Context) {
	ticker := time.NewTicker(verifyEvery)
	defer ticker.Stop()
	var full, slow spell
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.capacity.Freed:
			for w := s.capacity.Offer(); w != nil; w = s.capacity.Offer() {
				w.Wake()
			}
		case <-ticker.C:
			for _, w := range s.capacity.First(verifyAtOnce) {
				w.Verify()
			}
			now, state := time.Now(), s.Capacity()
			switch began, lasted := full.see(now, state.Waiting > 0); {
			case began:
				s.observe(CapacityChanged{Capacity: state, Full: true})
			case lasted > 0:
				s.observe(CapacityChanged{Capacity: state, Lasted: lasted})
			}
			at, waited := s.inflight.Delays()
			switch began, lasted := slow.see(now, now.Sub(at) <= verifyEvery); {
			case began:
				s.observe(StoreLoadChanged{Overloaded: true, InFlight: s.inflight.Current(), Waiting: s.queue.Waiting(), Waited: waited})
			case lasted > 0:
				s.observe(StoreLoadChanged{Lasted: lasted})
			}
		}
	}
}

// spell is a period in which a condition keeps returning.
type spell struct{ since, last time.Time }

// see records whether the condition holds. It reports that a spell has begun, or how long it lasted
// once the condition has not held for freeAfter.
func (p *spell) see(now time.Time, is bool) (began bool, lasted time.Duration) {
	switch {
	case is && p.since.IsZero():
		p.since, p.last = now, now
		return true, 0
	case is:
		p.last = now
	case !p.since.IsZero() && now.Sub(p.last) >= freeAfter:
		lasted = max(p.last.Sub(p.since), verifyEvery)
		p.since = time.Time{}
	}
	return false, lasted
}

// Capacity is how much a replica runs, and how much it may run.
type Capacity struct {
	MaxRuns int // the weight of jobs that it runs at a time; 0: no limit
	Used    int // the weight of its runs, and of claims whose answer is not known yet
	Waiting int // how many jobs have a tick that is due and that it has no room for; others may have
}

// Capacity returns how much this replica runs now, and how much it may run.
func (s *Scheduler) Capacity() Capacity {
	used, waiting := s.capacity.Load()
	return Capacity{MaxRuns: s.capacity.Max, Used: used, Waiting: waiting}
}
