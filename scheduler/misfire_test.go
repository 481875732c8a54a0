package scheduler_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/scheduler"
)

// downFor10Seconds stops a fleet at 20.5 s, whose ticks come every second, and starts it again over
// the same store at 30.6 s: ten ticks were due meanwhile, from 21 s to 30 s.
func downFor10Seconds(f *fleet) {
	f.startMany(3)
	f.sleepTo(20500 * time.Millisecond)
	f.stopAll()
	f.sleepTo(30600 * time.Millisecond)
	f.startMany(3)
	f.sleepTo(45500 * time.Millisecond)
}

func TestMisfiresAfterTheWholeFleetWasDown(t *testing.T) {
	catchUp := func(m jobs.Misfire, grace, window time.Duration, most int) []jobs.Option {
		return []jobs.Option{jobs.WithMisfire(m, grace), jobs.WithCatchUp(window, most)}
	}
	const hour = time.Hour
	for name, test := range map[string]struct {
		options []jobs.Option
		ran     []int // of the ten
		passed  map[string]int
	}{
		// Within a grace of 3 s are the ticks from 28 s on (2.6 s late), with none those from 30 s on.
		"skip": {catchUp(jobs.MisfireSkip, 3*time.Second, hour, 100), []int{28, 29, 30},
			map[string]int{"missed misfire": 7}},
		"skip without a grace": {catchUp(jobs.MisfireSkip, 0, hour, 100), []int{30},
			map[string]int{"missed misfire": 9}},
		"skip within the grace": {catchUp(jobs.MisfireSkip, time.Minute, hour, 100), []int{21, 22, 23, 24, 25, 26, 27, 28, 29, 30}, map[string]int{}},
		"latest": {catchUp(jobs.MisfireLatest, 3*time.Second, hour, 100), []int{27, 28, 29, 30},
			map[string]int{"missed misfire": 6}},
		"latest of none at most": {catchUp(jobs.MisfireLatest, 3*time.Second, hour, 0), []int{28, 29, 30},
			map[string]int{"missed misfire": 7}},
		"latest out of its window": {catchUp(jobs.MisfireLatest, 0, time.Second, 100), []int{30},
			map[string]int{"missed too_old": 9}},
		"all": {catchUp(jobs.MisfireAll, 0, hour, 100), []int{21, 22, 23, 24, 25, 26, 27, 28, 29, 30}, map[string]int{}},
		"all within a window": {catchUp(jobs.MisfireAll, 0, 6*time.Second, 100), []int{25, 26, 27, 28, 29, 30},
			map[string]int{"missed too_old": 4}},
		"all, a few at most": {catchUp(jobs.MisfireAll, 3*time.Second, hour, 2), []int{26, 27, 28, 29, 30},
			map[string]int{"missed too_many": 5}},
		"all, with both bounds": {catchUp(jobs.MisfireAll, 3*time.Second, 6*time.Second, 2), []int{26, 27, 28, 29, 30},
			map[string]int{"missed too_old": 4, "missed too_many": 1}},
	} {
		t.Run(name, func(t *testing.T) {
			inFleet(t, func(f *fleet) {
				f.job("job", "@every 1s", takes(0), test.options...)
				downFor10Seconds(f)
				var ran []int
				for _, a := range f.runs.of("job") {
					s := int(a.Tick.Sub(epoch).Seconds())
					if s >= 21 && s <= 30 {
						ran = append(ran, s)
						require.WithinDuration(t, epoch.Add(30600*time.Millisecond), a.start, 10*time.Millisecond)
					} else {
						require.Equal(t, a.Tick, a.start.UTC())
					}
				}
				require.ElementsMatch(t, test.ran, ran)
				require.IsIncreasing(t, append([]int{0}, ran...), "oldest first")
				require.Equal(t, test.passed, f.passed("job"), "each counted by one replica")
				missed := 10 - len(test.ran)
				want := map[protocol.Outcome]int{"succeeded": 45 - missed}
				if missed > 0 {
					want["missed"] = missed
				}
				require.Equal(t, want, f.fates("job"))
			})
		})
	}
}

func TestSkippedTicksNameTheirNewestTick(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 1s", takes(0), jobs.WithMisfire(jobs.MisfireSkip, 3*time.Second))
		downFor10Seconds(f)
		events, _ := eventsOf[scheduler.TicksSkipped](f)
		require.Equal(t, []scheduler.TicksSkipped{{
			Job: "job", To: epoch.Add(27 * time.Second), Count: 7, Outcome: wire.Missed, Reason: wire.ReasonMisfire,
		}}, events)
	})
}

// TestGapThatCannotBeClosedYetStaysOne lets every skip fail for 20 s after the fleet is back.
func TestGapThatCannotBeClosedYetStaysOne(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 1s", takes(0), jobs.WithMisfire(jobs.MisfireLatest, 3*time.Second))
		f.start("a")
		f.sleepTo(20500 * time.Millisecond)
		f.stopAll()
		f.sleepTo(30600 * time.Millisecond)
		r := f.start("b")
		r.link.set(func(c call) fault { return fault{cut: c.verb == verbPass} })
		f.sleepTo(50600 * time.Millisecond)
		r.link.heal()
		f.sleepTo(55500 * time.Millisecond)
		late := 0
		for _, a := range f.runs.of("job") {
			if a.start.Sub(a.Tick) > 3*time.Second {
				late++
			}
		}
		require.Equal(t, 1, late, "the newest of those past the grace")
		fates := f.fates("job")
		require.Equal(t, 55, fates["missed"]+fates["succeeded"])
	})
}

func TestANewJobCatchesUpNothing(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("old", "@every 1s", takes(0), jobs.WithMisfire(jobs.MisfireAll, 0))
		f.startMany(2)
		f.sleepTo(10500 * time.Millisecond)
		f.job("new", "@every 1s", takes(0), jobs.WithMisfire(jobs.MisfireAll, 0))
		f.start("c")
		f.sleepTo(12500 * time.Millisecond)
		require.Equal(t, "11s, 12s", f.story("new"))
		require.Empty(t, f.passed("new"))
	})
}

func TestAPausedJobSkipsEveryTick(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 1s", takes(0), paused)
		downFor10Seconds(f)
		require.Empty(t, f.runs.of("job"))
		require.Equal(t, map[string]int{"skipped paused": 45}, f.passed("job"), "each counted by one replica")
		require.Equal(t, map[protocol.Outcome]int{"skipped": 45}, f.fates("job"))
	})
}

// TestDayOfAbsenceIsDecidedInFewCalls has 100,000 ticks to decide about.
func TestDayOfAbsenceIsDecidedInFewCalls(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 1s", takes(0), jobs.WithMisfire(jobs.MisfireLatest, 10*time.Second), jobs.WithCatchUp(30*24*time.Hour, 10))
		f.start("a")
		f.sleepTo(10500 * time.Millisecond)
		f.stopAll()
		f.sleepTo(28*time.Hour + 500*time.Millisecond)
		r := f.start("b")
		calls := 0
		r.link.set(func(c call) fault {
			if c.verb == verbClaim || c.verb == verbPass {
				calls++
			}
			return fault{}
		})
		f.sleepTo(28*time.Hour + 600*time.Millisecond)
		require.LessOrEqual(t, calls, 25, "a pass, and two for each that runs: it has to wait for the one before")
		require.Equal(t, map[string]int{"missed misfire": 28*3600 - 10 - 11}, f.passed("job"))
		require.Empty(t, f.fates("job")[""])
	})
}
