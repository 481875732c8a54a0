package redislease_test

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/benchtest"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/redistest"
)

// Each pair is a claim of a lock and its release, by many goroutines at once, each with a lock of
// its own. server-us is how long the server works for a pair.
func BenchmarkLockRelease(b *testing.B) {
	for _, limit := range []int{1, 100} {
		for _, goroutines := range []int{1, 16, 256} {
			b.Run(fmt.Sprintf("limit=%d/goroutines=%d", limit, goroutines), func(b *testing.B) {
				srv := redistest.Start(b)
				s, admin := open(b, srv.Addr()), srv.Client(b)
				benchtest.Pairs(b, goroutines, func(ctx context.Context, g int, n int64) error {
					if n == 1 && limit > 1 { // another holds some of it all the time
						c := lockOf(fmt.Sprintf("lock%d", g), "b", "r", 1, limit)
						if _, err := s.ClaimLock(ctx, c); err != nil {
							return err
						}
					}
					c := lockOf(fmt.Sprintf("lock%d", g), "a", "r"+strconv.FormatInt(n, 10), 1, limit)
					a, err := s.ClaimLock(ctx, c)
					if err == nil && a.Status != protocol.Granted {
						err = fmt.Errorf("%+v", a)
					}
					if err != nil {
						return err
					}
					return s.ReleaseLock(ctx, c.Grant(a))
				})
				b.ReportMetric(serverTime(b, admin, "evalsha").Seconds()*1e6/float64(b.N), "server-us/pair")
			})
		}
	}
}

// serverTime is how long the server has worked on calls of a command.
func serverTime(b *testing.B, admin *redis.Client, command string) time.Duration {
	info, err := admin.Info(b.Context(), "commandstats").Result()
	require.NoError(b, err)
	m := regexp.MustCompile(`cmdstat_` + command + `:calls=\d+,usec=(\d+)`).FindStringSubmatch(info)
	require.NotNil(b, m, info)
	us, err := strconv.ParseInt(m[1], 10, 64)
	require.NoError(b, err)
	return time.Duration(us) * time.Microsecond
}

func BenchmarkRenew(b *testing.B) {
	const leases = 1024
	s := open(b, redistest.Start(b).Addr())
	grants := make([]protocol.Grant, leases)
	for i := range grants {
		grants[i] = granted(b, s, claimOf(fmt.Sprintf("lock%d", i), 0, "a", "r"))
	}
	b.ReportAllocs()
	var slowest time.Duration
	for b.Loop() {
		began := time.Now()
		for _, err := range s.Renew(b.Context(), grants) {
			if err != nil {
				b.Fatal(err)
			}
		}
		slowest = max(slowest, time.Since(began))
	}
	b.ReportMetric(float64(b.N)*leases/b.Elapsed().Seconds(), "leases/s")
	b.ReportMetric(float64(slowest.Milliseconds()), "slowest-ms")
}
