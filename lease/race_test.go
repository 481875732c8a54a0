//go:build race

package lease_test

import "time"

// day is shorter under the race detector, which makes it ten times as slow.
const day = 6 * time.Hour
