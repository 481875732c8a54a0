package scheduler_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/scheduler"
)

func TestTheFirstReplicaBackNotesThatNoneLived(t *testing.T) {
	for name, dies := range map[string]bool{"stopped": false, "dead": true} {
		t.Run(name, func(t *testing.T) {
			inFleet(t, func(f *fleet) {
				f.job("job", "@every 1m", takes(0), jobs.WithMisfire(jobs.MisfireSkip, time.Second))
				f.start("a")
				f.start("b")
				f.sleepTo(50 * time.Second)
				for _, r := range f.replicas[:2] {
					if dies {
						r.link.cut()
					} else {
						f.halt(r)
					}
				}
				f.sleepTo(80 * time.Second)
				f.start("c")
				f.sleepTo(85 * time.Second)
				facts := f.facts("", wire.FactAbsent)
				require.Len(t, facts, 1)
				require.WithinDuration(t, at(50*time.Second), facts[0].From, 1600*time.Millisecond)
				require.WithinDuration(t, at(80*time.Second), facts[0].To, time.Second)
				require.Equal(t, "c", facts[0].By)
				require.Contains(t, []string{"a", "b"}, facts[0].Replica)
				require.Empty(t, facts[0].Groups)
				require.Contains(t, f.why(at(time.Minute)), "It was missed because no replica lived: ")
			})
		})
	}
}

func TestNoAbsenceIsRecordedWhileAReplicaLives(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 1m", takes(0), jobs.WithGroups("eu"))
		a := f.start("a", scheduler.WithGroups("eu"))
		for i, id := range []string{"b", "c", "d", "e"} { // at any time between two heartbeats
			f.sleepTo(time.Duration(20+5*i)*time.Second + time.Duration(i)*400*time.Millisecond)
			f.start(id, scheduler.WithGroups("eu"))
		}
		f.sleepTo(50 * time.Second)
		f.halt(a)
		f.start("a", scheduler.WithGroups("eu"))
		f.sleepTo(60 * time.Second)
		require.Empty(t, f.facts("", wire.FactAbsent))
	})
}

func TestAbsenceOfAGroupIsRecorded(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 1m", takes(0), jobs.WithGroups("eu", "asia", "eu"), jobs.WithMisfire(jobs.MisfireSkip, time.Second))
		f.job("any", "@every 1m", takes(0))
		f.start("us", scheduler.WithGroups("us"))
		eu := f.start("eu1", scheduler.WithGroups("eu"))
		f.sleepTo(50 * time.Second)
		f.halt(eu)
		f.sleepTo(80 * time.Second)
		f.start("eu2", scheduler.WithGroups("eu"))
		f.sleepTo(85 * time.Second)
		facts := f.facts("", wire.FactAbsent)
		require.Len(t, facts, 1)
		require.Equal(t, []string{"asia", "eu"}, facts[0].Groups)
		require.Equal(t, []string{"eu1", "eu2"}, []string{facts[0].Replica, facts[0].By})
		require.WithinDuration(t, at(50*time.Second), facts[0].From, 100*time.Millisecond)
		require.Contains(t, f.why(at(time.Minute)), "no replica of the groups asia and eu lived")
	})
}

// TestAbsenceEndsWhenTheStoreIsAway: what follows is the store's.
func TestAbsenceEndsWhenTheStoreIsAway(t *testing.T) {
	inFleet(t, func(f *fleet) {
		a := f.start("a")
		f.sleepTo(20 * time.Second)
		f.halt(a)
		f.sleepTo(40 * time.Second)
		b := f.start("b")
		b.link.cut()
		f.sleepTo(60 * time.Second)
		b.link.heal()
		f.sleepTo(70 * time.Second)
		absent, away := f.facts("", wire.FactAbsent), f.facts("", wire.FactAway)
		require.Len(t, absent, 1)
		require.WithinDuration(t, at(40*time.Second), absent[0].To, time.Second)
		require.Len(t, away, 1)
		require.WithinDuration(t, at(40*time.Second), away[0].From, time.Second)
		require.WithinDuration(t, at(60*time.Second), away[0].To, 1500*time.Millisecond)
	})
}
