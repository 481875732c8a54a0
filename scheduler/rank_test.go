package scheduler

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func membersOf(n int, weight func(i int) float64) []member {
	list := make([]member, n)
	for i := range list {
		list[i] = member{id: fmt.Sprintf("worker-%d", i), weight: weight(i)}
	}
	return list
}

func equal(int) float64 { return 1 }

// rankings are those of all members.
func rankings(members []member) []*ranking {
	list := make([]*ranking, len(members))
	for i, m := range members {
		list[i] = newRanking(m.id, slices.Clone(members))
	}
	return list
}

// owned counts for each member the jobs that it is first for, and fails when one has not exactly
// one such member.
func owned(t *testing.T, rankings []*ranking, jobs int) []int {
	t.Helper()
	counts := make([]int, len(rankings))
	for j := range jobs {
		first := 0
		for i, r := range rankings {
			if p := r.of(fmt.Sprintf("job-%d", j), "", 1); p.rank == 0 {
				counts[i]++
				first++
			}
		}
		require.Equal(t, 1, first)
	}
	return counts
}

func TestEqualReplicasOwnEqualShares(t *testing.T) {
	counts := owned(t, rankings(membersOf(20, equal)), 10_000)
	require.LessOrEqual(t, float64(slices.Max(counts)), 1.25*10_000/20, "%v", counts)
	require.GreaterOrEqual(t, float64(slices.Min(counts)), 0.75*10_000/20, "%v", counts)
}

func TestSharesFollowTheWeights(t *testing.T) {
	weights := []float64{1, 2, 4, 8, 1, 2, 4, 8}
	counts := owned(t, rankings(membersOf(len(weights), func(i int) float64 { return weights[i] })), 10_000)
	for i, n := range counts {
		want := 10_000 * weights[i] / 30
		require.Less(t, math.Abs(float64(n)-want), 5*math.Sqrt(want), "member %d of %v", i, counts)
	}
}

func TestEveryRankIsTakenOnce(t *testing.T) {
	list := rankings(membersOf(7, equal))
	for j := range 100 {
		var ranks []int
		for _, r := range list {
			p := r.of(fmt.Sprint(j), "", 1)
			require.EqualValues(t, 7, p.among)
			ranks = append(ranks, int(p.rank))
		}
		slices.Sort(ranks)
		require.Equal(t, []int{0, 1, 2, 3, 4, 5, 6}, ranks)
	}
}

func TestWhoLeavesMovesNobodyElse(t *testing.T) {
	members := membersOf(10, equal)
	before := rankings(members)
	after := rankings(slices.Delete(slices.Clone(members), 3, 4))
	for j := range 1000 {
		job := fmt.Sprint("job-", j)
		gone := before[3].of(job, "", 1).rank
		for i, r := range after {
			was := before[i]
			if i >= 3 {
				was = before[i+1]
			}
			want := was.of(job, "", 1).rank
			if want > gone {
				want--
			}
			require.Equal(t, want, r.of(job, "", 1).rank)
			require.Equal(t, want, was.of(job, "", 1, "worker-3").rank)
		}
	}
}

func TestWhoCanNeverRunAJobIsRankedLast(t *testing.T) {
	members := membersOf(9, equal)
	for i := range members {
		members[i].room = i % 5 // of two members there is no limit
	}
	for j := range 200 {
		ranks := map[int32]bool{}
		for i, r := range rankings(members) {
			p := r.of(fmt.Sprint(j), "", 3)
			require.EqualValues(t, 9, p.among)
			require.Equal(t, i%5 == 1 || i%5 == 2, p.rank >= 5, "4 of 9 have room for 1 or 2")
			ranks[p.rank] = true
		}
		require.Len(t, ranks, 9)
	}
}

func TestOtherRevisionsAreRankedApart(t *testing.T) {
	members := membersOf(9, equal)
	for i := range members {
		switch i % 3 {
		case 0:
			members[i].jobs = map[string]string{"job": "old"}
		case 1:
			members[i].jobs = map[string]string{"job": "new"}
		default:
			members[i].jobs = map[string]string{"other": "old"}
		}
	}
	first := map[string]int{}
	for i, r := range rankings(members) {
		revision := []string{"old", "new", "-"}[i%3]
		p := r.of("job", revision, 1)
		if revision == "-" {
			require.Equal(t, place{among: 1, first: p.first}, p, "the only one, as far as it knows")
			continue
		}
		require.EqualValues(t, 3, p.among)
		if p.rank == 0 {
			first[revision]++
		}
	}
	require.Equal(t, map[string]int{"old": 1, "new": 1}, first)
}

func TestReplicaThatIsNoMemberRanksFirst(t *testing.T) {
	var none *ranking
	require.Zero(t, none.of("job", "", 1).rank)
	require.Zero(t, newRanking("stranger", membersOf(5, equal)).of("job", "", 1).rank)
	require.Zero(t, newRanking("worker-0", nil).of("job", "", 1).rank)
}

func TestBackupsWaitInOrderAndNotForLong(t *testing.T) {
	for _, n := range []int32{1, 2, 3, 5, 9, 10, 50, 1000} {
		for _, last := range []int64{750, lastBackup, 60_000} {
			before := int64(-1)
			for rank := range n {
				p := place{rank: rank, among: n}
				wait := p.backup(last)
				require.LessOrEqual(t, wait, min(last, lastBackup))
				require.LessOrEqual(t, p.takeover(), int64(lastTakeover))
				require.GreaterOrEqual(t, wait, before)
				if n <= 50 {
					require.Greater(t, wait, before)
				}
				before = wait
			}
			require.Zero(t, place{among: n}.backup(last))
			if n > 1 {
				require.EqualValues(t, backupDelay, place{rank: 1, among: n}.backup(last), "the first backup keeps its distance")
			}
		}
	}
}

func TestPlaceWithoutHolderFollowsFromPlaceWithIt(t *testing.T) {
	known := 0
	for i := range 200 {
		job := fmt.Sprint("job-", i)
		for _, r := range rankings(membersOf(7, equal)) {
			p := r.of(job, "", 1)
			for _, m := range r.members {
				q, ok := r.without(p, m.id)
				if !ok || m.id == r.self {
					continue
				}
				known++
				require.Equal(t, r.of(job, "", 1, m.id).takeover(), q.takeover())
			}
		}
	}
	require.Greater(t, known, 200*6)
}
