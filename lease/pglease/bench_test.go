package pglease_test

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
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

// One round is the renewal of 10,000 held leases, in calls of 100, as a fleet's replicas do it.
func BenchmarkRenew10000(b *testing.B) {
	s := open(b, schema(b))
	var grants []protocol.Grant
	for i := range 10_000 {
		name := fmt.Sprint("job", i)
		if i%100 == 0 {
			var list []protocol.Sync
			for n := range 100 {
				list = append(list, protocol.Sync{Name: fmt.Sprint("job", i+n)})
			}
			_, err := s.Sync(b.Context(), list)
			require.NoError(b, err)
		}
		grants = append(grants, protocol.Grant{Name: name, Tick: 1, Holder: "a", Request: "r", Attempt: 1, Takeovers: 1, TTL: time.Hour})
	}
	var claims sync.WaitGroup
	for part := range slices.Chunk(grants, len(grants)/50) {
		claims.Go(func() {
			for i := range part {
				g := &part[i]
				a, err := s.Claim(b.Context(), protocol.Claim{Name: g.Name, Tick: 1, Holder: "a", Request: "r", TTL: time.Hour, Takeovers: 1})
				if err != nil || a.Status != protocol.Granted {
					b.Error(a, err)
					return
				}
				g.Token = a.Token
			}
		})
	}
	claims.Wait()
	b.ResetTimer()
	for range b.N {
		for part := range slices.Chunk(grants, 100) {
			for _, err := range s.Renew(b.Context(), part) {
				require.NoError(b, err)
			}
		}
	}
}

// What people do there without a store: an advisory lock, or SELECT … FOR UPDATE SKIP LOCKED in a
// transaction that lasts as long as the work, which is nothing here.
func BenchmarkCustomary(b *testing.B) {
	dsn := schema(b)
	sqlOn(b, dsn, "CREATE TABLE customary (name text PRIMARY KEY, tick bigint NOT NULL)", "INSERT INTO customary VALUES ('job', 0)")
	db, err := sql.Open("pgx", dsn)
	require.NoError(b, err)
	defer func() { _ = db.Close() }()
	b.Run("advisory_lock", func(b *testing.B) {
		conn, err := db.Conn(b.Context())
		require.NoError(b, err)
		defer func() { _ = conn.Close() }()
		for b.Loop() {
			var got bool
			require.NoError(b, conn.QueryRowContext(b.Context(), "SELECT pg_try_advisory_lock(1)").Scan(&got))
			require.NoError(b, conn.QueryRowContext(b.Context(), "SELECT pg_advisory_unlock(1)").Scan(&got))
		}
	})
	b.Run("SKIP_LOCKED", func(b *testing.B) {
		for n := 1; b.Loop(); n++ {
			tx, err := db.BeginTx(b.Context(), nil)
			require.NoError(b, err)
			var tick int
			require.NoError(b, tx.QueryRowContext(b.Context(), "SELECT tick FROM customary WHERE name = 'job' FOR UPDATE SKIP LOCKED").Scan(&tick))
			_, err = tx.ExecContext(b.Context(), "UPDATE customary SET tick = $1 WHERE name = 'job'", n)
			require.NoError(b, err)
			require.NoError(b, tx.Commit())
		}
	})
}
