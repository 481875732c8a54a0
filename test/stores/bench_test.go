package stores

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/benchtest"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lock"
)

// BenchmarkStores measures each store: pairs of a claim and its settlement, by many goroutines at
// once, each with a name of its own; how long a mutex takes from one process to another; and what
// 10,000 leases that are held cost the process. -benchtime has the number of pairs and hand-overs.
func BenchmarkStores(b *testing.B) {
	for _, k := range kits {
		b.Run(k.name, func(b *testing.B) {
			s := sync.OnceValue(func() *server { return k.start(b) })
			for _, goroutines := range []int{1, 16, 256} {
				b.Run(fmt.Sprintf("pairs/%d", goroutines), func(b *testing.B) { pairs(b, k, s(), goroutines) })
			}
			b.Run("handover", func(b *testing.B) { handOver(b, k, s()) })
			b.Run("held", func(b *testing.B) {
				benchtest.Once(b, func() map[string]float64 { return hold(b, k, s()) })
			})
		})
	}
}

// BenchmarkSchedules runs schedules that lie in the stores that keep some: see benchtest.Schedules.
func BenchmarkSchedules(b *testing.B) {
	for _, k := range kits {
		for _, row := range []benchtest.ScheduleRow{{Schedules: 10_000, Every: 10 * time.Second}, {Schedules: 20_000, Every: 10 * time.Second}} {
			b.Run(k.name+"/"+row.Name(), func(b *testing.B) {
				s := k.start(b)
				namespace := "bench-" + strings.ToLower(rand.Text()[:10])
				open := func() (protocol.Store, func()) {
					store, err := k.open(s.addrs, namespace)
					require.NoError(b, err)
					return store, func() {
						if c, ok := store.(io.Closer); ok {
							_ = c.Close()
						}
					}
				}
				store, done := open()
				_, err := store.GetSchedules(b.Context(), nil)
				done()
				if errors.Is(err, protocol.ErrNoIndex) || k.name == memory.name { // there is one process
					b.Skip("keeps no schedules of a fleet")
				}
				nothing := func() {}
				benchtest.Once(b, func() map[string]float64 { return benchtest.Schedules(b, row, open, nothing, nothing, nothing) })
			})
		}
	}
}

// longest is the TTL of what is held: the quorum has no longer one here.
const longest = benchtest.TTL

// opened returns stores of several processes, which here are this one, in a new namespace.
func opened(b *testing.B, k kit, s *server, n int) (stores []lease.Store) {
	b.Helper()
	namespace := "bench-" + strings.ToLower(rand.Text()[:10])
	for range n {
		store, err := k.open(s.addrs, namespace)
		require.NoError(b, err)
		if c, ok := store.(io.Closer); ok {
			b.Cleanup(func() { _ = c.Close() })
		}
		stores = append(stores, store)
	}
	if k.name == memory.name { // there is one process
		stores = slices.Repeat(stores[:1], n)
	}
	require.Eventually(b, func() bool {
		_, err := stores[0].Sync(b.Context(), []protocol.Sync{{Name: "first"}})
		return err == nil
	}, patience, 10*time.Millisecond)
	return stores
}

func pairs(b *testing.B, k kit, s *server, goroutines int) {
	store := opened(b, k, s, 1)[0]
	withRecords(b, store, goroutines)
	benchtest.Pairs(b, goroutines, func(ctx context.Context, g int, n int64) error {
		return benchtest.Tick(ctx, store, fmt.Sprint("job", g), n)
	})
}

// withRecords makes records of jobs with the numbers from 0.
func withRecords(b *testing.B, store lease.Store, jobs int) {
	for n := range jobs {
		_, err := store.Sync(b.Context(), []protocol.Sync{{Name: fmt.Sprint("job", n)}})
		require.NoError(b, err)
	}
}

// handOver gives a mutex from one of two processes to the other, who waits for it.
func handOver(b *testing.B, k kit, s *server) {
	var sides [2]*lock.Locks
	for i, store := range opened(b, k, s, len(sides)) {
		sides[i] = lock.New(store)
		b.Cleanup(sides[i].Close)
	}
	var took []time.Duration
	held, err := sides[0].Mutex("m", lock.WithTTL(longest)).Acquire(b.Context())
	require.NoError(b, err)
	for i := 1; b.Loop(); i++ {
		type next struct {
			hold *lock.Hold
			at   time.Time
			err  error
		}
		got := make(chan next, 1)
		go func() {
			h, err := sides[i%len(sides)].Mutex("m", lock.WithTTL(longest)).Acquire(b.Context())
			got <- next{h, time.Now(), err}
		}()
		time.Sleep(20 * time.Millisecond) // it waits by then
		given := time.Now()
		require.NoError(b, held.Release(b.Context()))
		n := <-got
		require.NoError(b, n.err)
		held, took = n.hold, append(took, n.at.Sub(given))
	}
	_ = held.Release(context.WithoutCancel(b.Context()))
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
	b.ReportMetric(0, "ns/op")
}

// hold takes up to 10,000 leases within 30 s, and holds them for 15 s more.
func hold(b *testing.B, k kit, s *server) map[string]float64 {
	const leases, during = 10_000, 15 * time.Second
	renewer := lease.NewRenewer(opened(b, k, s, 1)[0])
	defer renewer.Close()
	all := make([]*lease.Lease, leases)
	began := time.Now()
	for start := 0; start < leases && time.Since(began) < 2*during; start += 64 { // so that the renewals are spread
		var some sync.WaitGroup
		for i := start; i < min(leases, start+64); i++ {
			some.Go(func() {
				all[i], _ = renewer.Acquire(b.Context(), lease.Claim{Name: fmt.Sprint("lease", i), Holder: "a", TTL: longest})
			})
		}
		some.Wait()
	}
	taken, before := time.Since(began), benchtest.ProcessorTime()
	time.Sleep(during)
	used, held, lost := benchtest.ProcessorTime()-before, 0, 0
	for _, l := range all {
		switch {
		case l == nil: // the store did not answer in time
		case l.Valid():
			held++
		default:
			lost++
		}
	}
	return map[string]float64{
		"acquire-s": taken.Seconds(), "client-ms/s": used.Seconds() * 1000 / during.Seconds(), "held": float64(held), "lost": float64(lost),
	}
}
