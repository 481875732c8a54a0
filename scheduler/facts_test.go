package scheduler_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	tools "github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/scheduler"
)

// The verbs of a journal and of a member history, as faults name them.
const (
	verbAppend = "append"
	verbNotes  = "notes"
	verbFormer = "former"
)

func (l *link) Append(ctx context.Context, name, request string, text []byte) error {
	_, err := through(ctx, l, call{verb: verbAppend}, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, l.Store.Append(ctx, name, request, text)
	})
	return err
}

func (l *link) Notes(ctx context.Context, name string, n int) ([]protocol.JournalEntry, error) {
	return through(ctx, l, call{verb: verbNotes}, func(ctx context.Context) ([]protocol.JournalEntry, error) {
		return l.Store.Notes(ctx, name, n)
	})
}

func (l *link) FormerMembers(ctx context.Context) ([]protocol.Member, error) {
	return through(ctx, l, call{verb: verbFormer}, func(ctx context.Context) ([]protocol.Member, error) {
		return l.Store.FormerMembers(ctx)
	})
}

// cutVerb lets every call but those of a verb through.
func (r *replica) cutVerb(verb string) {
	r.link.set(func(c call) fault { return fault{cut: c.verb == verb} })
}

// facts returns those of a kind, newest first, in a job's journal or the fleet's.
func (f *fleet) facts(job string, kind string) (list []tools.Fact) {
	f.t.Helper()
	people, err := tools.New(f.store)
	require.NoError(f.t, err)
	all, err := people.Facts(f.t.Context(), job)
	require.NoError(f.t, err)
	for _, fact := range all {
		if fact.Kind == kind {
			list = append(list, fact)
		}
	}
	return list
}

// why explains a tick of the fleet's first job.
func (f *fleet) why(tick time.Time) string {
	f.t.Helper()
	people, err := tools.New(f.store)
	require.NoError(f.t, err)
	e, err := people.Why(f.t.Context(), f.jobs[0].Name(), f.jobs[0], tick)
	require.NoError(f.t, err)
	return e.Text
}

func TestAtMostThreeRecordTheSameAbsence(t *testing.T) {
	inFleet(t, func(f *fleet) {
		var all []*replica
		for _, id := range []string{"a", "b", "c", "d", "e"} {
			all = append(all, f.start(id))
		}
		f.sleepTo(20 * time.Second)
		for _, r := range all {
			r.link.cut()
		}
		f.sleepTo(30 * time.Second)
		for _, r := range all {
			r.link.heal()
		}
		f.sleepTo(40 * time.Second)
		facts := f.facts("", wire.FactAway)
		require.Len(t, facts, 3)
		for _, fact := range facts {
			require.WithinDuration(t, at(20*time.Second), fact.From, 1500*time.Millisecond)
			require.WithinDuration(t, at(30*time.Second), fact.To, 1500*time.Millisecond)
			require.Equal(t, 5, fact.Living)
		}
	})
}

func TestBriefAbsenceIsNotRecorded(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 1s", takes(0))
		r := f.start("a")
		f.sleepTo(20*time.Second - 50*time.Millisecond) // a claim fails in it
		r.link.cut()
		f.sleepTo(20*time.Second + 200*time.Millisecond)
		r.link.heal()
		f.sleepTo(30 * time.Second)
		require.Empty(t, f.facts("", wire.FactAway))
	})
}

// takeover has replica a die, or stop, in a run that b takes over. No call of the cut verb reaches
// the store from b.
func (f *fleet) takeover(stop bool, cut string) (b *replica) {
	f.t.Helper()
	f.job("job", "@every 1m", firstTakes(time.Hour, time.Second))
	a := f.start("a", scheduler.WithShutdownGrace(0))
	f.sleepTo(61 * time.Second)
	b = f.start("b")
	f.sleepTo(65 * time.Second)
	b.cutVerb(cut)
	if stop {
		f.halt(a)
	} else {
		a.link.cut()
	}
	return b
}

func TestPreviousHolderIsRecorded(t *testing.T) {
	for name, stop := range map[string]bool{"stopped": true, "dead": false} {
		t.Run(name, func(t *testing.T) {
			inFleet(t, func(f *fleet) {
				f.takeover(stop, "")
				f.sleepTo(75 * time.Second)
				facts := f.facts("job", wire.FactTakeover)
				require.Len(t, facts, 1)
				fact := facts[0]
				require.Equal(t, []string{"a", "b"}, []string{fact.Replica, fact.By})
				require.Equal(t, at(time.Minute), fact.Tick.UTC())
				require.Equal(t, 1, fact.Attempt)
				require.Equal(t, stop, fact.Released)
				require.WithinDuration(t, at(time.Minute), fact.From, 50*time.Millisecond)
				ended := 65 * time.Second
				if !stop {
					ended += ttl
				}
				require.WithinDuration(t, at(ended), fact.To, ttl/3+200*time.Millisecond)
			})
		})
	}
}

