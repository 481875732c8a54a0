package sologocron_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-co-op/gocron/v2"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/contrib/sologocron"
	"github.com/solotick/solotick/lease/memlease"
	"github.com/solotick/solotick/solotest/processes"
)

// A tick is due each second, its job works for most of it, and a replica that is late by more than
// late does not take part: the old lock, which is deleted with the end of the job, would let it run
// the tick again.
const (
	work = 700 * time.Millisecond
	late = 300 * time.Millisecond
)

// redsyncLocker gives gocron a lock of redsync, as services do: it tries once.
type redsyncLocker struct{ *redsync.Redsync }

func (l redsyncLocker) Lock(ctx context.Context, key string) (gocron.Lock, error) {
	m := l.NewMutex(key, redsync.WithTries(1), redsync.WithExpiry(30*time.Second))
	if err := m.LockContext(ctx); err != nil {
		return nil, err
	}
	return redsyncLock{m}, nil
}

type redsyncLock struct{ *redsync.Mutex }

func (l redsyncLock) Unlock(ctx context.Context) error {
	_, err := l.UnlockContext(ctx)
	return err
}

// punctual is a Locker that knows which tick it has locked.
type punctual struct {
	gocron.Locker
	tick atomic.Int64
}

func (p *punctual) Lock(ctx context.Context, key string) (gocron.Lock, error) {
	tick := time.Now().Truncate(time.Second)
	held, err := p.Locker.Lock(ctx, key)
	if err == nil && time.Since(tick) > late {
		err = errors.Join(errors.New("late"), held.Unlock(ctx))
	}
	if err != nil {
		return nil, err
	}
	p.tick.Store(tick.Unix())
	return held, nil
}

func lockerOf(r *processes.Replica) (gocron.Locker, error) {
	old := redsyncLocker{redsync.New(goredis.NewPool(r.Client()))}
	options := []sologocron.Option{sologocron.WithSchedule("job", "* * * * * *", "UTC"), sologocron.WithHolder(r.ID())}
	switch {
	case strings.HasPrefix(r.ID(), "old"):
		return old, nil
	case strings.HasPrefix(r.ID(), "bridge"):
		options = append(options, sologocron.WithBridge(old))
	}
	return sologocron.NewLocker(r.Store(), options...)
}

// serve runs gocron with the Locker of the replica's release.
func serve(ctx context.Context, r *processes.Replica) error {
	inner, err := lockerOf(r)
	if err != nil {
		return err
	}
	locker := &punctual{Locker: inner}
	s, err := gocron.NewScheduler(gocron.WithDistributedLocker(locker), gocron.WithLocation(time.UTC))
	if err != nil {
		return err
	}
	task := func() error {
		tick := fmt.Sprint(locker.tick.Load())
		time.Sleep(work)
		return r.Write(context.Background(), 0, tick)
	}
	_, err = s.NewJob(gocron.CronJob("* * * * * *", true), gocron.NewTask(task), gocron.WithName("job"), gocron.WithSingletonMode(gocron.LimitModeReschedule))
	if err != nil {
		return err
	}
	s.Start()
	<-ctx.Done()
	return s.Shutdown()
}

func TestARollingDeployRunsNothingTwice(t *testing.T) {
	processes.Run(t, 0, func(r *processes.Replica) {
		r.Run(func(ctx context.Context) error { return serve(ctx, r) })
	}, func(f *processes.Fleet) {
		more := func() { f.Gate().AwaitWrites(len(f.Gate().Effects()) + 1) }
		f.Start("old-1", "old-2")
		more()
		f.Start("bridge-1")
		more()
		f.Stop("old-1")
		f.Start("bridge-2")
		f.Stop("old-2")
		more()
		f.Start("new-1")
		more()
		f.Stop("bridge-1")
		f.Start("new-2")
		f.Stop("bridge-2")
		more()
		f.Gate().AssertOnce()
		releases := map[string]bool{}
		for _, e := range f.Gate().Effects() {
			release, _, _ := strings.Cut(e.Run.Replica, "-")
			releases[release] = true
		}
		require.True(t, releases["old"] && releases["new"], "%v", releases)
	})
}

// locker is an old Locker that says what it is asked.
type locker struct{ calls []string }

func (l *locker) Lock(_ context.Context, key string) (gocron.Lock, error) {
	l.calls = append(l.calls, "lock "+key)
	if len(l.calls) > 1 {
		return nil, errors.New("an old replica has it")
	}
	return l, nil
}

func (l *locker) Unlock(context.Context) error {
	l.calls = append(l.calls, "unlock")
	return nil
}

func TestABridgeTakesBothLocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, old := new(memlease.Store), new(locker)
		bridge, err := sologocron.NewLocker(store, sologocron.WithBridge(old), sologocron.WithGrain(time.Minute), sologocron.WithHolder("a"))
		require.NoError(t, err)
		defer bridge.Close()
		other, err := sologocron.NewLocker(store, sologocron.WithGrain(time.Minute), sologocron.WithHolder("b"))
		require.NoError(t, err)
		defer other.Close()

		held, err := bridge.Lock(t.Context(), "job")
		require.NoError(t, err)
		require.NoError(t, held.Unlock(t.Context()))
		time.Sleep(time.Minute)
		_, err = bridge.Lock(t.Context(), "job")
		require.ErrorIs(t, err, sologocron.ErrNotMine)
		require.ErrorContains(t, err, "an old replica has it")
		_, err = other.Lock(t.Context(), "job")
		require.ErrorIs(t, err, sologocron.ErrNotMine, "the old replica runs the tick")
		require.Equal(t, []string{"lock job", "unlock", "lock job"}, old.calls)
	})
}
