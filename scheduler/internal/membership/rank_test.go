package membership

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func membersOf(n int, weight func(i int) float64) []Member {
	list := make([]Member, n)
	for i := range list {
		list[i] = Member{ID: fmt.Sprintf("worker-%d", i), weight: weight(i)}
	}
	return list
}

func equal(int) float64 { return 1 }

// rankings are those of all members.
func rankings(members []Member) []*Ranking {
	list := make([]*Ranking, len(members))
	for i, m := range members {
		list[i] = NewRanking(m.ID, slices.Clone(members))
	}
	return list
}

// owned counts for each member the jobs that it is first for, and fails when one has not exactly
// one such member.
func owned(t *testing.T, rankings []*Ranking, jobs int) []int {
	t.Helper()
	counts := make([]int, len(rankings))
	for j := range jobs {
		first := 0
		for i, r := range rankings {
			if p := r.Of(fmt.Sprintf("job-%d", j), "", 1); p.Rank == 0 {
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
			p := r.Of(fmt.Sprint(j), "", 1)
			require.EqualValues(t, 7, p.Among)
			ranks = append(ranks, int(p.Rank))
		}
		slices.Sort(ranks)
		require.Equal(t, []int{0, 1, 2, 3, 4, 5, 6}, ranks)
	}
}

func TestWhoLeavesMovesItsOwnJobsOnly(t *testing.T) {
	members := membersOf(10, equal)
	before := rankings(members)
	after := rankings(slices.Delete(slices.Clone(members), 3, 4))
	for j := range 1000 {
		job := fmt.Sprint("job-", j)
		gone := before[3].Of(job, "", 1).Rank
		for i, r := range after {
			was := before[i]
			if i >= 3 {
				was = before[i+1]
			}
			place := was.Of(job, "", 1)
			if gone != 0 {
				require.Equal(t, place.Rank == 0, r.Of(job, "", 1).Rank == 0, job)
			}
			if place.Rank > gone {
				place.Rank--
			}
			require.Equal(t, place.Rank, was.Of(job, "", 1, "worker-3").Rank, "those who wait for a holder keep their order")
		}
	}
}

// servingOf makes members that serve the jobs job-0, job-1 and so on.
func servingOf(n, jobs int) []Member {
	served := map[string]string{}
	for j := range jobs {
		served[fmt.Sprint("job-", j)] = "1"
	}
	members := membersOf(n, equal)
	for i := range members {
		members[i].jobs, members[i].set = served, "all"
	}
	return members
}

// ownersOf returns which member comes first for each job.
func ownersOf(t *testing.T, members []Member, jobs int) (owners []string) {
	t.Helper()
	owners = make([]string, jobs)
	for _, r := range rankings(members) {
		for j := range jobs {
			if r.Of(fmt.Sprint("job-", j), "1", 1).Rank == 0 {
				require.Empty(t, owners[j], "the members agree")
				owners[j] = r.self
			}
		}
	}
	require.NotContains(t, owners, "")
	return owners
}

func TestNobodyOwnsMuchMoreThanItsShare(t *testing.T) {
	for _, size := range [][2]int{{50, 1000}, {100, 300}, {3, 7}, {20, 2}} {
		n, jobs := size[0], size[1]
		counts := map[string]int{}
		for _, owner := range ownersOf(t, servingOf(n, jobs), jobs) {
			counts[owner]++
		}
		most := math.Ceil(1.2 * float64(jobs) / float64(n))
		for id, count := range counts {
			require.LessOrEqual(t, float64(count), most, "%s of %d with %d jobs", id, n, jobs)
		}
	}
}

func TestBoundsMoveFewJobsOfOthers(t *testing.T) {
	const n, jobs = 50, 1000
	members := servingOf(n, jobs)
	before := ownersOf(t, members, jobs)
	moved := 0
	for _, gone := range []int{3, 17, 42} {
		after := ownersOf(t, slices.Delete(slices.Clone(members), gone, gone+1), jobs)
		for j := range jobs {
			if before[j] != after[j] && before[j] != members[gone].ID {
				moved++
			}
		}
	}
	require.Less(t, moved, 3*2*jobs/n, "twice as many as it had itself")
}

// TestFewAreNearTheJobsOfOne has all jobs of a member concern the same others.
func TestFewAreNearTheJobsOfOne(t *testing.T) {
	const n, jobs = 50, 1000
	members := servingOf(n, jobs)
	all := rankings(members)
	for _, r := range all[:5] {
		others := map[string]bool{}
		for j := range jobs {
			job := fmt.Sprint("job-", j)
			near := r.Near(job, "1", 1)
			require.Len(t, near, map[bool]int{true: Near - 1, false: Near}[r.Of(job, "1", 1).Rank < Near])
			if r.Of(job, "1", 1).Rank != 0 {
				continue
			}
			for _, id := range near {
				others[id] = true
			}
			for _, other := range all {
				require.Equal(t, other == r || slices.Contains(near, other.self), other.Of(job, "1", 1).Rank < Near)
			}
		}
		require.Len(t, others, Near-1)
	}
	small := rankings(servingOf(together, 10))[together-1]
	require.False(t, small.Of("job-1", "1", 1).Far)
	require.Nil(t, small.Near("job-1", "1", 1), "everybody")
}

func TestWhoCanNeverRunAJobIsRankedLast(t *testing.T) {
	members := membersOf(9, equal)
	for i := range members {
		members[i].room = i % 5 // of two members there is no limit
	}
	for j := range 200 {
		ranks := map[int32]bool{}
		for i, r := range rankings(members) {
			p := r.Of(fmt.Sprint(j), "", 3)
			require.EqualValues(t, 9, p.Among)
			require.Equal(t, i%5 == 1 || i%5 == 2, p.Rank >= 5, "4 of 9 have room for 1 or 2")
			ranks[p.Rank] = true
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
		p := r.Of("job", revision, 1)
		if revision == "-" {
			require.Equal(t, Place{Among: 1, First: p.First}, p, "the only one, as far as it knows")
			continue
		}
		require.EqualValues(t, 3, p.Among)
		if p.Rank == 0 {
			first[revision]++
		}
	}
	require.Equal(t, map[string]int{"old": 1, "new": 1}, first)
}

func TestReplicaThatIsNoMemberRanksFirst(t *testing.T) {
	var none *Ranking
	require.Zero(t, none.Of("job", "", 1).Rank)
	require.Zero(t, NewRanking("stranger", membersOf(5, equal)).Of("job", "", 1).Rank)
	require.Zero(t, NewRanking("worker-0", nil).Of("job", "", 1).Rank)
}

func TestBackupsWaitInOrderAndNotForLong(t *testing.T) {
	for _, n := range []int32{1, 2, 3, 5, 9, 10, 50, 1000} {
		for _, last := range []int64{750, lastBackup, 60_000} {
			before := int64(-1)
			for rank := range n {
				p := Place{Rank: rank, Among: n}
				wait := p.Backup(last)
				require.LessOrEqual(t, wait, min(last, lastBackup))
				require.LessOrEqual(t, p.Takeover(), int64(lastTakeover))
				require.GreaterOrEqual(t, wait, before)
				if n <= 50 {
					require.Greater(t, wait, before)
				}
				before = wait
			}
			require.Zero(t, Place{Among: n}.Backup(last))
			if n > 1 {
				require.EqualValues(t, backupDelay, Place{Rank: 1, Among: n}.Backup(last), "the first backup keeps its distance")
			}
		}
	}
}

func TestPlaceWithoutHolderFollowsFromPlaceWithIt(t *testing.T) {
	known := 0
	for i := range 200 {
		job := fmt.Sprint("job-", i)
		for _, r := range rankings(membersOf(7, equal)) {
			p := r.Of(job, "", 1)
			for _, m := range r.Members {
				q, ok := r.Without(p, m.ID)
				if !ok || m.ID == r.self {
					continue
				}
				known++
				require.Equal(t, r.Of(job, "", 1, m.ID).Takeover(), q.Takeover())
			}
		}
	}
	require.Greater(t, known, 200*6)
}

// BenchmarkRanking ranks 50 members for 10,000 jobs, as each replica does when a member comes or
// goes.
func BenchmarkRanking(b *testing.B) {
	const jobs = 10_000
	members, names := servingOf(50, jobs), make([]string, jobs)
	for j := range names {
		names[j] = fmt.Sprint("job-", j)
	}
	b.ReportAllocs()
	for b.Loop() {
		r := NewRanking("worker-7", slices.Clone(members))
		for _, job := range names {
			r.Of(job, "1", 1)
		}
	}
}