func TestFactsOutlastAJournalThatFails(t *testing.T) {
	inFleet(t, func(f *fleet) {
		b := f.takeover(true, verbAppend)
		f.sleepTo(67 * time.Second)
		require.Empty(t, f.facts("job", wire.FactTakeover))
		b.link.heal()
		f.sleepTo(69 * time.Second)
		require.Len(t, f.facts("job", wire.FactTakeover), 1)
	})
}

func TestAStoppingReplicaWritesItsFacts(t *testing.T) {
	inFleet(t, func(f *fleet) {
		b := f.takeover(true, verbAppend)
		f.sleepTo(65*time.Second + 900*time.Millisecond)
		b.link.heal()
		f.halt(b)
		require.Len(t, f.facts("job", wire.FactTakeover), 1)
	})
}

// TestFactThatIsRefusedHoldsUpNoOther: the store answers everything else.
func TestFactThatIsRefusedHoldsUpNoOther(t *testing.T) {
	inFleet(t, func(f *fleet) {
		b := f.takeover(true, verbAppend)
		f.sleepTo(80 * time.Second)
		b.link.heal()
		f.sleepTo(90 * time.Second)
		require.Empty(t, f.facts("job", wire.FactTakeover), "it was given up")
		b.link.cut()
		f.sleepTo(100 * time.Second)
		b.link.heal()
		f.sleepTo(110 * time.Second)
		require.Len(t, f.facts("", wire.FactAway), 1)
	})
}

func TestFirstReplicaWithAScheduleIsRecorded(t *testing.T) {
	inFleet(t, func(f *fleet) {
		edited := f.editions("@every 1h", "@every 10s", takes(0))
		all := []*replica{f.start("a"), f.start("b")}
		f.sleepTo(25 * time.Second)
		require.Empty(t, f.facts("job", wire.FactEdited), "a new record was not edited")
		for _, r := range all {
			r.Update(f.registry(edited))
		}
		f.sleepTo(35 * time.Second)
		facts := f.facts("job", wire.FactEdited)
		require.Len(t, facts, 1)
		require.Equal(t, "UTC @every 10s", facts[0].Schedule)
		require.Equal(t, "UTC @every 1h", facts[0].Before)
		require.WithinDuration(t, at(25*time.Second), facts[0].From, time.Second)
	})
}

// TestHoldOfClaimsIsACauseInWhy puts the store's clock 8 h ahead, or in doubt, while a tick is due
// whose grace is short.
func TestHoldOfClaimsIsACauseInWhy(t *testing.T) {
	for name, test := range map[string]struct {
		step time.Duration
		back bool
		tick time.Duration
		want string
	}{
		"jump":       {8 * time.Hour, true, time.Minute, "forward by 8h"},
		"jump back":  {-8 * time.Hour, true, time.Minute, "back by 8h"},
		"correction": {time.Hour, false, 30 * time.Minute, "forward by 1h"},
	} {
		t.Run(name, func(t *testing.T) {
			inFleet(t, func(f *fleet) {
				f.job("job", "@every 1m", takes(0), jobs.WithMisfire(jobs.MisfireSkip, time.Second))
				f.start("a")
				f.start("b")
				f.sleepTo(57 * time.Second)
				f.store.step(test.step)
				f.sleepTo(61*time.Second + 500*time.Millisecond) // steady for less than 5 s
				if test.back {
					f.store.step(-test.step)
				}
				f.sleepTo(90 * time.Second)
				facts := f.facts("", wire.FactHeld)
				require.Len(t, facts, 2)
				require.WithinDuration(t, at(57*time.Second), facts[0].From, 1500*time.Millisecond)
				require.Equal(t, test.step, facts[0].Step.Round(time.Second))
				require.Equal(t, 2, facts[0].Living)
				text := f.why(at(test.tick))
				require.Regexp(t, "^It was missed because nothing was claimed from .*, since the clock of Redis had stepped "+test.want, text)
				require.Contains(t, text, "as a and b noted")
			})
		})
	}
}

func TestWhySaysThatClaimsAreHeldNow(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 1m", takes(0))
		f.start("a")
		f.sleepTo(57 * time.Second)
		f.store.step(time.Hour)
		f.sleepTo(61 * time.Second)
		require.Contains(t, f.why(at(time.Minute)), "claim nothing now, because they do not trust the clock of Redis")
	})
}
