package benchmarks

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/benchtest"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/lease/redislease"
	"github.com/solotick/solotick/lock"
)

// BenchmarkPairs is claim + settle of a tick, and acquire + release of a mutex, beside obtain +
// release of the peers, each goroutine on names of its own. Each contestant has a client with
// go-redis' default pool, as its documentation shows; Solotick makes its own from it. It reports
// also what a pair costs each side in processor time, which depends less on how the machine places
// the two.
func BenchmarkPairs(b *testing.B) {
	server := redistest.Start(b)
	for _, goroutines := range []int{1, 16, 256} {
		for _, c := range contestants(b, server.Addr(), goroutines) {
			b.Run(fmt.Sprintf("%s/goroutines=%d", c.Name, goroutines), func(b *testing.B) {
				servers, ours := redisTime(b, server), benchtest.ProcessorTime()
				benchtest.Pairs(b, goroutines, func(ctx context.Context, g int, n int64) error { return c.Pair(ctx, g, int(n)) })
				pairs := float64(b.N)
				b.ReportMetric(float64((benchtest.ProcessorTime()-ours).Microseconds())/pairs, "client-us/pair")
				b.ReportMetric(float64((redisTime(b, server)-servers).Microseconds())/pairs, "redis-us/pair")
			})
		}
	}
}

// redisTime is the processor time that the server has used so far, in user and system mode.
func redisTime(b *testing.B, server *redistest.Server) time.Duration {
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer func() { _ = client.Close() }()
	info, err := client.InfoMap(context.Background(), "cpu").Result()
	require.NoError(b, err)
	total := 0.0
	for _, field := range []string{"used_cpu_sys", "used_cpu_user"} {
		seconds, err := strconv.ParseFloat(info["CPU"][field], 64)
		require.NoError(b, err)
		total += seconds
	}
	return time.Duration(total * float64(time.Second))
}

func contestants(b *testing.B, addr string, goroutines int) []benchtest.Contestant {
	client := func() *redis.Client {
		c := redis.NewClient(&redis.Options{Addr: addr})
		b.Cleanup(func() { _ = c.Close() })
		return c
	}
	const term = 30 * time.Second
	run := strconv.FormatInt(time.Now().UnixNano(), 36)

	store, err := redislease.New(client(), "bench")
	require.NoError(b, err)
	b.Cleanup(func() { _ = store.Close() })
	names := make([]string, goroutines)
	syncs := make([]protocol.Sync, goroutines)
	for i := range names {
		names[i] = "job-" + run + "-" + strconv.Itoa(i)
		syncs[i] = protocol.Sync{Name: names[i], Watermark: 1}
	}
	_, err = store.Sync(context.Background(), syncs)
	require.NoError(b, err)
	var tick atomic.Int64
	tick.Store(time.Now().UnixMilli())

	locks := lock.New(store)
	b.Cleanup(locks.Close)
	mutexes := make([]*lock.Mutex, goroutines)
	for i := range mutexes {
		mutexes[i] = locks.Mutex(names[i], lock.WithTTL(term))
	}
	rueidislocker := newRueidislock(b, addr, term, nil)
	locker := redislock.New(client())
	syncer := redsync.New(redsyncredis.NewPool(client()))

	return []benchtest.Contestant{
		{Name: "solotick", Pair: func(ctx context.Context, w, _ int) error {
			return benchtest.Tick(ctx, store, names[w], tick.Add(1))
		}},
		{Name: "solotick-mutex", Pair: func(ctx context.Context, w, _ int) error {
			h, err := mutexes[w].Acquire(ctx)
			if err != nil {
				return err
			}
			return h.Release(ctx)
		}},
		{Name: "redislock", Pair: func(ctx context.Context, w, _ int) error {
			l, err := locker.Obtain(ctx, "redislock:"+names[w], term, nil)
			if err != nil {
				return err
			}
			return l.Release(ctx)
		}},
		{Name: "redsync", Pair: func(ctx context.Context, w, _ int) error {
			m := syncer.NewMutex("redsync:"+names[w], redsync.WithExpiry(term), redsync.WithTries(1))
			if err := m.LockContext(ctx); err != nil {
				return err
			}
			_, err := m.UnlockContext(ctx)
			return err
		}},
		{Name: "rueidislock", Pair: func(ctx context.Context, w, _ int) error {
			_, cancel, err := rueidislocker.WithContext(ctx, "rueidislock:"+names[w])
			if err != nil {
				return err
			}
			cancel() // gives it back in its own time
			return nil
		}},
	}
}
