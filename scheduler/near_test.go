package scheduler_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/scheduler"
)

// traffic counts the claims of a replica, the reports that it gets and the times it has records read.
type traffic struct{ claims, reports, reads atomic.Int64 }

func trafficOf(r *replica) *traffic {
	n := new(traffic)
	r.link.set(func(c call) fault {
		switch c.verb {
		case verbClaim:
			n.claims.Add(1)
		case verbReceive:
			n.reports.Add(1)
		case verbSync:
			n.reads.Add(1)
		}
		return fault{}
	})
	return n
}

// TestTheFirstSevenActForAJob has the others of a large fleet neither hear of the job nor claim it.
// A few of them look what became of each tick.
func TestTheFirstSevenActForAJob(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 10s", takes(time.Second))
		replicas := f.startMany(24)
		f.sleepTo(35 * time.Second)
		owner := f.owner("job")
		counts := map[*replica]*traffic{}
		for _, r := range replicas {
			counts[r] = trafficOf(r)
		}
		f.sleepTo(135 * time.Second)
		hear, look := 0, 0
		for r, n := range counts {
			if r == owner {
				require.EqualValues(t, 10, n.claims.Load())
				continue
			}
			require.Zero(t, n.claims.Load(), r.Replica())
			if n.reports.Load() > 0 {
				hear++
				continue
			}
			if n.reads.Load() > 1 {
				look++
				require.EqualValues(t, 10, n.reads.Load(), r.Replica())
			}
		}
		require.Equal(t, 6, hear)
		require.Equal(t, 3, look)
		for _, r := range replicas { // and all can say how the job is
			status := r.Jobs()[0]
			require.Equal(t, at(140*time.Second), status.Next, r.Replica())
			require.Zero(t, status.Overdue)
		}
		require.Equal(t, map[protocol.Outcome]int{"succeeded": 13}, f.fates("job"))
	})
}

// TestTickOutlivesAllWhoAreNearItsJob: one that is apart finds it.
func TestTickOutlivesAllWhoAreNearItsJob(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 10s", takes(time.Second))
		replicas := f.startMany(24, scheduler.WithTTL(15*time.Second)) // so that heartbeats tell it later
		f.sleepTo(25 * time.Second)
		owner := f.owner("job")
		counts := map[*replica]*traffic{}
		for _, r := range replicas {
			counts[r] = trafficOf(r)
		}
		f.sleepTo(39 * time.Second)
		for r, n := range counts {
			if r == owner || n.reports.Load() > 0 {
				r.link.cut()
			}
		}
		f.sleepTo(75 * time.Second)
		require.Len(t, f.runs.of("job"), 7)
		for tick, late := range f.lateness("job") {
			require.LessOrEqual(t, late, 4600*time.Millisecond, tick)
		}
		require.Greater(t, f.lateness("job")[40*time.Second], 4*time.Second, "they are left some time")
		require.Zero(t, f.lateness("job")[70*time.Second], "they are no members any more")
	})
}

// TestRunOutlivesAllWhoAreNearItsJob: one that is apart takes its tick over as soon as the others
// would.
func TestRunOutlivesAllWhoAreNearItsJob(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "* * * * *", takes(25*time.Second))
		replicas := f.startMany(24)
		f.sleepTo(50 * time.Second)
		counts := map[*replica]*traffic{}
		for _, r := range replicas {
			counts[r] = trafficOf(r)
		}
		f.sleepTo(75 * time.Second)
		held := f.runs.running("job")
		require.Len(t, held, 1)
		for r, n := range counts {
			if r.Replica() == held[0].Replica || n.reports.Load() > 0 {
				r.link.cut()
			}
		}
		time.Sleep(ttl + time.Second)
		grants := f.grantsOf("job", held[0].Tick)
		require.Len(t, grants, 2)
		late := grants[1].at.Sub(grants[0].renewed)
		require.GreaterOrEqual(t, late, ttl)
		require.LessOrEqual(t, late, ttl+time.Second)
		f.sleepTo(170 * time.Second)
		require.Equal(t, map[protocol.Outcome]int{"succeeded": 2}, f.fates("job"), "with the next one")
	})
}

// TestAbsentStoreMakesOverdueForThoseApart, and for nobody while it answers.
func TestAbsentStoreMakesOverdueForThoseApart(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 10s", takes(time.Second), jobs.WithMisfire(jobs.MisfireLatest, time.Second))
		f.startMany(20)
		for range 100 {
			f.sleepTo(time.Since(epoch) + time.Second)
			for _, r := range f.replicas {
				require.Zero(t, r.Jobs()[0].Overdue, r.Replica())
			}
		}
		f.sleepTo(105 * time.Second)
		f.every((*link).cut)
		f.sleepTo(150 * time.Second)
		f.requireOverdue("job", 39*time.Second, 10*time.Millisecond) // since 110 s, and the grace
		f.every((*link).heal)
		f.sleepTo(165 * time.Second)
		f.requireOverdue("job", 0, 0)
	})
}

// TestThoseApartHelpWhenNobodyNearHasRoom for the ticks that are due.
func TestThoseApartHelpWhenNobodyNearHasRoom(t *testing.T) {
	inFleet(t, func(f *fleet) {
		for i := range 20 {
			f.job(fmt.Sprint("job-", i), "@every 20s", takes(10*time.Second), jobs.WithMisfire(jobs.MisfireSkip, 5*time.Second))
		}
		f.startMany(20, scheduler.WithMaxRuns(1))
		f.sleepTo(99 * time.Second)
		for i := range 20 {
			require.Len(t, f.runs.of(fmt.Sprint("job-", i)), 4, "each has a replica of its own")
		}
	})
}
