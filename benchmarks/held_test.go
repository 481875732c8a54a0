package benchmarks

import (
	"context"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/redislease"
)

// commands counts what the store's client sends.
type commands struct {
	redis.Hook
	n atomic.Int64
}

func (c *commands) DialHook(next redis.DialHook) redis.DialHook { return next }

func (c *commands) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		c.n.Add(1)
		return next(ctx, cmd)
	}
}

func (c *commands) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		c.n.Add(int64(len(cmds)))
		return next(ctx, cmds)
	}
}

// BenchmarkHeld holds 10,000 leases of a 5 s term for 15 s and reports what that costs. It runs once, whatever b.N.
func BenchmarkHeld(b *testing.B) {
	const leases, term, hold = 10_000, 5 * time.Second, 15 * time.Second
	server := redistest.Start(b)
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer func() { _ = client.Close() }()
	count := new(commands)
	store, err := redislease.New(client, redislease.WithNamespace("held"), redislease.WithHook(count))
	require.NoError(b, err)
	defer func() { _ = store.Close() }()
	_, _, err = store.Time(context.Background())
	require.NoError(b, err)
	names := make([]string, leases)
	for i := range names {
		names[i] = "lease-" + strconv.Itoa(i)
	}

	var lost atomic.Int64
	keeper := lease.NewKeeper(store, lease.WithObserver(func(r lease.Renewal) {
		lost.Add(int64(r.Fenced + len(r.Expired)))
	}))
	heap, goroutines := measure()
	held := make([]*lease.Lease, 0, leases)
	for start := 0; start < leases; start += 64 { // 64 at a time, so that the leases' renewals are spread as in life
		got := make(chan *lease.Lease, 64)
		n := min(64, leases-start)
		for i := range n {
			go func() {
				l, err := keeper.Acquire(context.Background(), lease.Claim{Name: names[start+i], Holder: "bench", Term: term})
				if err != nil {
					b.Error(err)
				}
				got <- l
			}()
		}
		for range n {
			held = append(held, <-got)
		}
	}
	count.n.Store(0)
	most := 0
	deadline := time.Now().Add(hold)
	for time.Now().Before(deadline) {
		time.Sleep(50 * time.Millisecond)
		most = max(most, runtime.NumGoroutine())
	}
	perSecond := float64(count.n.Load()) / hold.Seconds()
	heapAfter, _ := measure()
	valid := 0
	for _, l := range held {
		if l != nil && l.Valid() {
			valid++
		}
	}
	b.ReportMetric(float64(heapAfter-heap)/(1<<20), "MiB")
	b.ReportMetric(float64(most-goroutines), "goroutines")
	b.ReportMetric(perSecond, "commands/s")
	b.ReportMetric(float64(leases-valid)+float64(lost.Load()), "lost")
	b.ReportMetric(0, "ns/op")
	keeper.Close()
}

func measure() (heap int64, goroutines int) {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse), runtime.NumGoroutine()
}
