package scheduler

import (
	"github.com/solotick/solotick/scheduler/internal/admission"
	"github.com/solotick/solotick/scheduler/internal/clock"
	"github.com/solotick/solotick/scheduler/internal/job"
	"github.com/solotick/solotick/scheduler/internal/membership"
	"github.com/solotick/solotick/scheduler/internal/plan"
	"github.com/solotick/solotick/scheduler/internal/reports"
	"github.com/solotick/solotick/scheduler/internal/runs"
	"github.com/solotick/solotick/scheduler/internal/storehealth"

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
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease"
)

// Scheduler runs jobs as one replica of a fleet. Make one with [New]; it is safe for concurrent
// use.
type Scheduler struct {
	store     lease.Store
	namespace string
	replica   string
	ttl       time.Duration
	grace     time.Duration
	observers *observers
	observe   func(Event) // of observers
	observed  bool        // somebody wants every event, not the failures only

	clock   *clock.Clock
	trust   *clock.Trust
	health  *storehealth.Health
	contact *storehealth.Contact
	timers  *admission.Timers[*contender]
	queue   *admission.Queue[*contender]
	calls   *storehealth.Timeout
	renewer *lease.Renewer
	peers   *membership.Peers
	feed    *feed

	inquiries *reports.Inquiries

	sets *heartbeat.JobSets

	self *job.Replica // as its jobs know it

	capacity *admission.Capacity
	inflight *admission.Inflight

	groups   []string
	version  string
	module   string
	wrappers []chain.Wrapper

	updating   sync.Mutex
	registry   *jobs.Registry // all jobs, those of other groups too; guarded by updating
	common     plan.Common    // guarded by updating
	jobs       atomic.Pointer[jobSet]
	announces  chan struct{} // of size 1: a heartbeat is to be sent now
	looks      chan struct{} // of size 1: the store's clock is to be looked at now
	firstLooks chan struct{} // of size 1: full while a look decides whether the clock is trusted at the start, which asks the store
	seen       FleetSeen     // the last
	seenBy     *jobSet       // what it was made for, with these members; nil where others may make a difference
	seenKinds  map[memberKind]bool
	living     atomic.Int32 // replicas that were seen last
	facts      *facts
	failing    runs.Failing
	instances  membership.Instances  // of this replica's id
	heartbeats membership.Heartbeats // of the members
	offset     time.Duration         // of the clock, as the last heartbeat said it
	lookedAt   atomic.Int64          // when the store last said its time, a reading of clock.local + 1; 0 before the first time
	processes  int                   // as ReplicaShared said last

	life     *life
	stopping atomic.Bool
	stopped  chan struct{} // closed with it: no attempt begins any more
	requests atomic.Uint64
	epoch    string // distinguishes the requests of this Scheduler from those of others

	runs, ends         context.Context // the parents of leases, and of settling
	stopRuns, stopEnds context.CancelCauseFunc
	leads              context.Context // the parent of leader tasks; nil before Run; guarded by updating
	syncs              chan struct{}   // of size 1: someone has no record
	ready              atomic.Bool
	news               news // of readiness

	working runs.Count // handlers that run
	ending  runs.Count // runs, until the store was notified of their end

	mu     sync.Mutex
	since  time.Time            // since when the store remembers
	unread map[string]time.Time // errors of records that cannot be read, and when an event said so
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
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}

	observed := len(o.observe) > 0
	if !observed {
		o.observe = []func(Event){logFailures()}
	}
	s := &Scheduler{
		store: store, life: newLife(), namespace: store.Namespace(), replica: o.replica, ttl: o.ttl, grace: o.grace,
		observers: newObservers(o.sync, o.observe),
		observed:  observed || len(o.sync) > 0,
		timers:    admission.NewTimers[*contender](), calls: storehealth.NewTimeout(max(min(o.ttl/4, time.Second), 50*time.Millisecond)),
		epoch: strings.ToLower(rand.Text()[:10]), syncs: make(chan struct{}, 1), stopped: make(chan struct{}),
		capacity: admission.NewCapacity(o.maxRuns), inflight: admission.NewInflight(o.ttl),
		wrappers: o.wrap, groups: groupsOf(o.groups), version: o.version, module: o.module, announces: make(chan struct{}, 1), heartbeats: membership.Heartbeats{}, looks: make(chan struct{}, 1), firstLooks: make(chan struct{}, 1),
	}
	s.queue = admission.NewQueue[*contender](s.inflight, o.ttl)
	s.observe = s.observers.observe
	s.jobs.Store(newJobSet())
	s.contact = storehealth.NewContact(o.ttl)
	s.clock, s.trust, s.health = clock.New(), clock.NewTrust(o.ttl), storehealth.New(s.storeChanged, store.Hint)
	s.facts, s.health.Back = newFacts(), s.storeIsBack
	s.peers, s.feed = membership.NewPeers(o.replica, wire.MissedHeartbeats*wire.HeartbeatInterval(o.ttl)), newFeed()
	s.inquiries = reports.NewInquiries(s.epoch, o.ttl)
	s.sets = heartbeat.NewJobSets(store)
	s.renewer = lease.NewRenewer(store)
	s.renewer.Observe(s.renewed)
	s.self = &job.Replica{
		ID: s.replica, TTL: s.ttl, Peers: s.peers, Request: s.request, MaxStep: s.trust.Limit, Reporting: reportedWithin, Answering: s.inquiries.Time,
		Sync: s.wantSync, Ask: s.inquire, Report: s.report, Wait: s.takeoverWait,
	}
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

