package benchmarks

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/benchtest"
	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/lease/redislease"
	"github.com/solotick/solotick/limit"
)

// plenty is a rate that no contestant reaches, so that every request is allowed and takes a unit.
const plenty = 10_000_000

// BenchmarkLimit is one unit of one limit beside redis_rate, by so many goroutines of one process,
// and of four processes that each have a client and a store of their own. It reports also what a
// request costs each side in processor time.
func BenchmarkLimit(b *testing.B) {
	server := redistest.Start(b)
	for _, size := range []struct{ processes, goroutines int }{{1, 1}, {1, 16}, {1, 256}, {4, 64}} {
		for _, c := range []struct {
			name string
			make func(client *redis.Client) func(ctx context.Context) (bool, error)
		}{
			{"solotick", func(client *redis.Client) func(ctx context.Context) (bool, error) {
				store, err := redislease.New(client, "bench")
				require.NoError(b, err)
				b.Cleanup(func() { require.NoError(b, store.Close()) })
				calls := limit.New(store).Bucket("calls", plenty, time.Second)
				return func(ctx context.Context) (bool, error) {
					d, err := calls.Allow(ctx)
					return d.Allowed, err
				}
			}},
			{"redis_rate", func(client *redis.Client) func(ctx context.Context) (bool, error) {
				rate := redis_rate.NewLimiter(client)
				return func(ctx context.Context) (bool, error) {
					r, err := rate.Allow(ctx, "calls", redis_rate.PerSecond(plenty))
					return err == nil && r.Allowed > 0, err
				}
			}},
		} {
			b.Run(fmt.Sprintf("%s/processes=%d/goroutines=%d", c.name, size.processes, size.goroutines), func(b *testing.B) {
				var takes []func(ctx context.Context) (bool, error)
				for range size.processes {
					client := redis.NewClient(&redis.Options{Addr: server.Addr()})
					b.Cleanup(func() { require.NoError(b, client.Close()) })
					takes = append(takes, c.make(client))
				}
				var next atomic.Int64
				var wg sync.WaitGroup
				servers, ours := redisTime(b, server), benchtest.ProcessorTime()
				b.ResetTimer()
				for g := range size.goroutines * size.processes {
					wg.Go(func() {
						for next.Add(1) <= int64(b.N) {
							if ok, err := takes[g%size.processes](context.Background()); err != nil || !ok {
								b.Errorf("allowed %t: %v", ok, err)
								return
							}
						}
					})
				}
				wg.Wait()
				b.StopTimer()
				b.ReportMetric(float64((redisTime(b, server)-servers).Nanoseconds())/float64(b.N), "redis-ns/op")
				b.ReportMetric(float64((benchtest.ProcessorTime()-ours).Nanoseconds())/float64(b.N), "ours-ns/op")
			})
		}
	}
}
