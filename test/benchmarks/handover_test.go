package benchmarks

import (
	"context"
	"crypto/tls"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/lease/redislease"
	"github.com/solotick/solotick/lock"
)

// waiting takes a lock that others hold, and returns what gives it back.
type waiting func(ctx context.Context) (release func() error, err error)

// BenchmarkHandOver passes one lock around among 32 who wait for it, all in one process or each in
// a process of its own (a client of its own, here), and reports how long it is from the call that
// gives it back until another has it, and how many commands that costs, waiting and subscriptions
// included. A worker that has given it back waits again when another has it: to take it again at
// once, as some would, is no hand-over.
func BenchmarkHandOver(b *testing.B) {
	server := redistest.Start(b)
	passAround(b, lockers(server.Addr()))
}

// BenchmarkHandOverOnCluster is the same on a Cluster of three servers, each with a Redis replica.
// The lock is on one of them, by chance.
func BenchmarkHandOverOnCluster(b *testing.B) {
	cluster := redistest.StartCluster(b)
	client := func(b *testing.B, count *wire) redis.UniversalClient {
		c := redis.NewClusterClient(&redis.ClusterOptions{Addrs: cluster.Addrs(), Dialer: count.dial})
		b.Cleanup(func() { _ = c.Close() })
		return c
	}
	passAround(b, map[string]func(b *testing.B, count *wire, name string) waiting{
		"solotick": solotickLocker(client), "solotick-fair": solotickLocker(client, lock.WithFairness()),
	})
}

func passAround(b *testing.B, lockers map[string]func(b *testing.B, count *wire, name string) waiting) {
	const waiters = 32
	for _, processes := range []int{1, waiters} {
		for _, name := range slices.Sorted(maps.Keys(lockers)) {
			b.Run(fmt.Sprintf("%s/processes=%d", name, processes), func(b *testing.B) {
				handOver(b, lockers[name], waiters, processes)
			})
		}
	}
}

func handOver(b *testing.B, dial func(b *testing.B, count *wire, name string) waiting, waiters, processes int) {
	count := new(wire)
	lockName := "handover-" + strconv.FormatInt(time.Now().UnixNano(), 36)
	acquire := make([]waiting, processes)
	for i := range acquire {
		acquire[i] = dial(b, count, lockName)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var left atomic.Int64
	left.Store(int64(b.N))
	var given atomic.Int64 // when, in nanoseconds; 0 before the first
	var mu sync.Mutex
	var took []time.Duration
	another := make(chan struct{}) // is closed when another has it
	var working sync.WaitGroup
	began, before := time.Now(), int64(0)
	for w := range waiters {
		working.Go(func() {
			for {
				release, err := acquire[w%processes](ctx)
				if err != nil {
					if ctx.Err() == nil {
						b.Error(err)
					}
					return
				}
				now := time.Since(began)
				mu.Lock()
				close(another)
				another = make(chan struct{})
				mine := another
				mu.Unlock()
				if at := given.Load(); at != 0 {
					mu.Lock()
					took = append(took, now-time.Duration(at))
					mu.Unlock()
				} else {
					time.Sleep(500 * time.Millisecond) // until all the others wait
					before = count.sent.Load()
				}
				over := left.Add(-1) <= 0
				time.Sleep(2 * time.Millisecond) // the work under the lock
				given.Store(int64(time.Since(began)))
				if err := release(); err != nil {
					b.Error(err)
				}
				if over {
					cancel()
					return
				}
				select {
				case <-mine:
				case <-ctx.Done():
				}
			}
		})
	}
	<-ctx.Done()
	sent := count.sent.Load() - before
	working.Wait()
	if len(took) == 0 {
		return // the first round of the benchmark, which only tries
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
	b.ReportMetric(float64(sent)/float64(len(took)), "commands/hand-over")
	b.ReportMetric(0, "ns/op")
}

// solotickLocker makes our mutex on the client that connect makes.
func solotickLocker(connect func(b *testing.B, count *wire) redis.UniversalClient, opts ...lock.Option) func(b *testing.B, count *wire, name string) waiting {
	return func(b *testing.B, count *wire, name string) waiting {
		store, err := redislease.New(connect(b, count), "handover")
		require.NoError(b, err)
		locks := lock.New(store)
		b.Cleanup(func() { locks.Close(); _ = store.Close() })
		mutex := locks.Mutex(name, opts...)
		return func(ctx context.Context) (func() error, error) {
			h, err := mutex.Acquire(ctx)
			if err != nil {
				return nil, err
			}
			return func() error { return h.Release(context.Background()) }, nil
		}
	}
}

// lockers make clients that wait for a lock, each as its documentation shows.
func lockers(addr string) map[string]func(b *testing.B, count *wire, name string) waiting {
	client := func(b *testing.B, count *wire) *redis.Client {
		c := redis.NewClient(&redis.Options{Addr: addr, Dialer: count.dial})
		b.Cleanup(func() { _ = c.Close() })
		return c
	}
	universal := func(b *testing.B, count *wire) redis.UniversalClient { return client(b, count) }
	return map[string]func(b *testing.B, count *wire, name string) waiting{
		"solotick":      solotickLocker(universal),
		"solotick-fair": solotickLocker(universal, lock.WithFairness()),
		"redislock": func(b *testing.B, count *wire, name string) waiting {
			locker := redislock.New(client(b, count))
			return func(ctx context.Context) (func() error, error) {
				l, err := locker.Obtain(ctx, "redislock:"+name, 30*time.Second,
					&redislock.Options{RetryStrategy: redislock.LinearBackoff(10 * time.Millisecond)})
				if err != nil {
					return nil, err
				}
				return func() error { return l.Release(context.Background()) }, nil
			}
		},
		"redsync": func(b *testing.B, count *wire, name string) waiting {
			syncer := redsync.New(redsyncredis.NewPool(client(b, count)))
			return func(ctx context.Context) (func() error, error) {
				m := syncer.NewMutex("redsync:"+name, redsync.WithExpiry(30*time.Second), redsync.WithTries(1_000_000))
				if err := m.LockContext(ctx); err != nil {
					return nil, err
				}
				return func() error { _, err := m.UnlockContext(context.Background()); return err }, nil
			}
		},
		"rueidislock": func(b *testing.B, count *wire, name string) waiting {
			locker := newRueidislock(b, addr, 30*time.Second, count)
			return func(ctx context.Context) (func() error, error) {
				_, cancel, err := locker.WithContext(ctx, name)
				if err != nil {
					return nil, err
				}
				return func() error { cancel(); return nil }, nil
			}
		},
	}
}

// newRueidislock makes a locker of one key a lock, since there is one server.
func newRueidislock(b *testing.B, addr string, term time.Duration, count *wire) rueidislock.Locker {
	o := rueidis.ClientOption{InitAddress: []string{addr}}
	if count != nil {
		o.DialCtxFn = func(ctx context.Context, addr string, _ *net.Dialer, _ *tls.Config) (net.Conn, error) {
			return count.dial(ctx, "tcp", addr)
		}
	}
	locker, err := rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption: o, KeyMajority: 1, KeyValidity: term, NoLoopTracking: true,
	})
	require.NoError(b, err)
	b.Cleanup(locker.Close)
	return locker
}
