package view

import (
	"cmp"
	"encoding/json"
	"time"
)

// Time is an instant of fleet time; the zero Time means that there is none.
type Time struct{ time.Time }

const timeLayout = "2006-01-02T15:04:05.000Z07:00"

// MarshalJSON implements [json.Marshaler].
func (t Time) MarshalJSON() ([]byte, error) {
	if t.IsZero() {
		return []byte("null"), nil
	}
	return []byte(t.UTC().Format(`"` + timeLayout + `"`)), nil
}

// UnmarshalJSON implements [json.Unmarshaler].
func (t *Time) UnmarshalJSON(text []byte) error {
	var s *string
	if err := json.Unmarshal(text, &s); err != nil || s == nil {
		*t = Time{}
		return err
	}
	at, err := time.Parse(time.RFC3339Nano, *s)
	*t = Time{at.UTC()}
	return err
}

// Millis is a duration; JSON has it in whole milliseconds.
type Millis time.Duration

// Duration returns m as the standard library's type.
func (m Millis) Duration() time.Duration { return time.Duration(m) }

// MarshalJSON implements [json.Marshaler].
func (m Millis) MarshalJSON() ([]byte, error) { return json.Marshal(m.Duration().Milliseconds()) }

// UnmarshalJSON implements [json.Unmarshaler].
func (m *Millis) UnmarshalJSON(text []byte) error {
	var n int64
	err := json.Unmarshal(text, &n)
	*m = Millis(time.Duration(n) * time.Millisecond)
	return err
}

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
