// Package sologocron lets go-co-op/gocron run each tick on one replica of a fleet: a Locker that
// remembers which ticks were run, and an Elector.
//
//	locker, err := sologocron.NewLocker(store, sologocron.WithSchedule("invoices", "*/5 * * * *", "UTC"))
//	...
//	defer locker.Close()
//	s, err := gocron.NewScheduler(gocron.WithDistributedLocker(locker))
//
// gocron calls a Locker with nothing but the job's name, when its own clock says that the job is
// due. It releases the lock when the job ends. A lock that is deleted then is free for a replica
// whose clock is late, or that started later: it runs the job again.
//
// This Locker holds the job while it runs, on one replica at a time, and then remembers the run. A
// call is refused when another replica has run the job since this replica's call before it. So
// replicas that start apart, or whose clocks differ, run a job once a period, whatever kind of job
// it is. When the replica that runs it goes, another one does, at most a period later.
// [WithSchedule] makes the tick itself what is claimed, by the store's clock.
//
// For the same reason, a job's RunNow is refused on a replica that does not run the job at present.
//
// What a Locker cannot give, and package scheduler does:
//
//   - The job's context does not end when the lease is lost, since gocron has made it before.
//     Unlock then returns an error, which gocron reports to its own monitors only.
//   - The fencing token does not reach the job.
//   - A Locker never learns whether the job failed: every tick is settled as succeeded.
//   - A tick whose replica dies is not taken over, and one that came due while no replica lived is
//     not caught up.
package sologocron

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/go-co-op/gocron/v2"
	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"github.com/solotick/solotick/internal/naming"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/jobs/schedule"
	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/redislease"
	"github.com/solotick/solotick/lock"
)

// ErrNotMine is matched by the error of [Locker.Lock] when another replica runs the tick, or has
// run it. gocron skips the job then.
var ErrNotMine = errors.New("sologocron: another replica runs this tick, or has run it")

// Locker is a gocron.Locker over a store of leases. It is safe for concurrent use.
type Locker struct {
	store     lease.Store
	own       *redislease.Store // the same, when [NewRedisLocker] has made it
	renewer   *lease.Renewer
	holder    string
	ttl       time.Duration
	grain     time.Duration
	early     time.Duration
	schedules map[string]*schedule.Schedule
	old       gocron.Locker // nil without a bridge
	made      time.Time

	mu    sync.Mutex
	calls map[string]time.Time // the last one for each job without a schedule
}

type settings struct {
	old       gocron.Locker
	holder    string
	ttl       time.Duration
	grain     time.Duration
	early     time.Duration
	schedules map[string]*schedule.Schedule
	faults    []error
}

// Option changes a default of [NewLocker].
type Option func(*settings)

// WithSchedule says when the job of that name is due, as gocron.CronJob does, or @every 5m, which
// is aligned to the Unix epoch. Replicas whose clocks are wrong by less than half a period then
// agree on the tick. The time zone is a name such as UTC or Europe/Berlin.
func WithSchedule(job, spec, zone string) Option {
	return func(s *settings) {
		// Only the schedule counts, so the job's name and its handler are placeholders.
		j, err := jobs.New("job", spec, func(context.Context, jobs.Run) error { return nil }, jobs.WithTimezone(zone))
		if err != nil {
			s.faults = append(s.faults, fmt.Errorf("sologocron: %q: %w", job, err))
			return
		}
		s.schedules[job] = j.Schedule()
	}
}

// WithGrain is for jobs without a schedule: the clocks of replicas may differ by less than half of
// it while replicas start. Set it to the period of the jobs when clocks are that wrong. From 1 ms;
// the default is 1 s.
func WithGrain(d time.Duration) Option { return func(s *settings) { s.grain = d } }

// WithTTL is how long a lease outlives its replica's last word. From 100 ms to 24 h; the default
// is 15 s.
func WithTTL(d time.Duration) Option { return func(s *settings) { s.ttl = d } }

// WithMaxEarly is how long a replica whose clock is fast waits for a tick's time. A job that is
// called earlier is skipped. From 0; the default is 1 m.
func WithMaxEarly(d time.Duration) Option { return func(s *settings) { s.early = d } }

// WithHolder sets the name of this replica, which matches the pattern of a job's name in package
// jobs. The default is made of the host's name and 8 random characters.
func WithHolder(name string) Option { return func(s *settings) { s.holder = name } }

// WithBridge makes the Locker take the lock of old, too, which is the Locker that the service has
// had before. So replicas with it exclude those that still have the old one alone. They also
// exclude those that have this one without a bridge. It is for a deployment replica by replica: see
// docs/migrate/gocron.md. The old lock is held as long as the job runs. One that is not granted
// makes gocron skip the job: a replica of the old release runs it.
func WithBridge(old gocron.Locker) Option {
	return func(s *settings) {
		s.old = old
		if old == nil {
			s.faults = append(s.faults, errors.New("sologocron: bridge: nil must be a Locker"))
		}
	}
}

// NewLocker makes a Locker. Close it when the scheduler has been shut down. The error joins all
// faults of the arguments.
func NewLocker(store lease.Store, options ...Option) (*Locker, error) {
	set := settings{holder: holderName(), ttl: 15 * time.Second, grain: time.Second, early: time.Minute, schedules: map[string]*schedule.Schedule{}}
	for i, option := range options {
		if option == nil {
			set.faults = append(set.faults, fmt.Errorf("sologocron: options[%d]: nil must be an option", i))
			continue
		}
		option(&set)
	}
	fault := func(ok bool, field string, value any, rule string) {
		if !ok {
			set.faults = append(set.faults, fmt.Errorf("sologocron: %s: %q %s", field, fmt.Sprint(value), rule))
		}
	}
	fault(store != nil, "store", store, "must not be nil")
	fault(naming.Valid(set.holder), "holder", set.holder, naming.Rule)
	fault(set.ttl >= 100*time.Millisecond && set.ttl <= 24*time.Hour, "ttl", set.ttl, "must be from 100ms to 24h")
	fault(set.grain >= time.Millisecond, "grain", set.grain, "must be at least 1ms")
	fault(set.early >= 0, "max early", set.early, "must be at least 0s")
	if err := errors.Join(set.faults...); err != nil {
		return nil, err
	}
	return &Locker{
		store: store, renewer: lease.NewRenewer(store), holder: set.holder, ttl: set.ttl,
		grain: set.grain, early: set.early, schedules: set.schedules, old: set.old,
		made: time.Now(), calls: map[string]time.Time{},
	}, nil
}

