// Package benchtest has what benchmarks share: pairs by many goroutines at once, turns, and fleets
// of schedulers of which every job is due at one instant.
package benchtest

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
)

// measured has the metrics of a benchmark, by name and unit.
var measured = map[string]map[string]float64{}

// Once measures once, whatever -benchtime says: the benchmark is called with b.N 1 first, and each
// later call of it reports the same.
func Once(b *testing.B, measure func() map[string]float64) {
	if b.N == 1 {
		measured[b.Name()] = measure()
	}
	for unit, value := range measured[b.Name()] {
		b.ReportMetric(value, unit)
	}
	b.ReportMetric(0, "ns/op")
}

// Pairs calls pair b.N times in all from so many goroutines, each with its number and with how often
// it has called, from 1. It reports pairs/s.
func Pairs(b *testing.B, goroutines int, pair func(ctx context.Context, g int, n int64) error) {
	b.Helper()
	ctx, cancel := context.WithCancel(b.Context()) // as every real caller's can be cancelled
	defer cancel()
	var remaining atomic.Int64
	remaining.Store(int64(b.N))
	errs := make([]error, goroutines)
	var all sync.WaitGroup
	b.ReportAllocs()
	b.ResetTimer()
	for g := range goroutines {
		all.Go(func() {
			for n := int64(1); remaining.Add(-1) >= 0 && errs[g] == nil; n++ {
				errs[g] = pair(ctx, g, n)
			}
		})
	}
	all.Wait()
	b.StopTimer()
	for _, err := range errs {
		require.NoError(b, err)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pairs/s")
	b.ReportMetric(0, "ns/op")
}

// TTL is that of a tick: no store refuses it.
const TTL = 4 * time.Second

// Tick claims a tick of a job that has a record, and settles it.
func Tick(ctx context.Context, store protocol.Store, name string, tick int64) error {
	c := protocol.Claim{Name: name, Tick: tick, Holder: "bench", Request: "r" + strconv.FormatInt(tick, 10), TTL: TTL, Takeovers: 1}
	a, err := store.Claim(ctx, c)
	if err == nil && a.Status != protocol.Granted {
		err = fmt.Errorf("claim of %s: %+v", name, a)
	}
	if err != nil {
		return err
	}
	return store.Settle(ctx, protocol.Grant{
		Name: name, Tick: tick, Holder: c.Holder, Request: c.Request, Token: a.Token, Attempt: a.Attempt, Takeovers: 1, TTL: c.TTL,
	}, "succeeded")
}

// ProcessorTime is that of this process so far, in user and system mode.
func ProcessorTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// Heap is the memory in use, in bytes, without garbage.
func Heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}
