//go:build !race

package scheduler_test

const raceDetected = false
