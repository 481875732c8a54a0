// Package sleep waits no longer than a context lasts, and says how long to wait before another try.
package sleep

import (
	"context"
	"math/rand/v2"
	"time"
)

// For waits for d. It reports false when ctx ended before.
func For(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Backoff returns how long to wait before another try after so many failures in a row. It doubles
// from least to most, less a random half, so that those that failed together do not try together.
// least must be above 0.
func Backoff(failures int, least, most time.Duration) time.Duration {
	d := doubled(failures, least, most)
	return d/2 + rand.N(d/2+1)
}

// Scatter returns a wait for one of several that disturb each other. It is any from 0 to the same
// bound, so that one of them is alone soon.
func Scatter(conflicts int, least, most time.Duration) time.Duration {
	return rand.N(doubled(conflicts, least, most) + 1)
}

func doubled(times int, least, most time.Duration) time.Duration {
	for range times {
		if least > most/2 {
			return most
		}
		least *= 2
	}
	return min(least, most)
}
