package view

import (
	"cmp"
	"time"
)

// zoneOf returns the zone in which a page shows times: the one that was asked for, or else the
// job's; UTC when neither is known.
func zoneOf(asked, job string) *time.Location {
	if zone, err := time.LoadLocation(cmp.Or(asked, job)); err == nil {
		return zone
	}
	return time.UTC
}

// until returns the time from now to t, 0 at least and where t is zero.
func until(t, now time.Time) time.Duration {
	if t.IsZero() {
		return 0
	}
	return max(0, t.Sub(now))
}

// since returns the time from t to now, 0 at least and where t is zero.
func since(t, now time.Time) time.Duration {
	if t.IsZero() {
		return 0
	}
	return max(0, now.Sub(t))
}
