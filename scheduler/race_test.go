//go:build race

package scheduler_test

import "time"

// raceDetected shortens what takes ten times as long under the race detector.
const raceDetected = true

// hour stands for one where what counts is the order of events and not how much time is between them.
const hour = 6 * time.Minute

// slowStore is how many requests a second a store does that is slow, and carried how many ticks.
const slowStore, carried = 150, 50
