package etcdlease_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/servertest"
)

var many = []int{1, 16, 256}

// durable is a server whose answers are on its disk, as they are outside of tests.
func durable(b *testing.B) *servertest.Server { return own(b, "--unsafe-no-fsync=false") }

// pairs has many goroutines do something until it was done b.N times.
func pairs(b *testing.B, goroutines int, do func(ctx context.Context, g int, n int64) error) {
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
				errs[g] = do(ctx, g, n)
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

// Each pair is a claim of a new tick and its settlement, by many goroutines at once, each with a
// name of its own, as in the benchmark of that name on Redis.
func BenchmarkClaimSettle(b *testing.B) {
	for _, goroutines := range many {
		b.Run(fmt.Sprintf("goroutines=%d", goroutines), func(b *testing.B) {
			s := open(b, configOf(durable(b)))
			for g := range goroutines {
				_, err := s.Sync(b.Context(), []protocol.Sync{{Name: fmt.Sprint("job", g)}})
				require.NoError(b, err)
			}
			pairs(b, goroutines, func(ctx context.Context, g int, n int64) error {
				c := protocol.Claim{Name: fmt.Sprint("job", g), Tick: n, Holder: "a", Request: "r", TTL: time.Minute, Takeovers: 1}
				a, err := s.Claim(ctx, c)
				if err == nil && a.Status != protocol.Granted {
					err = fmt.Errorf("%+v", a)
				}
				if err != nil {
					return err
				}
				return s.Settle(ctx, grantOf(c, a), "succeeded")
			})
		})
	}
}

// Each pair locks and unlocks a mutex of etcd's own package, with one session for all. It remembers
// nothing: neither which ticks ran, nor how.
func BenchmarkMutexOfEtcd(b *testing.B) {
	for _, goroutines := range many {
		b.Run(fmt.Sprintf("goroutines=%d", goroutines), func(b *testing.B) {
			c, err := clientv3.New(configOf(durable(b)))
			require.NoError(b, err)
			defer func() { _ = c.Close() }()
			session, err := concurrency.NewSession(c)
			require.NoError(b, err)
			defer func() { _ = session.Close() }()
			name := prefix()
			pairs(b, goroutines, func(ctx context.Context, g int, _ int64) error {
				m := concurrency.NewMutex(session, fmt.Sprint(name, "/", g))
				if err := m.Lock(ctx); err != nil {
					return err
				}
				return m.Unlock(ctx)
			})
		})
	}
}

// BenchmarkRenew renews 10,000 leases that are held, each of a name of its own, again and again.
func BenchmarkRenew(b *testing.B) {
	const held = 10_000
	s := open(b, configOf(durable(b)))
	grants := make([]protocol.Grant, held)
	for i := range held {
		c := protocol.Claim{Name: fmt.Sprint("job", i), Tick: 1, Holder: "a", Request: "r", TTL: time.Hour}
		grants[i] = protocol.Grant{Name: c.Name, Tick: 1, Holder: "a", Request: "r", TTL: c.TTL}
	}
	var all sync.WaitGroup
	for part := range 100 {
		all.Go(func() {
			for i := part * 100; i < part*100+100; i++ {
				_, err := s.Sync(b.Context(), []protocol.Sync{{Name: grants[i].Name}})
				a, claimErr := s.Claim(b.Context(), protocol.Claim{Name: grants[i].Name, Tick: 1, Holder: "a", Request: "r", TTL: time.Hour})
				if err != nil || claimErr != nil {
					b.Error(err, claimErr)
				}
				grants[i].Token, grants[i].Attempt = a.Token, a.Attempt
			}
		})
	}
	all.Wait()
	for b.Loop() {
		for _, err := range s.Renew(b.Context(), grants) {
			require.NoError(b, err)
		}
	}
	b.ReportMetric(float64(held*b.N)/b.Elapsed().Seconds(), "leases/s")
}