// JobStatus is this replica's knowledge of a job.
type JobStatus struct {
	Name      string
	Next      time.Time // the next tick that is not decided; zero when there is none, or before the store has answered
	Watermark time.Time // every tick up to it is decided; zero before the store has answered
	Leader    bool      // it is a leader task, which has no ticks
	Leads     bool      // and this replica runs it
	// Overdue is for how long a tick that neither runs nor is settled has been late, by the
	// schedule, the job's jitter and its misfire grace. It grows while the store is away and while
	// no replica has room. It is 0 if the next tick is paused or waits for one that runs, and for a
	// leader task.
	Overdue time.Duration
	// LastSuccess and LastFailure are when a tick was last settled as succeeded and as failed, by
	// fleet time, as far as this replica knows. The newer of the two is in the record.
	LastSuccess, LastFailure time.Time
	// FailingSince is since when attempts of a run by this replica fail, two in a row or more, of a
	// leader task too. It is zero once an attempt has run for 5 min and for two of the longest
	// waits of its retry policy.
	FailingSince time.Time
}

// Jobs returns the jobs that this replica contends for, sorted by name.
func (s *Scheduler) Jobs() []JobStatus {
	set := s.jobs.Load()
	list := make([]JobStatus, 0, len(set.contenders)+len(set.leaders))
	failing := s.failing.Since(s.clock.Now())
	for _, c := range set.contenders {
		status := JobStatus{Name: c.Name, FailingSince: failing[c.Name]}
		c.mu.Lock()
		status.LastSuccess, status.LastFailure = wire.FromMilli(c.Ended.Success), wire.FromMilli(c.Ended.Failure)
		if next := c.Next(); next != 0 {
			status.Next = time.UnixMilli(next).UTC()
		}
		if watermark := c.Watermark(); watermark != 0 {
			status.Watermark = time.UnixMilli(watermark).UTC()
		}
		now, known := s.clock.Ms(), s.clock.MsAt(*c.KnownSince)
		if s.lookedAt.Load() == 0 { // the store has never said its time: this machine's has to do
			now, known = time.Now().UnixMilli(), c.KnownSince.UnixMilli()
		}
		status.Overdue = time.Duration(c.Overdue(now, known)) * time.Millisecond
		c.mu.Unlock()
		list = append(list, status)
	}
	for _, l := range set.leaders {
		name := l.job.Name()
		list = append(list, JobStatus{Name: name, Leader: true, Leads: l.leads.Load(), FailingSince: failing[name]})
	}
	slices.SortFunc(list, func(a, b JobStatus) int { return strings.Compare(a.Name, b.Name) })
	return list
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
	helpers.Go(func() { s.sync(background) })
	helpers.Go(func() { s.watch(background) })
	helpers.Go(func() { s.sendHeartbeats(background) })
	helpers.Go(func() { s.writeFacts(background) })
	helpers.Go(func() { s.noteDefinitions(background) })
	helpers.Go(func() { s.sendReports(background) })
	helpers.Go(func() { s.receiveReports(background) })
	helpers.Go(func() { s.admit(background) })
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
	s.wantAnnounce()
	close(s.stopped)
	stopLeading(ErrStopping) // they would never end by themselves
	s.queue.Serving.Wait()
	err := s.drain()
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

func (s *Scheduler) contending() bool { return !s.stopping.Load() }

// request returns an id that no other request of the fleet has.
func (s *Scheduler) request() string {
	var buffer [32]byte
	id := append(append(buffer[:0], s.epoch...), '-')
	return string(strconv.AppendUint(id, s.requests.Add(1), 36))
}

// renewed records a round of renewals.
func (s *Scheduler) renewed(r lease.Renewal) {
	if r.Took > 0 {
		s.answered(storehealth.Renewals, r.Took, r.Err)
	}
	s.observe(Renewed{r})
}
