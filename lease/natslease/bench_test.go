package natslease_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/natstest"
	"github.com/solotick/solotick/internal/protocol"
)

// pairs runs b.N pairs of two calls, by many goroutines at once, each with a name of its own.
func pairs(b *testing.B, goroutines int, pair func(ctx context.Context, name string, n int64) error) {
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
				errs[g] = pair(ctx, fmt.Sprint("job", g), n)
			}
		})
	}
	all.Wait()
	b.StopTimer()
	for _, err := range errs {
		require.NoError(b, err)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pairs/s")
}

// Each pair is a claim of a new tick and its settlement, as in the benchmark of that name on Redis.
func BenchmarkClaimSettle(b *testing.B) {
	for _, goroutines := range []int{1, 16, 256} {
		b.Run(fmt.Sprintf("goroutines=%d", goroutines), func(b *testing.B) {
			s := open(b, natstest.Start(b).Connect(b))
			for g := range goroutines {
				_, err := s.Sync(b.Context(), []protocol.Sync{{Name: fmt.Sprint("job", g)}})
				require.NoError(b, err)
			}
			pairs(b, goroutines, func(ctx context.Context, name string, n int64) error {
				c := protocol.Claim{Name: name, Tick: n, Holder: "a", Request: "r", TTL: time.Minute, Takeovers: 1}
				a, err := s.Claim(ctx, c)
				if err != nil {
					return err
				}
				if a.Status != protocol.Granted {
					return fmt.Errorf("%+v", a)
				}
				return s.Settle(ctx, protocol.Grant{
					Name: name, Tick: n, Holder: "a", Request: "r", Token: a.Token, Attempt: 1, Takeovers: 1, TTL: c.TTL,
				}, "succeeded")
			})
		})
	}
}

// Each pair is what Go services do on a bucket otherwise: a key that is created with a TTL, and
// removed. It remembers nothing of what ran.
func BenchmarkCreateDelete(b *testing.B) {
	for _, goroutines := range []int{1, 16, 256} {
		b.Run(fmt.Sprintf("goroutines=%d", goroutines), func(b *testing.B) {
			js, err := jetstream.New(natstest.Start(b).Connect(b))
			require.NoError(b, err)
			kv, err := js.CreateKeyValue(b.Context(), jetstream.KeyValueConfig{Bucket: "locks", LimitMarkerTTL: time.Minute})
			require.NoError(b, err)
			pairs(b, goroutines, func(ctx context.Context, name string, _ int64) error {
				if _, err := kv.Create(ctx, name, []byte("a"), jetstream.KeyTTL(time.Minute)); err != nil {
					return err
				}
				return kv.Delete(ctx, name)
			})
		})
	}
}
