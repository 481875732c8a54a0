package mysqllease_test

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
)

// durable is how a server runs that forgets nothing: each commit waits for the disk.
const durable = "--innodb-flush-log-at-trx-commit=1"

// Each pair is a claim of a new tick and its settlement, by many goroutines at once, each with a
// name of its own, as in the benchmark of that name on Redis.
func BenchmarkClaimSettle(b *testing.B) {
	server := own(b, durable)
	for _, goroutines := range []int{1, 16, 256} {
		b.Run(fmt.Sprintf("goroutines=%d", goroutines), func(b *testing.B) {
			s := open(b, databaseOn(b, server))
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

// What people do there without a store: a row for each name, taken by GET_LOCK, or by SELECT … FOR
// UPDATE SKIP LOCKED in a transaction that lasts as long as the work, which is nothing here.
func BenchmarkCustomary(b *testing.B) {
	server := own(b, durable)
	db, err := sql.Open("mysql", "root@tcp("+server.Addr+")/?interpolateParams=true")
	require.NoError(b, err)
	defer func() { _ = db.Close() }()
	run(b, server, "CREATE DATABASE IF NOT EXISTS customary", "CREATE TABLE IF NOT EXISTS customary.job (name VARCHAR(64) PRIMARY KEY, tick BIGINT NOT NULL)",
		"REPLACE INTO customary.job VALUES ('job', 0)")
	b.Run("GET_LOCK", func(b *testing.B) {
		conn, err := db.Conn(b.Context())
		require.NoError(b, err)
		defer func() { _ = conn.Close() }()
		for b.Loop() {
			var got int
			require.NoError(b, conn.QueryRowContext(b.Context(), "SELECT GET_LOCK('job', 0)").Scan(&got))
			require.NoError(b, conn.QueryRowContext(b.Context(), "SELECT RELEASE_LOCK('job')").Scan(&got))
		}
	})
	b.Run("SKIP_LOCKED", func(b *testing.B) {
		for n := 1; b.Loop(); n++ {
			tx, err := db.BeginTx(b.Context(), nil)
			require.NoError(b, err)
			var tick int
			require.NoError(b, tx.QueryRowContext(b.Context(), "SELECT tick FROM customary.job WHERE name = 'job' FOR UPDATE SKIP LOCKED").Scan(&tick))
			_, err = tx.ExecContext(b.Context(), "UPDATE customary.job SET tick = ? WHERE name = 'job'", n)
			require.NoError(b, err)
			require.NoError(b, tx.Commit())
		}
	})
}
