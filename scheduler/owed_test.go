package scheduler_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/jobs"
)

// TestTicksOfBothSchedulesOutliveAnEdit has the whole fleet restarted over them, with another
// definition.
func TestTicksOfBothSchedulesOutliveAnEdit(t *testing.T) {
	berlin, utc := jobs.WithTimezone("Europe/Berlin"), jobs.WithTimezone("UTC")
	for name, test := range map[string]struct {
		before, after string
		zone          jobs.Option // after the edit
		story         string
		passed        map[string]int
	}{
		"same":                {"*/10 * * * * *", "*/10 * * * * *", utc, "10s, 20s at 25s, 30s, 40s", nil},
		"respelled":           {"*/10 * * * * *", "0/10 * * * * *", utc, "10s, 20s at 25s, 30s, 40s", nil},
		"as an interval":      {"*/10 * * * * *", "@every 10s", utc, "10s, 20s at 25s, 30s, 40s", nil},
		"in another zone":     {"*/10 * * * * *", "*/10 * * * * *", berlin, "10s, 20s at 25s, 30s, 40s", nil},
		"narrower":            {"*/10 * * * * *", "*/20 * * * * *", utc, "10s, 20s at 25s, 40s", nil},
		"wider":               {"*/20 * * * * *", "*/10 * * * * *", utc, "20s at 25s, 30s, 40s", map[string]int{"missed edited": 1}},
		"others only":         {"*/20 * * * * *", "5/10 * * * * *", utc, "25s, 35s, 45s", map[string]int{"missed edited": 2}},
		"not in the old one":  {"@every 1h", "*/10 * * * * *", utc, "30s, 40s", map[string]int{"missed edited": 2}},
		"a zone of the year":  {"0 2 * * *", "*/10 * * * * *", berlin, "30s, 40s", map[string]int{"missed edited": 2}},
		"not in the new one":  {"*/10 * * * * *", "@every 1h", utc, "10s", nil},
		"in letters and zone": {"*/10 * * * * *", "0-59/10 * * * * *", berlin, "10s, 20s at 25s, 30s, 40s", nil},
	} {
		for _, misfire := range []jobs.Option{
			jobs.WithMisfire(jobs.MisfireSkip, 10*time.Second), // within the grace: the policy is not asked
			jobs.WithMisfire(jobs.MisfireLatest, time.Second),
			jobs.WithMisfire(jobs.MisfireAll, time.Second),
		} {
			t.Run(name, func(t *testing.T) {
				inFleet(t, func(f *fleet) {
					f.job("job", test.before, takes(0), misfire)
					edited := f.newJob("job", test.after, takes(0), misfire, test.zone)
					f.startMany(3)
					f.sleepTo(18 * time.Second)
					f.stopAll()
					f.jobs = []*jobs.Job{edited}
					f.sleepTo(25 * time.Second)
					f.startMany(3)
					f.sleepTo(49 * time.Second)
					require.Equal(t, test.story, f.story("job"))
					passed := f.passed("job")
					if len(test.passed) == 0 {
						require.Empty(t, passed)
					} else {
						require.Equal(t, test.passed, passed)
					}
				})
			})
		}
	}
}

// TestCommonTicksOutliveAFleetThatDisagrees has replicas of two definitions die together, and start
// one after the other.
func TestCommonTicksOutliveAFleetThatDisagrees(t *testing.T) {
	for name, order := range map[string]string{"first": "abc", "second": "bac", "last": "bca", "alternating": "abacab"} {
		t.Run(name, func(t *testing.T) {
			inFleet(t, func(f *fleet) {
				misfire, overlap := jobs.WithMisfire(jobs.MisfireAll, time.Minute), jobs.WithOverlap(jobs.Allow)
				narrow := []*jobs.Job{f.newJob("job", "*/2 * * * * *", takes(0), misfire, overlap)}
				wide := []*jobs.Job{f.newJob("job", "* * * * * *", takes(0), misfire, overlap)}
				start := func(who rune) {
					if who == 'a' {
						f.startWith("a", narrow)
					} else {
						f.startWith(string(who), wide)
					}
				}
				for _, who := range "abc" {
					start(who)
				}
				f.sleepTo(10500 * time.Millisecond)
				f.stopAll()
				f.sleepTo(17500 * time.Millisecond)
				for i, who := range order {
					if i >= 3 { // a deploy that begins again
						f.halt(f.replica(string(who)))
					}
					start(who)
					time.Sleep(100 * time.Millisecond)
				}
				f.sleepTo(30500 * time.Millisecond)
				ran := map[time.Duration]int{}
				for _, run := range f.runs.of("job") {
					ran[run.Tick.Sub(epoch)]++
				}
				for tick := 2 * time.Second; tick <= 30*time.Second; tick += 2 * time.Second {
					require.Equal(t, 1, ran[tick], "%s of %v", tick, ran)
				}
				for tick, n := range ran {
					require.Equal(t, 1, n, tick)
				}
			})
		})
	}
}

// TestNextTickAfterAnEditIsPrompt though a tick that only the new schedule has was due right before
// the edit.
func TestNextTickAfterAnEditIsPrompt(t *testing.T) {
	inFleet(t, func(f *fleet) {
		edited := f.editions("@every 1h", "* * * * * *", takes(0), jobs.WithMisfire(jobs.MisfireAll, time.Minute))
		f.startMany(3)
		f.sleepTo(10100 * time.Millisecond)
		for _, r := range f.replicas {
			r.Update(f.registry(edited))
		}
		f.sleepTo(13500 * time.Millisecond)
		require.Equal(t, "11s, 12s, 13s", f.story("job"))
	})
}

// TestAMistakeThatIsTakenBackLosesNothing in an outage over which the schedule was edited to and
// fro.
func TestAMistakeThatIsTakenBackLosesNothing(t *testing.T) {
	inFleet(t, func(f *fleet) {
		misfire := jobs.WithMisfire(jobs.MisfireAll, time.Second)
		mistake := f.editions("*/10 * * * * *", "@every 1h", takes(0), misfire)
		f.startMany(2)
		right := f.jobs
		f.sleepTo(15 * time.Second)
		f.stopAll()
		f.sleepTo(35 * time.Second)
		for range 6 { // and it crashes
			f.jobs = []*jobs.Job{mistake}
			f.startMany(1)
			time.Sleep(10 * time.Millisecond)
			f.stopAll()
			f.jobs = right
			f.startMany(1)
			f.stopAll()
		}
		f.startMany(2)
		f.sleepTo(45 * time.Second)
		require.Len(t, f.runsOf("job", at(20*time.Second)), 1)
		require.Len(t, f.runsOf("job", at(30*time.Second)), 1)
		require.Len(t, f.runsOf("job", at(40*time.Second)), 1)
	})
}
