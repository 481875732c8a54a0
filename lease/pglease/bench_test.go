package pglease_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
)

// Each pair is a claim of a new tick and its settlement, by many goroutines at once, each with a
// name of its own, as in the benchmark of that name on Redis.
func BenchmarkClaimSettle(b *testing.B) {
	for _, goroutines := range []int{1, 16, 256} {
		b.Run(fmt.Sprintf("goroutines=%d", goroutines), func(b *testing.B) {
			s := open(b, schema(b))
			for g := range goroutines {
				_, err := s.Sync(b.Context(), []protocol.Sync{{Name: fmt.Sprint("job", g)}})
				require.NoError(b, err)
			}
			ctx, cancel := context.WithCancel(b.Context())
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
						c := protocol.Claim{Name: fmt.Sprint("job", g), Tick: n, Holder: "a", Request: "r", TTL: time.Minute, Takeovers: 1}
						a, err := s.Claim(ctx, c)
						if err == nil && a.Status != protocol.Granted {
							err = fmt.Errorf("%+v", a)
						}
						if err == nil {
							err = s.Settle(ctx, protocol.Grant{
								Name: c.Name, Tick: n, Holder: "a", Request: "r", Token: a.Token, Attempt: 1, Takeovers: 1, TTL: c.TTL,
							}, "succeeded")
						}
						errs[g] = err
					}
				})
			}
			all.Wait()
			b.StopTimer()
			for _, err := range errs {
				require.NoError(b, err)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pairs/s")
		})
	}
}
