// Command replica is one process of a fleet that one of several libraries makes. It runs a job
// every two seconds. The job works for a while, then writes to a Redis of its own, the resource.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"maps"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-co-op/gocron/v2"
	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
	"github.com/robfig/cron/v3"

	"github.com/solotick/solotick"
	"github.com/solotick/solotick/contrib/sologocron"
	"github.com/solotick/solotick/fence/redisfence"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease/redislease"
	"github.com/solotick/solotick/scheduler"
)

// The schedule, and how long a lock or a lease lasts: longer than the job works.
const (
	spec   = "*/2 * * * * *"
	period = 2 * time.Second
	ttl    = 3 * time.Second
)

// systems are the libraries to compare, each used as its own documents recommend.
var systems = map[string]func(ctx context.Context, r *replica) error{
	"robfig":            robfig,
	"robfig+redislock":  robfigRedislock,
	"gocron+redsync":    gocronRedsync,
	"gocron+sologocron": gocronSologocron,
	"solotick":          runSolotick,
}

type replica struct {
	client   redis.UniversalClient // where locks and leases are
	resource redis.UniversalClient
	work     time.Duration
}

func main() {
	system := flag.String("system", "", "one of "+fmt.Sprint(slices.Sorted(maps.Keys(systems))))
	locks := flag.String("redis", "", "address of the Redis of locks and leases")
	resource := flag.String("resource", "", "address of the Redis that the job writes to")
	work := flag.Duration("work", 0, "how long the job works before it writes")
	flag.Parse()
	run, ok := systems[*system]
	if !ok {
		log.Fatalf("system: %q must be one of %v", *system, slices.Sorted(maps.Keys(systems)))
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	r := &replica{client: client(*locks), resource: client(*resource), work: *work}
	if err := run(ctx, r); err != nil {
		fmt.Fprintln(os.Stderr, *system+":", err)
		os.Exit(1)
	}
}

func client(addr string) redis.UniversalClient { return redis.NewClient(&redis.Options{Addr: addr}) }

// tick is the present tick for a library that has none: the nearest one by the replica's clock.
func tick() time.Time { return time.Now().Round(period) }

// job works, and then writes that the tick was done.
func (r *replica) job(tick time.Time) error {
	time.Sleep(r.work)
	return r.resource.RPush(context.Background(), "writes", tick.Unix()).Err()
}

// try is the job of a library that has neither ticks nor errors.
func (r *replica) try() {
	if err := r.job(tick()); err != nil {
		log.Println(err)
	}
}

func robfig(ctx context.Context, r *replica) error {
	return robfigWith(ctx, r.try)
}

func robfigWith(ctx context.Context, job func()) error {
	c := cron.New(cron.WithSeconds(), cron.WithChain(cron.SkipIfStillRunning(cron.DiscardLogger)))
	if _, err := c.AddFunc(spec, job); err != nil {
		return err
	}
	c.Start()
	<-ctx.Done()
	<-c.Stop().Done()
	return nil
}

// robfigRedislock takes the lock without waiting, and releases it when the job is done, as the
// README of redislock does.
func robfigRedislock(ctx context.Context, r *replica) error {
	locker := redislock.New(r.client)
	return robfigWith(ctx, func() {
		ctx := context.Background()
		lock, err := locker.Obtain(ctx, "job", ttl, nil)
		if err != nil {
			return // another replica holds it
		}
		defer func() { _ = lock.Release(ctx) }()
		r.try()
	})
}

// redsyncLocker is a gocron.Locker on redsync. It tries once, as gocron's page about locks says.
type redsyncLocker struct{ *redsync.Redsync }

func (l redsyncLocker) Lock(ctx context.Context, key string) (gocron.Lock, error) {
	m := l.NewMutex(key, redsync.WithTries(1), redsync.WithExpiry(ttl))
	if err := m.LockContext(ctx); err != nil {
		return nil, err
	}
	return redsyncLock{m}, nil
}

type redsyncLock struct{ *redsync.Mutex }

func (l redsyncLock) Unlock(ctx context.Context) error {
	_, err := l.UnlockContext(context.WithoutCancel(ctx))
	return err
}

func gocronRedsync(ctx context.Context, r *replica) error {
	return gocronWith(ctx, r, redsyncLocker{redsync.New(redsyncredis.NewPool(r.client))})
}

func gocronSologocron(ctx context.Context, r *replica) error {
	store, err := redislease.New(r.client, "compare")
	if err != nil {
		return err
	}
	locker, err := sologocron.NewLocker(store, sologocron.WithSchedule("job", spec, "UTC"), sologocron.WithTTL(ttl))
	if err != nil {
		return err
	}
	defer locker.Close()
	return gocronWith(ctx, r, locker)
}

func gocronWith(ctx context.Context, r *replica, locker gocron.Locker) error {
	s, err := gocron.NewScheduler(gocron.WithDistributedLocker(locker), gocron.WithLocation(time.UTC))
	if err != nil {
		return err
	}
	_, err = s.NewJob(gocron.CronJob(spec, true), gocron.NewTask(r.try), gocron.WithName("job"), gocron.WithSingletonMode(gocron.LimitModeReschedule))
	if err != nil {
		return err
	}
	s.Start()
	<-ctx.Done()
	return s.Shutdown()
}

func runSolotick(ctx context.Context, r *replica) error {
	fenced, err := redisfence.NewCommands()
	if err != nil {
		return err
	}
	s := solotick.New(r.client, "compare", solotick.WithScheduler(scheduler.WithTTL(ttl)))
	_ = s.Func("job", spec, func(ctx context.Context, run solotick.Run) error {
		select {
		case <-time.After(r.work):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		_, err := fenced.Do(ctx, r.resource, run.Token, []string{"writes"}, []any{"RPUSH", "writes", run.Tick.Unix()})
		return err
	}, jobs.WithOverlap(jobs.Queue)) // a tick that is due while a dead replica's run is taken over waits
	return s.Run(ctx)
}
