package job

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/scheduler/internal/membership"
	"github.com/solotick/solotick/scheduler/internal/reports"

	"github.com/solotick/solotick/internal/heartbeat"
)

// ranked makes others members besides this replica, and calls f with the ids of those that claim
// the job before it, the first of them first.
func ranked(t *testing.T, others int, f func(v *View, r *replica, before []string)) {
	synctest.Test(t, func(t *testing.T) {
		v, r := newView(t)
		replicas := []heartbeat.Replica{{ID: "self", MaxRuns: 1, JobCount: 1}} // nobody knows which job it serves
		for i := range others {
			replicas = append(replicas, heartbeat.Replica{ID: fmt.Sprint("replica-", i), MaxRuns: 1000, JobCount: 1})
		}
		r.Peers.Read(replicas)
		time.Sleep(membership.SettleTime)
		r.Peers.Read(replicas)
		var before []string
		ranking := r.Peers.Current()
		for p := v.Order.Place(); p.Rank > 0; p = v.Order.placeIn(ranking, before...) {
			before = append(before, ranking.Members[p.First].ID)
		}
		f(v, r, before)
	})
}

func TestBackupLeavesATickToThoseBeforeIt(t *testing.T) {
	ranked(t, 2, func(v *View, _ *replica, before []string) {
		require.Len(t, before, 2)
		require.EqualValues(t, 500, v.Order.Backup())
		require.Equal(t, Step{State: Deferring, At: next + 500}, v.Step(next))

		require.True(t, v.Order.passedBy(next, before[0]), "it has no room")
		require.False(t, v.Order.passedBy(next, before[0]))
		require.EqualValues(t, next+250, v.Order.claimAt(next))
		require.EqualValues(t, next+60_500, v.Order.claimAt(next+60_000), "it may have some for the next")

		v.Peers.Work.See(before[1], []reports.Report{{Kind: reports.Granted, Tick: next}}, next+900)
		require.EqualValues(t, next+900+250, v.Order.claimAt(next), "the first that has room works off the same instant")
		v.Order.CountFrom(next + 2000)
		require.EqualValues(t, next+2250, v.Order.claimAt(next))
		require.Zero(t, v.Order.claimAt(0))
	})
}

func TestHolderThatIsGoneIsNotWaitedFor(t *testing.T) {
	ranked(t, 2, func(v *View, _ *replica, before []string) {
		require.EqualValues(t, 200, v.Order.Takeover())
		require.EqualValues(t, 100, v.Order.Takeover(before[0]))
		require.EqualValues(t, 100, v.Order.Takeover(before[1]))
		require.EqualValues(t, 200, v.Order.Takeover("nobody"))
	})
}

func TestReplicaSaysOnceThatItHasNoRoomIfOthersWaitForIt(t *testing.T) {
	ranked(t, 2, func(v *View, _ *replica, _ []string) {
		require.False(t, v.Order.pass(next, 1), "nobody is behind it")
	})
	synctest.Test(t, func(t *testing.T) {
		v, r := newView(t)
		replicas := []heartbeat.Replica{{ID: "self", MaxRuns: 1_000_000, JobCount: 1}, {ID: "another", MaxRuns: 1, JobCount: 1}}
		r.Peers.Read(replicas)
		time.Sleep(membership.SettleTime)
		r.Peers.Read(replicas)
		v.WaitForRoom(next, next)
		v.WaitForRoom(next, next+1)
		require.Equal(t, []reports.Report{{Kind: reports.Full, Job: "job", Tick: next}}, r.reported)
		require.True(t, v.Order.pass(next+60_000, 1))
		require.False(t, v.Order.pass(next+120_000, 0), "the job never runs here")
	})
}

func TestRecordIsReadToConfirmReportsByTheFirstTwo(t *testing.T) {
	for others, want := range map[int]int64{0: 1, 1: next + confirmEvery, 2: 0} {
		ranked(t, others, func(v *View, _ *replica, before []string) {
			require.Len(t, before, others)
			v.Hints.report(next, next-1, next)
			require.Equal(t, want, v.confirmAt())
		})
	}
}
