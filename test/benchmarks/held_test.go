package benchmarks

import (
	"context"
	"crypto/rand"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/benchtest"
	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/redislease"
	"github.com/solotick/solotick/lock"
)

// held is one that holds many locks. close ends that.
type held struct {
	acquire func(ctx context.Context, name string) (valid func() bool, err error)
	close   func()
}

// BenchmarkHeld holds 10,000 leases of a 5 s TTL for 15 s, alone, as mutexes, and as a peer's locks
// that renew themselves, and reports what that costs. It measures once, whatever -benchtime says.
func BenchmarkHeld(b *testing.B) {
	const term = 5 * time.Second
	server := redistest.Start(b)
	open := func(b *testing.B, count *wire) *redislease.Store {
		client := redis.NewClient(&redis.Options{Addr: server.Addr(), Dialer: count.dial})
		store, err := redislease.New(client, "held")
		require.NoError(b, err)
		_, _, err = store.Time(context.Background())
		require.NoError(b, err)
		b.Cleanup(func() { _, _ = store.Close(), client.Close() })
		return store
	}
	b.Run("lease", func(b *testing.B) {
		hold(b, func(count *wire) held {
			renewer := lease.NewRenewer(open(b, count))
			return held{func(ctx context.Context, name string) (func() bool, error) {
				l, err := renewer.Acquire(ctx, lease.Claim{Name: name, Holder: "bench", TTL: term})
				if err != nil {
					return nil, err
				}
				return l.Valid, nil
			}, renewer.Close}
		})
	})
	b.Run("mutex", func(b *testing.B) {
		hold(b, func(count *wire) held {
			locks := lock.New(open(b, count))
			return held{func(ctx context.Context, name string) (func() bool, error) {
				h, err := locks.Mutex(name, lock.WithTTL(term)).Acquire(ctx)
				if err != nil {
					return nil, err
				}
				return h.Valid, nil
			}, locks.Close}
		})
	})
	b.Run("rueidislock", func(b *testing.B) {
		hold(b, func(count *wire) held {
			locker := newRueidislock(b, server.Addr(), term, count)
			ctx, cancel := context.WithCancel(context.Background())
			return held{func(_ context.Context, name string) (func() bool, error) {
				lost, _, err := locker.WithContext(ctx, name)
				if err != nil {
					return nil, err
				}
				return func() bool { return lost.Err() == nil }, nil
			}, cancel}
		})
	})
}

func hold(b *testing.B, open func(*wire) held) {
	benchtest.Once(b, func() map[string]float64 { return holdOnce(b, open) })
}

func holdOnce(b *testing.B, open func(*wire) held) map[string]float64 {
	const leases, during = 10_000, 15 * time.Second
	count := new(wire)
	h := open(count)
	names := make([]string, leases)
	for i := range names {
		names[i] = "lease-" + rand.Text()[:8] + "-" + strconv.Itoa(i) // none that an earlier measurement left behind
	}
	heap, goroutines := measure()
	all := make([]func() bool, 0, leases)
	for start := 0; start < leases; start += 64 { // 64 at a time, so that the renewals are spread as in life
		n := min(64, leases-start)
		got := make(chan func() bool, n)
		for i := range n {
			go func() {
				valid, err := h.acquire(context.Background(), names[start+i])
				if err != nil {
					b.Error(err)
					valid = func() bool { return false }
				}
				got <- valid
			}()
		}
		for range n {
			all = append(all, <-got)
		}
	}
	before, most := count.sent.Load(), 0
	lost := make(map[int]bool)
	for deadline := time.Now().Add(during); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		most = max(most, runtime.NumGoroutine())
		for i, valid := range all {
			if !valid() {
				lost[i] = true
			}
		}
	}
	perSecond := float64(count.sent.Load()-before) / during.Seconds()
	heapAfter, _ := measure()
	h.close()
	return map[string]float64{
		"MiB": float64(heapAfter-heap) / (1 << 20), "goroutines": float64(most - goroutines),
		"commands/s": perSecond, "lost": float64(len(lost)),
	}
}

func measure() (heap int64, goroutines int) { return benchtest.Heap(), runtime.NumGoroutine() }
