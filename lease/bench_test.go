package lease_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/steady"
	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/memlease"
)

// BenchmarkKeeper10000 measures the heap that 10,000 held leases take, contexts with their Done
// channels included, records of the store excluded.
func BenchmarkKeeper10000(b *testing.B) {
	const n = 10_000
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("job-%d", i)
	}
	var grown int64
	for b.Loop() {
		k := lease.NewRenewer(new(memlease.Store))
		leases := make([]*lease.Lease, n)
		before := heap()
		for i, name := range names {
			c := claim(name)
			c.Request = protocol.NewRequest()
			leases[i] = k.Keep(ctx, c, protocol.Answer{Status: protocol.Granted, Token: 1, Attempt: 1, Remaining: c.TTL}, steady.Now())
			leases[i].Context().Done()
		}
		grown += heap() - before
		k.Close()
		runtime.KeepAlive(leases)
	}
	b.ReportMetric(float64(grown)/float64(b.N)/n, "heap-B/lease")
}

// BenchmarkKeepAndSettle measures a run without the store and the work. idle: nothing else is held.
func BenchmarkKeepAndSettle(b *testing.B) {
	for _, held := range []int{0, 10_000} {
		b.Run(fmt.Sprintf("beside %d", held), func(b *testing.B) {
			ctx, cancel := context.WithCancel(b.Context())
			defer cancel()
			store := new(memlease.Store)
			k := lease.NewRenewer(store)
			defer k.Close()
			for i := range held {
				if _, err := k.AcquireAs(ctx, claim(fmt.Sprintf("held-%d", i))); err != nil {
					b.Fatal(err)
				}
			}
			if _, err := store.Sync(ctx, []protocol.Sync{{Name: "job"}}); err != nil {
				b.Fatal(err)
			}
			ends := context.WithoutCancel(ctx)
			b.ReportAllocs()
			tick := int64(0)
			for b.Loop() {
				tick++
				c := claim("job")
				c.Tick, c.Request = tick, "r"
				sent := steady.Now()
				a, err := store.Claim(ctx, c)
				if err != nil || a.Status != protocol.Granted {
					b.Fatal(a.Status, err)
				}
				if err := k.Keep(ctx, c, a, sent).Settle(ends, "succeeded"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkValid(b *testing.B) {
	k := lease.NewRenewer(new(memlease.Store))
	defer k.Close()
	l, err := k.AcquireAs(b.Context(), claim("job"))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		l.Valid()
	}
}
