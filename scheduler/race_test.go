//go:build race

package scheduler_test

// raceDetected shortens what takes ten times as long under the race detector.
const raceDetected = true
