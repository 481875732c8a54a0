package sleep

import (
	"math/rand/v2"
	"time"
)

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
