// Package durations writes durations as people do: 24h, not 24h0m0s.
package durations

import (
	"strings"
	"time"
)

// Short is d.String without zero units at its end.
func Short(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
