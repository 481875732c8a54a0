package redislease_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/solotick/solotick/internal/benchtest"
	"github.com/solotick/solotick/lease/redislease"
)

// What the failover modes cost, on a master with one replica: pairs of a claim of a new tick and
// its settlement.
func BenchmarkFailoverModes(b *testing.B) {
	for _, mode := range []struct {
		name string
		opts []redislease.Option
	}{
		{"async", nil},
		{"grace", []redislease.Option{redislease.WithFailoverGrace(time.Microsecond)}},
		{"replicas", []redislease.Option{redislease.WithReplicas(1)}},
	} {
		for _, goroutines := range []int{1, 64} {
			b.Run(fmt.Sprintf("%s/goroutines=%d", mode.name, goroutines), func(b *testing.B) {
				master, _ := startPair(b)
				s := open(b, master.Addr(), mode.opts...)
				names := make([]string, goroutines)
				for i := range names {
					names[i] = fmt.Sprintf("job%d", i)
				}
				synced(b, s, names...)
				_, _ = s.Claim(b.Context(), claimOf("lock", 0, "a", "r")) // the grace begins, and ends
				time.Sleep(time.Millisecond)
				benchtest.Pairs(b, goroutines, func(ctx context.Context, g int, n int64) error {
					c := claimOf(names[g], n, "a", "r")
					a, err := s.Claim(ctx, c)
					if err != nil {
						return err
					}
					return s.Settle(ctx, grantOf(c, a), "succeeded")
				})
			})
		}
	}
}
