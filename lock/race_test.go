//go:build race

package lock_test

// raceEnabled shows that the race detector makes everything some ten times as slow.
const raceEnabled = true