// NewRedisLocker is [NewLocker] on the Redis of client, in the fleet that the namespace names:
// services that share a Redis need a namespace each. The client stays the caller's.
func NewRedisLocker(client redis.UniversalClient, namespace string, options ...Option) (*Locker, error) {
	store, err := redislease.New(client, namespace)
	if err != nil {
		return nil, err
	}
	l, err := NewLocker(store, options...)
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	l.own = store
	return l, nil
}

func holderName() string {
	host, _ := os.Hostname()
	if name := host + "-" + uuid.NewString()[:8]; naming.Valid(name) {
		return name
	}
	return "gocron-" + uuid.NewString()[:8]
}

// Close stops renewing leases. Jobs that still run lose theirs.
func (l *Locker) Close() {
	l.renewer.Close()
	if l.own != nil {
		_ = l.own.Close() // nothing is held any more
	}
}

// Lock implements gocron.Locker. It waits for the tick's time when this replica's clock is fast and
// the job has a schedule. Any error makes gocron skip the job: one that matches [ErrNotMine], or one
// of the store.
func (l *Locker) Lock(ctx context.Context, job string) (gocron.Lock, error) {
	held, err := l.claim(ctx, job)
	if errors.Is(err, lease.ErrHeld) || errors.Is(err, lease.ErrDecided) {
		err = fmt.Errorf("%w: %w", ErrNotMine, err)
	}
	if err != nil {
		return nil, fmt.Errorf("sologocron: lock %q: %w", job, err)
	}
	both := tickLock{lease: held}
	if l.old == nil {
		return both, nil
	}
	if both.old, err = l.old.Lock(ctx, job); err != nil {
		// No replica with a bridge runs the tick any more, since one of the old release does.
		skipped := held.Settle(context.WithoutCancel(ctx), protocol.OutcomeSkipped)
		return nil, fmt.Errorf("sologocron: lock %q: the old lock: %w", job, errors.Join(ErrNotMine, err, skipped))
	}
	return both, nil
}

// claim is granted the tick that this call is for.
func (l *Locker) claim(ctx context.Context, job string) (*lease.Lease, error) {
	if s, ok := l.schedules[job]; ok {
		tick, err := l.tick(ctx, s)
		if err != nil {
			return nil, err
		}
		return l.acquire(ctx, nameOf(job), tick.UnixMilli(), tick)
	}
	called := time.Now()
	now, _, err := l.store.Time(ctx)
	if err != nil {
		return nil, err
	}
	return l.acquireNext(ctx, nameOf(job), l.since(job, called, now), now)
}

// acquire is granted a tick unless another one of the job is held.
func (l *Locker) acquire(ctx context.Context, name string, tick int64, notBefore time.Time) (*lease.Lease, error) {
	return l.renewer.Acquire(ctx, lease.Claim{
		Name: name, Tick: tick, Holder: l.holder, TTL: l.ttl, NotBefore: notBefore, NoOverlap: true,
	})
}

// tick is the schedule's tick that is nearest to fleet time; it has come when the error is nil.
func (l *Locker) tick(ctx context.Context, s *schedule.Schedule) (time.Time, error) {
	for began := time.Now(); ; {
		now, _, err := l.store.Time(ctx)
		if err != nil {
			return time.Time{}, err
		}
		tick, err := nearest(s, now)
		if err != nil {
			return time.Time{}, err
		}
		ahead := tick.Sub(now)
		if ahead <= 0 {
			return tick, nil
		}
		if ahead+time.Since(began) > l.early {
			return time.Time{}, fmt.Errorf("the next tick is at %s, which is %s away: this replica's clock is fast, or its schedule differs", tick.Format(time.RFC3339Nano), ahead)
		}
		select {
		case <-time.After(ahead):
		case <-ctx.Done():
			return time.Time{}, context.Cause(ctx)
		}
	}
}

func nearest(s *schedule.Schedule, now time.Time) (time.Time, error) {
	next := s.Next(now)
	last := s.Before(now.Add(time.Nanosecond)) // or now
	switch {
	case next.IsZero() && last.IsZero():
		return time.Time{}, errors.New("its schedule has no ticks")
	case last.IsZero() || !next.IsZero() && next.Sub(now) < now.Sub(last):
		return next, nil
	}
	return last, nil
}

// nameOf is the job's name in the store. gocron's default, a function's, is not a valid one.
func nameOf(job string) string {
	if naming.Valid(job) {
		return job
	}
	return lock.Name(job)
}

// tickLock is a gocron.Lock on one tick.
type tickLock struct {
	lease *lease.Lease
	old   gocron.Lock // nil without a bridge
}

// Unlock settles the tick, so that nobody is granted it again. The error says that the lease was
// lost before.
func (h tickLock) Unlock(ctx context.Context) error {
	err := h.lease.Settle(context.WithoutCancel(ctx), lease.OutcomeSucceeded)
	if h.old != nil {
		err = errors.Join(err, h.old.Unlock(context.WithoutCancel(ctx)))
	}
	return err
}
