package schedule_test

import (
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/solotick/solotick/jobs/schedule"
)

// oracle finds ticks the slow and obvious way: it looks at the zone's clock step after step, and
// remembers every local time that it has seen.
type oracle struct {
	step   int64 // seconds, 1 or 60
	base   int64 // the local time that shown[0] stands for
	shown  []bool
	before local
	due    []local // the last answer, kept for its memory
}

// local is a local time, as the seconds from 1970 to that time in UTC, with its parts.
type local struct {
	unix                 int64
	second, minute, hour int
	day, month, weekday  int
}

func readClock(t time.Time) local {
	year, month, day := t.Date()
	hour, minute, second := t.Clock()
	return local{
		unix:   time.Date(year, month, day, hour, minute, second, 0, time.UTC).Unix(),
		second: second, minute: minute, hour: hour, day: day, month: int(month), weekday: int(t.Weekday()),
	}
}

// newOracle watches a clock from one instant to another; both are Unix seconds.
func newOracle(loc *time.Location, from, to, step int64) *oracle {
	const farthest = 2 * 24 * 60 * 60 // that a clock is from UTC
	before := readClock(time.Unix(from-step, 0).In(loc))
	return &oracle{
		step: step, base: before.unix - farthest, before: before,
		shown: make([]bool, (to-from+2*farthest)/step+2),
	}
}

// look is called for each instant in turn. It returns the local time at the instant, and those that
// a fixed-time spec must run now if it names them: the one that is shown for the first time, and
// the ones that were jumped over. They are valid until the next call.
func (o *oracle) look(at int64, loc *time.Location) (now local, due []local) {
	now = readClock(time.Unix(at, 0).In(loc))
	o.due = o.due[:0]
	first := now.unix
	if now.unix > o.before.unix {
		first = o.before.unix + o.step
	}
	for unix := first; unix <= now.unix; unix += o.step {
		if seen := &o.shown[(unix-o.base)/o.step]; !*seen {
			*seen = true
			if unix == now.unix {
				o.due = append(o.due, now)
			} else {
				o.due = append(o.due, readClock(time.Unix(unix, 0).UTC()))
			}
		}
	}
	o.before = now
	return now, o.due
}

// warmUp is how long an oracle watches before its word counts, so that it knows repeated times from
// new ones. No clock has been put back by more than three hours since 2000.
const warmUp = 4 * 60 * 60

// oracleTicks returns the ticks of a plan from one instant up to but not including another.
func oracleTicks(p *plan, loc *time.Location, from, to, step int64) []int64 {
	o := newOracle(loc, from-warmUp, to, step)
	ticks := []int64{}
	for at := from - warmUp; at < to; at += step {
		now, due := o.look(at, loc)
		if at >= from && p.ticks(now, due) {
			ticks = append(ticks, at)
		}
	}
	return ticks
}

func (p *plan) ticks(now local, due []local) bool {
	if p.wildcard {
		return p.matches(now)
	}
	return slices.ContainsFunc(due, p.matches)
}

func TestTicksMatchAClockWatchedBySeconds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		loc := drawZone(t)
		// Most weeks are alike: look at the days around a clock change where there is one.
		change := drawInstant(t).In(loc)
		if _, end := change.ZoneBounds(); !end.IsZero() {
			change = end
		}
		const before, after = 4 * 60 * 60, 20 * 60 * 60
		p := drawPlan(t)
		requireOracle(t, p, loc, change.Unix()-before, change.Unix()+after, 1)
	})
}

func TestTicksMatchAClockWatchedByMinutes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		loc := drawZone(t)
		from := drawInstant(t).Unix() / 60 * 60
		p := drawPlan(t)
		p.onTheMinute()
		requireOracle(t, p, loc, from, from+60*24*60*60, 60)
	})
}

func drawZone(t *rapid.T) *time.Location {
	loc, err := time.LoadLocation(rapid.SampledFrom(zones).Draw(t, "zone"))
	require.NoError(t, err)
	return loc
}

func requireOracle(t *rapid.T, p plan, loc *time.Location, from, to, step int64) {
	s, err := schedule.Parse(p.text, loc, "job")
	require.NoError(t, err, p.text)
	got := ticksBetween(s, time.Unix(from-1, 0), time.Unix(to-1, 0))
	want := oracleTicks(&p, loc, from, to, step)
	if len(got) != len(want) || firstDifference(got, want) >= 0 {
		i := firstDifference(got, want)
		t.Fatalf("%q in %s: %d ticks, want %d; tick %d differs: %v, want %v", p.text, loc, len(got), len(want), i,
			tickAt(got, i), tickAt(want, i))
	}

	// A replica that starts anywhere in between finds the same ticks.
	for range 20 {
		after := rapid.Int64Range(from, to-1).Draw(t, "after")
		if i, _ := slices.BinarySearch(want, after+1); i < len(want) {
			require.Equal(t, tickAt(want, i), s.Next(time.Unix(after, 0)).Format(time.RFC3339), "%q in %s after %d", p.text, loc, after)
		}
	}
}

func firstDifference(a, b []int64) int {
	for i := range max(len(a), len(b)) {
		if i >= len(a) || i >= len(b) || a[i] != b[i] {
			return i
		}
	}
	return -1
}

func tickAt(ticks []int64, i int) string {
	if i < 0 || i >= len(ticks) {
		return "none"
	}
	return time.Unix(ticks[i], 0).UTC().Format(time.RFC3339)
}

// TestTicksOfEveryZoneMatchItsClock watches every zone of this machine's databases through the
// years 2000 to 2040. It takes some twenty minutes of one processor: SOLOTICK_EXHAUSTIVE=1 go test
// -timeout 2h -run OfEveryZone
func TestTicksOfEveryZoneMatchItsClock(t *testing.T) {
	if os.Getenv("SOLOTICK_EXHAUSTIVE") != "1" {
		t.Skip("set SOLOTICK_EXHAUSTIVE=1 to watch every zone; a sample of them is watched without")
	}
	from := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	to := time.Date(2041, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	plans := exhaustivePlans()
	for _, name := range allZones(t, from-warmUp, to) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			loc := location(t, name)
			next := make([]int64, len(plans)) // the coming tick of each plan
			schedules := make([]*schedule.Schedule, len(plans))
			for i, p := range plans {
				schedules[i] = parse(t, p.text, loc)
				next[i] = schedules[i].Next(time.Unix(from-1, 0)).Unix()
			}
			o := newOracle(loc, from-warmUp, to, 60)
			for at := from - warmUp; at < to; at += 60 {
				now, due := o.look(at, loc)
				if at < from {
					continue
				}
				for i := range plans {
					if at%1200 == 0 { // replicas that start now find the same tick
						if again := schedules[i].Next(time.Unix(at-1, 0)).Unix(); again != next[i] {
							t.Fatalf("%q: next says %s and then %s", plans[i].text, tickAt(next, i), tickAt([]int64{again}, 0))
						}
					}
					ticks := plans[i].ticks(now, due)
					if ticks != (next[i] == at) {
						t.Fatalf("%q: a tick at %s is %t, next says %s", plans[i].text, tickAt([]int64{at}, 0), ticks, tickAt(next, i))
					}
					if ticks {
						next[i] = schedules[i].Next(time.Unix(at, 0)).Unix()
					}
				}
			}
		})
	}
}
