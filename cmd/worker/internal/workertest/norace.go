//go:build !race

package workertest

const RaceDetector = false
