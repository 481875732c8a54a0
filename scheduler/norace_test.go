//go:build !race

package scheduler_test

import "time"

const raceDetected = false

const hour = time.Hour

const slowStore, carried = 300, 110
