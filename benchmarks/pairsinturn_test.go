package benchmarks

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/solotick/solotick/internal/redistest"
)

const (
	turns   = 15
	turn    = 250 * time.Millisecond
	tooLong = 2 * time.Second // a pair that has not ended by then is given up
)

// BenchmarkPairsInTurn has the contestants of BenchmarkPairs work by turns, for a quarter of a
// second each. Where other work comes and goes, the medians of their turns and the least processor
// time of a pair can be compared, and single runs cannot. The first turn only warms up.
func BenchmarkPairsInTurn(b *testing.B) {
	server := redistest.Start(b)
	for _, goroutines := range []int{1, 16, 256} {
		b.Run(fmt.Sprintf("goroutines=%d", goroutines), func(b *testing.B) {
			once(b, func() map[string]float64 {
				list := contestants(b, server.Addr(), goroutines)
				perSecond, ours, redis := make(map[string][]float64), make(map[string][]float64), make(map[string][]float64)
				for n := range 1 + turns {
					for _, c := range list {
						pairs, client, store, took := takeTurn(b, server, c, goroutines)
						if n > 0 && pairs > 0 {
							perSecond[c.name] = append(perSecond[c.name], pairs/took.Seconds())
							ours[c.name] = append(ours[c.name], float64(client.Microseconds())/pairs)
							redis[c.name] = append(redis[c.name], float64(store.Microseconds())/pairs)
						}
					}
				}
				metrics := make(map[string]float64)
				for _, c := range list {
					rates := slices.Sorted(slices.Values(perSecond[c.name]))
					metrics[c.name+"-pairs/s"] = rates[len(rates)/2]
					metrics[c.name+"-us/pair"] = slices.Min(ours[c.name]) + slices.Min(redis[c.name])
					b.Logf("%s: %.0f pairs/s, at most %.0f; at least %.1f us of the client and %.1f us of Redis for a pair", c.name,
						rates[len(rates)/2], rates[len(rates)-1], slices.Min(ours[c.name]), slices.Min(redis[c.name]))
				}
				return metrics
			})
		})
	}
}

// takeTurn counts the pairs of one turn, and the processor time of both sides.
func takeTurn(b *testing.B, server *redistest.Server, c contestant, goroutines int) (pairs float64, client, store, took time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), tooLong)
	defer cancel()
	var done atomic.Int64
	var all sync.WaitGroup
	storeBefore, clientBefore, began := redisTime(b, server), cpuTime(), time.Now()
	for w := range goroutines {
		all.Go(func() {
			for round := 1; time.Since(began) < turn; round++ {
				if err := c.pair(ctx, w, round); err != nil {
					if ctx.Err() == nil {
						b.Error(err)
					}
					return
				}
				done.Add(1)
			}
		})
	}
	all.Wait()
	took = time.Since(began)
	client = cpuTime() - clientBefore
	return float64(done.Load()), client, redisTime(b, server) - storeBefore, took
}
