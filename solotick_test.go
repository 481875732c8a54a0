package solotick_test

import (
	"bytes"
	"context"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/solotick/solotick"
	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease/memlease"
	"github.com/solotick/solotick/lease/redislease"
	"github.com/solotick/solotick/scheduler"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// ticks counts the runs of each tick.
type ticks struct {
	mu   sync.Mutex
	runs map[time.Time]int
}

func (c *ticks) handle(_ context.Context, run solotick.Run) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.runs == nil {
		c.runs = map[time.Time]int{}
	}
	c.runs[run.Tick]++
	return nil
}

func (c *ticks) number() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.runs)
}

func quiet() solotick.Option { return solotick.WithLogger(slog.New(slog.DiscardHandler)) }

func TestThreeReplicasRunEachTickOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(t.Context(), time.Hour+time.Minute/2)
		defer stop()
		store, seen := new(memlease.Store), new(ticks)
		var replicas sync.WaitGroup
		for range 3 {
			s := solotick.On(store, quiet())
			require.NoError(t, s.Func("minutely", "* * * * *", seen.handle))
			replicas.Go(func() { require.NoError(t, s.Run(ctx)) })
		}
		replicas.Wait()
		require.Len(t, seen.runs, 60)
		for tick, runs := range seen.runs {
			require.Equal(t, 1, runs, "runs of %s", tick)
		}
	})
}

func TestRedisRunsEachTickOnce(t *testing.T) {
	server := redistest.Start(t)
	seen := new(ticks)
	var all []*solotick.Scheduler
	for range 2 {
		client := redis.NewClient(&redis.Options{Addr: server.Addr()})
		t.Cleanup(func() { require.NoError(t, client.Close()) })
		s := solotick.New(client, "billing", quiet(), solotick.WithRedis(redislease.WithTimeout(time.Second)))
		require.NoError(t, s.Func("often", "@every 1s", seen.handle))
		require.NoError(t, s.Start())
		all = append(all, s)
	}
	for _, s := range all {
		require.NoError(t, s.WaitReady(t.Context()))
		require.Eventually(t, s.Ready, 10*time.Second, 10*time.Millisecond)
	}
	require.Eventually(t, func() bool { return seen.number() >= 3 }, 30*time.Second, 10*time.Millisecond)
	for _, s := range all {
		require.NoError(t, s.Shutdown(t.Context()))
		require.NoError(t, s.Shutdown(t.Context()), "again")
	}
	for tick, runs := range seen.runs {
		require.Equal(t, 1, runs, "runs of %s", tick)
	}
}

func TestStartReturnsAllFaultsAtOnce(t *testing.T) {
	s := solotick.New(nil, "no spaces", nil, solotick.WithScheduler(scheduler.WithTTL(time.Millisecond)))
	require.Error(t, s.Func("bad name", "* * * * *", func(context.Context, solotick.Run) error { return nil }))
	require.Error(t, s.Func("report", "61 * * * *", func(context.Context, solotick.Run) error { return nil }))
	require.Error(t, s.Func("nothing", "@hourly", nil))
	require.Nil(t, s.Store())
	_, err := s.Trigger(t.Context(), "report", "ops")
	require.ErrorContains(t, err, "there is no store")
	require.ErrorContains(t, s.WaitReady(t.Context()), "call Start before")
	for _, err := range []error{s.Start(), s.Run(t.Context())} {
		for _, want := range []string{"options[0]", "client", "no spaces", "bad name", "61", "nothing", "1ms"} {
			require.ErrorContains(t, err, want)
		}
	}
	require.NoError(t, s.Shutdown(t.Context()))
}

func TestOnRefusesOptionsOfRedis(t *testing.T) {
	s := solotick.On(new(memlease.Store), solotick.WithRedis(redislease.WithTimeout(time.Second)))
	require.ErrorContains(t, s.Start(), "WithRedis")
	require.NoError(t, s.Shutdown(t.Context()))
	require.Error(t, solotick.On(nil).Start())
}

func TestJobsComeAndGoWhileRunning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := solotick.On(new(memlease.Store), quiet())
		require.NoError(t, s.Start())
		require.NoError(t, s.WaitReady(t.Context()))
		first, second := new(ticks), new(ticks)
		require.NoError(t, s.Func("tenant-7", "@every 1s", first.handle))
		require.Error(t, s.Func("tenant-7", "@every 1s", first.handle), "the name is taken")
		time.Sleep(5*time.Second + time.Second/2)
		require.NotZero(t, first.number())

		job, err := jobs.New("tenant-7", "@every 1s", second.handle)
		require.NoError(t, err)
		s.Replace(job)
		before := first.number()
		time.Sleep(5 * time.Second)
		require.LessOrEqual(t, first.number(), before+1, "the run under way goes on")
		require.NotZero(t, second.number())

		require.True(t, s.Remove("tenant-7"))
		require.False(t, s.Remove("tenant-7"), "it is gone")
		synctest.Wait()
		before = second.number()
		time.Sleep(10 * time.Second)
		require.Equal(t, before, second.number())
		require.NoError(t, s.Shutdown(t.Context()))
	})
}

func TestATriggerRunsAJobOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, seen := solotick.On(new(memlease.Store), quiet()), new(ticks)
		require.NoError(t, s.Func("report", "0 2 1 1 *", seen.handle))
		require.NoError(t, s.Start())
		require.NoError(t, s.WaitReady(t.Context()))
		got, err := s.Trigger(t.Context(), "report", "ops")
		require.NoError(t, err)
		f, err := s.Fleet()
		require.NoError(t, err)
		_, err = f.Await(t.Context(), "report", got.Tick)
		require.NoError(t, err)
		require.Equal(t, 1, seen.number())

		first, err := s.Trigger(t.Context(), "report", "ops", solotick.WithKey("k", time.Hour), solotick.WithPayload("a"))
		require.NoError(t, err)
		again, err := s.Trigger(t.Context(), "report", "ops", solotick.WithKey("k", time.Hour), solotick.WithPayload("a"))
		require.NoError(t, err)
		require.Equal(t, first.ID, again.ID)
		_, err = s.Trigger(t.Context(), "report", "ops", solotick.WithKey("k", time.Hour), solotick.WithPayload("b"))
		require.ErrorIs(t, err, fleet.ErrPayloadDiffers)
		_, err = s.Trigger(t.Context(), "report", "ops", nil)
		require.ErrorContains(t, err, "options[0]")
		require.NoError(t, s.Shutdown(t.Context()))
	})
}

func TestTheFleetSharesLimits(t *testing.T) {
	store := new(memlease.Store)
	a, b := solotick.On(store, quiet()), solotick.On(store, quiet())
	d, err := a.Limits().Window("codes", 2, time.Hour).AllowN(t.Context(), 2)
	require.NoError(t, err)
	require.True(t, d.Allowed)
	d, err = b.Limits().Window("codes", 2, time.Hour).Allow(t.Context())
	require.NoError(t, err)
	require.False(t, d.Allowed)
	_, err = solotick.New(nil, "billing").Limits().Window("codes", 2, time.Hour).Allow(t.Context())
	require.ErrorContains(t, err, "store: nil")
	require.NoError(t, a.Shutdown(t.Context()))
	require.NoError(t, b.Shutdown(t.Context()))
}

func TestTheFleetSharesLocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(memlease.Store)
		a, b := solotick.On(store, quiet()), solotick.On(store, quiet())
		hold, err := a.Locks().Mutex("stock").Acquire(t.Context())
		require.NoError(t, err)
		short, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		_, err = b.Locks().Mutex("stock").Acquire(short)
		require.Error(t, err)
		require.NoError(t, hold.Release(t.Context()))
		require.NoError(t, a.Shutdown(t.Context()))
		require.NoError(t, b.Shutdown(t.Context()))
	})
}

func TestASchedulerStartsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := solotick.On(new(memlease.Store), quiet())
		require.False(t, s.Ready())
		require.NoError(t, s.Start())
		require.ErrorContains(t, s.Start(), "started before")
		require.NoError(t, s.Shutdown(t.Context()))
		never := solotick.On(new(memlease.Store), quiet())
		require.NoError(t, never.Shutdown(t.Context()))
		require.ErrorContains(t, never.Run(t.Context()), "Shutdown was called before")
	})
}

func TestAStoreThatIsAwayIsLogged(t *testing.T) {
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	logged := new(syncBuffer)
	s := solotick.New(client, "billing", solotick.WithLogger(slog.New(slog.NewTextHandler(logged, nil))))
	require.NoError(t, s.Start())
	require.Eventually(t, func() bool { return bytes.Contains(logged.bytes(), []byte("127.0.0.1:1")) }, 20*time.Second, 10*time.Millisecond)
	require.NoError(t, s.Shutdown(t.Context()))
}

type syncBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *syncBuffer) bytes() []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	return bytes.Clone(b.text.Bytes())
}

// No notification reaches a replica of a trigger that came before it subscribed.
func TestATriggerRightAfterTheStartIsRun(t *testing.T) {
	for range 50 {
		s, done := solotick.On(new(memlease.Store), quiet()), make(chan struct{}, 1)
		require.NoError(t, s.Func("report", "0 2 1 1 *", func(context.Context, solotick.Run) error { done <- struct{}{}; return nil }))
		require.NoError(t, s.Start())
		require.NoError(t, s.WaitReady(t.Context()))
		_, err := s.Trigger(t.Context(), "report", "ops")
		require.NoError(t, err)
		select {
		case <-done:
		case <-time.After(30 * time.Second):
			require.Fail(t, "the trigger was not noticed")
		}
		require.NoError(t, s.Shutdown(t.Context()))
	}
}
