package benchtest

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Contestant takes something of its own and gives it up again.
type Contestant struct {
	Name string
	Pair func(ctx context.Context, worker, round int) error
}

// Result is what a contestant did while it had its turn.
type Result struct {
	Pairs float64
	Took  time.Duration
}

// PerSecond is how many pairs there were in a second.
func (t Result) PerSecond() float64 { return t.Pairs / t.Took.Seconds() }

// TakeTurn has so many goroutines work for that long. Pairs are given up when ctx ends; another that
// fails is an error of b.
func TakeTurn(ctx context.Context, b *testing.B, c Contestant, goroutines int, length time.Duration) Result {
	b.Helper()
	var done atomic.Int64
	var all sync.WaitGroup
	began := time.Now()
	for w := range goroutines {
		all.Go(func() {
			for round := 1; time.Since(began) < length; round++ {
				if err := c.Pair(ctx, w, round); err != nil {
					if ctx.Err() == nil {
						b.Error(c.Name, err)
					}
					return
				}
				done.Add(1)
			}
		})
	}
	all.Wait()
	return Result{float64(done.Load()), time.Since(began)}
}

// InTurn has contestants work by turns, so many times that long each after a turn that only warms
// up, and returns the median of what each did in a second. Where other work comes and goes, these
// can be compared, and single runs cannot.
func InTurn(b *testing.B, list []Contestant, goroutines, turns int, length time.Duration) map[string]float64 {
	b.Helper()
	rates, medians := map[string][]float64{}, map[string]float64{}
	for n := range 1 + turns {
		for _, c := range list {
			if t := TakeTurn(b.Context(), b, c, goroutines, length); n > 0 && t.Pairs > 0 {
				rates[c.Name] = append(rates[c.Name], t.PerSecond())
			}
		}
	}
	for _, c := range list {
		all := slices.Sorted(slices.Values(rates[c.Name]))
		require.NotEmpty(b, all, c.Name)
		medians[c.Name] = all[len(all)/2]
	}
	return medians
}
