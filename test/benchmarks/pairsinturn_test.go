package benchmarks

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/solotick/solotick/internal/benchtest"
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
			benchtest.Once(b, func() map[string]float64 {
				list := contestants(b, server.Addr(), goroutines)
				perSecond, ours, redis := make(map[string][]float64), make(map[string][]float64), make(map[string][]float64)
				for n := range 1 + turns {
					for _, c := range list {
						t, client, store := takeTurn(b, server, c, goroutines)
						if n > 0 && t.Pairs > 0 {
							perSecond[c.Name] = append(perSecond[c.Name], t.PerSecond())
							ours[c.Name] = append(ours[c.Name], float64(client.Microseconds())/t.Pairs)
							redis[c.Name] = append(redis[c.Name], float64(store.Microseconds())/t.Pairs)
						}
					}
				}
				metrics := make(map[string]float64)
				for _, c := range list {
					rates := slices.Sorted(slices.Values(perSecond[c.Name]))
					metrics[c.Name+"-pairs/s"] = rates[len(rates)/2]
					metrics[c.Name+"-us/pair"] = slices.Min(ours[c.Name]) + slices.Min(redis[c.Name])
					b.Logf("%s: %.0f pairs/s, at most %.0f; at least %.1f us of the client and %.1f us of Redis for a pair", c.Name,
						rates[len(rates)/2], rates[len(rates)-1], slices.Min(ours[c.Name]), slices.Min(redis[c.Name]))
				}
				return metrics
			})
		})
	}
}

// takeTurn counts the pairs of one turn, and the processor time of both sides.
func takeTurn(b *testing.B, server *redistest.Server, c benchtest.Contestant, goroutines int) (t benchtest.Result, client, store time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), tooLong)
	defer cancel()
	storeBefore, clientBefore := redisTime(b, server), benchtest.ProcessorTime()
	t = benchtest.TakeTurn(ctx, b, c, goroutines, turn)
	client = benchtest.ProcessorTime() - clientBefore
	return t, client, redisTime(b, server) - storeBefore
}
