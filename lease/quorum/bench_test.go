package quorum_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/solotick/solotick/internal/protocol"
)

// Each pair is a claim of a new tick and its settlement, on three servers, by many goroutines at
// once, each with a name of its own.
func BenchmarkClaimSettle(b *testing.B) {
	for _, goroutines := range []int{1, 16, 64} {
		b.Run(fmt.Sprint("goroutines=", goroutines), func(b *testing.B) {
			s := openRedis(b, startServers(b, 3))
			names := make([]string, goroutines)
			for i := range names {
				names[i] = fmt.Sprint("job-", i)
			}
			synced(b, s, names...)
			b.ReportAllocs()
			b.ResetTimer()
			var n atomic.Int64
			var all sync.WaitGroup
			for _, name := range names {
				all.Go(func() {
					for tick := n.Add(1); tick <= int64(b.N); tick = n.Add(1) {
						c := claimOf(name, tick, "a", 20*time.Second)
						a, err := s.Claim(b.Context(), c)
						if err == nil && a.Status != protocol.Granted {
							err = fmt.Errorf("%+v", a)
						}
						if err == nil {
							err = s.Settle(b.Context(), grantOf(c, a), "succeeded")
						}
						if err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			all.Wait()
		})
	}
}

// BenchmarkLose is a claim of what another holds: one round.
func BenchmarkLose(b *testing.B) {
	s := openRedis(b, startServers(b, 3))
	synced(b, s, "job")
	c := claimOf("job", 100, "a", 20*time.Second)
	if _, err := s.Claim(b.Context(), c); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Claim(b.Context(), claimOf("job", 100, "b", 20*time.Second)); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRenew renews a thousand leases at once.
func BenchmarkRenew(b *testing.B) {
	s := openRedis(b, startServers(b, 3))
	var grants []protocol.Grant
	for i := range 1000 {
		name := fmt.Sprint("job-", i)
		synced(b, s, name)
		c := claimOf(name, 100, "a", 20*time.Second)
		a, err := s.Claim(b.Context(), c)
		if err != nil {
			b.Fatal(err)
		}
		grants = append(grants, grantOf(c, a))
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, err := range s.Renew(b.Context(), grants) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}
