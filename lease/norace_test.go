//go:build !race

package lease_test

import "time"

const day = 24 * time.Hour
