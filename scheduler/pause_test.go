package scheduler_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/jobs"
)

// pausedByConfig is the policy that a configuration file spells paused: true.
func pausedByConfig(s *jobs.Spec) { s.Paused = true }

func TestPausedJobSkipsTicksAndKeepsItsRuns(t *testing.T) {
	for _, overlap := range []jobs.Overlap{jobs.Forbid, jobs.Allow, jobs.Queue, jobs.Replace} {
		t.Run(string(overlap), func(t *testing.T) {
			inFleet(t, func(f *fleet) {
				f.job("job", "@every 10s", takes(7*time.Second), jobs.WithOverlap(overlap))
				f.job("other", "@every 10s", takes(0))
				f.startMany(3)
				f.sleepTo(12 * time.Second)
				f.pause("job")
				f.sleepTo(45 * time.Second)
				f.resume("job")
				f.sleepTo(68 * time.Second)
				require.Equal(t, "10s, 50s, 1m0s", f.story("job"), "the next one after the pause, and none from before")
				require.Equal(t, map[protocol.Outcome]int{"succeeded": 3, "skipped": 3}, f.fates("job"))
				require.Equal(t, map[string]int{"skipped paused": 3}, f.passed("job"), "each reported by one replica")
				require.Len(t, f.runs.of("other"), 6, "another job does not mind")
			})
		})
	}
}

// TestQueuedTickOfPausedJobRuns: it is open, and goes on.
func TestQueuedTickOfPausedJobRuns(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 10s", takes(15*time.Second), queued)
		f.startMany(3)
		f.sleepTo(21 * time.Second)
		f.pause("job")
		f.sleepTo(time.Minute)
		require.Equal(t, "10s, 20s at 25s", f.story("job"))
	})
}

// TestTicksDueInPauseAreNotCaughtUp, whatever the misfire policy, if nobody was there to skip it.
func TestTicksDueInPauseAreNotCaughtUp(t *testing.T) {
	for name, test := range map[string]struct {
		down, up, resume time.Duration // 0: never down
	}{
		"nobody at the resume":              {25 * time.Second, 75 * time.Second, 55 * time.Second},
		"nobody for a while":                {25 * time.Second, 45 * time.Second, 75 * time.Second},
		"back at once after the resume":     {25 * time.Second, 55100 * time.Millisecond, 55 * time.Second},
		"nobody when the pause began":       {12 * time.Second, 35 * time.Second, 75 * time.Second},
		"nobody from before until after it": {12 * time.Second, 75 * time.Second, 55 * time.Second},
	} {
		for _, overlap := range []jobs.Overlap{jobs.Forbid, jobs.Queue} {
			t.Run(name+"/"+string(overlap), func(t *testing.T) {
				inFleet(t, func(f *fleet) {
					f.job("job", "@every 10s", takes(0), jobs.WithMisfire(jobs.MisfireAll, 10*time.Second), jobs.WithOverlap(overlap))
					f.startMany(3)
					steps := []struct {
						at time.Duration
						do func()
					}{
						{test.down, f.stopAll},
						{15 * time.Second, func() { f.pause("job") }},
						{test.resume, func() { f.resume("job") }},
						{test.up, func() { f.startMany(3) }},
					}
					for now := time.Duration(0); now < 95*time.Second; now += 100 * time.Millisecond {
						f.sleepTo(now)
						for _, s := range steps {
							if s.at == now {
								s.do()
							}
						}
					}
					for _, run := range f.runs.of("job") {
						require.False(t, run.Tick.After(at(15*time.Second)) && run.Tick.Before(at(test.resume)), "%s", since(run.Tick))
					}
					first := test.resume.Truncate(10*time.Second) + 10*time.Second
					require.Len(t, f.runsOf("job", at(first)), 1, "the first after the pause")
					fates := f.fates("job")
					require.Zero(t, fates[""])
					require.Equal(t, int((first-20*time.Second)/(10*time.Second)), fates["skipped"], "%v", fates)
				})
			})
		}
	}
}

// TestAPauseOutlivesTheStore by the replicas, when all know of it.
func TestAPauseOutlivesTheStore(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 10s", takes(0), jobs.WithMisfire(jobs.MisfireAll, time.Minute))
		f.startMany(3)
		f.sleepTo(15 * time.Second)
		f.pause("job")
		f.stopAll()
		f.startMany(3)
		for i := range 5 {
			f.sleepTo(time.Duration(25+20*i) * time.Second)
			f.store.Forget()
			time.Sleep(2 * time.Second)
			p := f.inspect("job").Paused
			require.NotNil(t, p)
			require.Equal(t, protocol.Pause{By: "ops", Reason: "to see", Since: at(15 * time.Second)}, *p)
		}
		f.sleepTo(125 * time.Second)
		f.resume("job")
		f.sleepTo(145 * time.Second)
		require.Equal(t, "10s, 2m10s, 2m20s", f.story("job"))
	})
}

// TestReplicaThatSkippedATickKnowsThePause, and makes the record again with it.
func TestReplicaThatSkippedATickKnowsThePause(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 10s", takes(0))
		f.start("a")
		f.sleepTo(15 * time.Second)
		f.pause("job")
		f.sleepTo(22 * time.Second)
		f.store.Forget()
		f.sleepTo(45 * time.Second)
		require.Equal(t, "10s", f.story("job"))
		require.NotNil(t, f.inspect("job").Paused)
	})
}

// TestTriggeredRunLeavesThePauseInForce: it is granted while the job is paused.
func TestTriggeredRunLeavesThePauseInForce(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 10s", takes(0))
		f.start("a")
		f.sleepTo(15 * time.Second)
		f.pause("job")
		f.sleepTo(22500 * time.Millisecond)
		f.trigger("job")
		f.sleepTo(23 * time.Second)
		require.Len(t, f.runs.of("job"), 2)
		f.store.Forget()
		f.sleepTo(45 * time.Second)
		require.Len(t, f.runs.of("job"), 2)
		require.NotNil(t, f.inspect("job").Paused)
	})
}

func TestJobThatItsConfigurationPausesSkipsItsTicks(t *testing.T) {
	inFleet(t, func(f *fleet) {
		for _, overlap := range []jobs.Overlap{jobs.Forbid, jobs.Queue, jobs.Replace} {
			f.job(string(overlap), "@every 10s", takes(0), pausedByConfig, jobs.WithOverlap(overlap))
		}
		f.startMany(3)
		f.sleepTo(35 * time.Second)
		require.Empty(t, f.runs.of(""))
		for _, overlap := range []jobs.Overlap{jobs.Forbid, jobs.Queue, jobs.Replace} {
			require.Equal(t, map[string]int{"skipped paused": 3}, f.passed(string(overlap)))
			require.Equal(t, map[protocol.Outcome]int{"skipped": 3}, f.fates(string(overlap)))
			r := f.inspect(string(overlap))
			require.Nil(t, r.Paused, "which is no pause of the fleet's")
		}
	})
}

func TestALeadersPauseOutlivesTheStore(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.leader("job", leads)
		f.startMany(3)
		f.sleepTo(10 * time.Second)
		f.pause("job")
		f.sleepTo(40 * time.Second)
		require.Len(t, f.runs.of("job"), 1)
		require.Nil(t, f.leading("job"))
		f.store.Forget()
		f.sleepTo(90 * time.Second)
		require.Len(t, f.runs.of("job"), 1, "it is paused")
	})
}
