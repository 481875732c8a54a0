package schedule_test

import (
	"testing"
	"time"
	"unicode/utf8"

	"github.com/solotick/solotick/jobs/schedule"
)

// FuzzParse holds that nothing panics, that a refusal gives its reason in one line, and that ticks
// rise in whole seconds, at least MinInterval apart.
func FuzzParse(f *testing.F) {
	for _, spec := range []string{
		"* * * * *", "*/30 0-5,23 * JAN-MAR MON", "0 30 2 ? * 7", "H H(1-5)/2 H * *", "0 0 L,15W,LW * *", "0 0 * * FRI#2,1L",
		"0 0 29 2 *", "0 0 30 2 *", "@daily", "@every 1h offset 5m", "@every -5s", "@at 2030-01-31T08:00:00Z", "@reboot",
		"@triggered", "@stored", "@stored x", "TZ=0", "CRON_TZ=UTC", "TZ=UTC * * * * *", ",", ", , , , ,", "*-5 1-2-3 */ /5 H(", "@every", "@at", "@", "\xff",
		"99999999999999999999 * * * *", "*/99999999999999999999 * * * *", "0 0 * 2 SUN#5", "59 59 23 31 12 6",
	} {
		for zone := range 3 {
			f.Add(spec, "job", uint8(zone*20), int64(1741503600))
		}
	}
	f.Fuzz(func(t *testing.T, spec, name string, zone uint8, after int64) {
		loc := location(t, zones[int(zone)%len(zones)])
		s, err := schedule.Parse(spec, loc, name)
		if err != nil {
			for _, c := range err.Error() {
				if c == '\n' || c == utf8.RuneError {
					t.Fatalf("%q: the error is not one line of text: %q", spec, err)
				}
			}
			return
		}
		again, err := schedule.Parse(s.String(), loc, name)
		if err != nil {
			t.Fatalf("%q is accepted, and its String %q is not: %v", spec, s, err)
		}

		tick := time.Unix(after, 0)
		for i := range 20 {
			following := s.Next(tick)
			if other := again.Next(tick); !other.Equal(following) {
				t.Fatalf("%q says %s after %s, and its String %s", spec, following, tick, other)
			}
			if following.IsZero() {
				break
			}
			if !following.After(tick) || following.Nanosecond() != 0 || following.Location() != time.UTC {
				t.Fatalf("%q: %v after %v", spec, following, tick)
			}
			tooClose := i > 0 && following.Sub(tick) < s.MinInterval()
			if tooClose && tick.Year() >= 2000 && following.Year() <= 2060 {
				t.Fatalf("%q: %s and %s are closer than %s", spec, tick, following, s.MinInterval())
			}
			tick = following
		}
		from := time.Unix(after, 0)
		for _, change := range s.ClockChanges(from, from.AddDate(1, 0, 0)) {
			if change.Ticks < 1 || change.String() == "" {
				t.Fatalf("%q: %+v", spec, change)
			}
		}
	})
}
