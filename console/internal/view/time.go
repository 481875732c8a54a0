package view

import (
	"cmp"
	"encoding/json"
	"time"
)

// Time is an instant of fleet time; the zero Time means that there is none.
type Time struct{ time.Time }

// MarshalJSON implements [json.Marshaler].
func (t Time) MarshalJSON() ([]byte, error) {
	if t.IsZero() {
		return []byte("null"), nil
	}
	return []byte(t.UTC().Format(`"2006-01-02T15:04:05.000Z07:00"`)), nil
}

// Millis is a duration; JSON has it in whole milliseconds.
type Millis time.Duration

// Duration returns m as the standard library's type.
func (m Millis) Duration() time.Duration { return time.Duration(m) }

// MarshalJSON implements [json.Marshaler].
func (m Millis) MarshalJSON() ([]byte, error) { return json.Marshal(m.Duration().Milliseconds()) }

// zoneOf returns the zone in which a page shows times: the one that was asked for, or else the
// job's; UTC when neither is known.
func zoneOf(asked, job string) *time.Location {
	if zone, err := time.LoadLocation(cmp.Or(asked, job)); err == nil {
		return zone
	}
	return time.UTC
}

// until returns the time from now to t, 0 at least and where t is zero.
func until(t, now time.Time) Millis {
	if t.IsZero() {
		return 0
	}
	return Millis(max(0, t.Sub(now)))
}

// since returns the time from t to now, 0 at least and where t is zero.
func since(t, now time.Time) Millis {
	if t.IsZero() {
		return 0
	}
	return Millis(max(0, now.Sub(t)))
}
