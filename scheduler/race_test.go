//go:build race

package scheduler_test

import "time"

// raceDetected shortens what takes ten times as long under the race detector.
const raceDetected = true

// hour stands for one where what counts is the order of events and not how much time is between them.
const hour = 6 * time.Minute
