package solotest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
)

func TestAGoodJobPassesEveryNemesis(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			Run(t, 3, func(_ *testing.T, f *Fleet) {
				gate := f.Gate()
				f.Func("invoices", "@every 1m", invoice(gate.WriteOnce, fenced))
				f.AdvanceUnder(Nemesis{Seed: seed}, 15*time.Minute)
				f.Advance(2 * time.Minute)
				gate.AssertOnce()
				gate.AssertNoStale()
			})
		})
	}
}

// TestANemesisFindsWhatIsWrong has jobs that write twice when they run again, and without a token.
func TestANemesisFindsWhatIsWrong(t *testing.T) {
	for kind, check := range map[string]func(g *Gate) []string{
		"kill":   func(g *Gate) []string { return g.inner.NotOnce(nil) },
		"freeze": func(g *Gate) []string { return g.inner.Stale() },
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			found := 0
			for seed := uint64(0); seed < 3 && found == 0; seed++ {
				Run(t, 3, func(_ *testing.T, f *Fleet) {
					gate := f.Gate()
					f.Func("invoices", "@every 20s", func(ctx context.Context, run jobs.Run) error {
						if err := gate.Write(ctx, 0, "begins "+run.TickID()); err != nil {
							return err
						}
						return invoice(gate.Write, unfenced)(ctx, run)
					})
					f.AdvanceUnder(Nemesis{Seed: seed, Kinds: []string{kind}}, 30*time.Minute)
					found += len(check(gate))
				})
			}
			require.Positive(t, found)
		})
	}
}

// TestOneSeedMakesTheSameFaults compares all that it draws.
func TestOneSeedMakesTheSameFaults(t *testing.T) {
	faults := func() (list []Fault) {
		Run(t, 3, func(_ *testing.T, f *Fleet) {
			f.Func("job", "@every 10s", func(context.Context, jobs.Run) error { return nil })
			f.AdvanceUnder(Nemesis{Seed: 7, Kinds: Kinds()}, 30*time.Minute)
			list = f.Faults()
		})
		return list
	}
	first := faults()
	require.Greater(t, len(first), 20)
	require.Equal(t, first, faults())
}

func TestAnOutageHoldsUpTicks(t *testing.T) {
	for name, stop := range map[string]func(*Fleet){"stopped": (*Fleet).StopStore, "frozen": (*Fleet).FreezeStore} {
		t.Run(name, func(t *testing.T) {
			Run(t, 2, func(_ *testing.T, f *Fleet) {
				gate := f.Gate()
				f.Func("invoices", "@every 1m", invoice(gate.WriteOnce, fenced))
				f.Advance(90 * time.Second)
				stop(f)
				f.Advance(2 * time.Minute)
				require.Len(t, f.Runs("invoices"), 1, "nothing starts")
				f.StartStore()
				f.Advance(2 * time.Minute)
				require.Greater(t, len(f.Runs("invoices")), 1)
				outage := f.Faults()[0]
				require.Equal(t, 2*time.Minute, outage.To.Sub(outage.From))
			})
		})
	}
}

func TestOperatorsAndDeploysOfAFleet(t *testing.T) {
	Run(t, 2, func(_ *testing.T, f *Fleet) {
		var payloads []string
		job := func(schedule string) *jobs.Job {
			j, err := jobs.New("job", schedule, func(_ context.Context, run jobs.Run) error {
				payloads = append(payloads, string(run.Payload))
				return nil
			})
			require.NoError(t, err)
			return j
		}
		f.Job(job("@every 1h"))
		f.Advance(time.Minute)
		tick := f.Trigger("job", "now")
		f.Advance(time.Second)
		require.Equal(t, []string{"now"}, payloads)
		require.Equal(t, tick, f.Runs("job")[0].Tick.UTC())
		require.Equal(t, wire.Succeeded, f.Runs("job")[0].Outcome)

		f.PauseJob("job")
		f.Advance(time.Hour)
		require.Len(t, f.Runs("job"), 1)
		f.ResumeJob("job")
		require.Equal(t, "r3", f.Start())
		f.Stop("r1")
		f.Kill("r2")
		f.Redefine(job("@every 1m"))
		f.Advance(2 * time.Minute)
		runs := f.Runs("job")
		require.Len(t, runs, 3)
		require.Equal(t, "r3", runs[2].Replica)
		f.StepClock(-time.Second)
		require.Equal(t, time.Now().Add(-time.Second).UTC(), f.Now())
	})
}
