package scheduler_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
)

func TestSingleJobsAreAddedAndRemoved(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("first", "@every 10s", takes(0))
		r := f.start("a")
		f.sleepTo(15 * time.Second)
		second, other := f.newJob("second", "@every 10s", takes(0)), f.newJob("other", "@every 10s", takes(0), jobs.WithGroups("us"))
		require.ErrorContains(t, r.Add(second, f.jobs[0], nil), "must be unique")
		require.Len(t, r.Jobs(), 1, "all or none")
		require.NoError(t, r.Add(second, other))
		require.ErrorContains(t, r.Add(other), "must be unique", "though another group serves it")
		f.sleepTo(25 * time.Second)
		require.True(t, r.Remove("first"))
		require.False(t, r.Remove("first"))
		require.True(t, r.Remove("other"))
		f.sleepTo(35 * time.Second)
		require.Equal(t, "10s, 20s", f.story("first"))
		require.Equal(t, "20s, 30s", f.story("second"))

		r.Update(f.registry(f.jobs...)) // these and no others, and single ones again from there
		require.False(t, r.Remove("second"))
		require.NoError(t, r.Add(second))
		require.Len(t, r.Jobs(), 2)
	})
}

func TestAJobAddedOnOneReplicaRunsThere(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.startMany(3)
		f.sleepTo(5 * time.Second)
		job := f.newJob("tenant-7", "@every 10s", takes(time.Second))
		f.jobs = append(f.jobs, job)
		require.NoError(t, f.replica("b").Add(job))
		f.sleepTo(35 * time.Second)
		require.Equal(t, "10s, 20s, 30s", f.story("tenant-7"))
		for _, run := range f.runs.of("tenant-7") {
			require.Equal(t, "b", run.Replica)
		}
		require.NoError(t, f.replica("c").Add(job)) // from now on two share it
		f.halt(f.replica("b"))
		f.sleepTo(65 * time.Second)
		require.Equal(t, "10s, 20s, 30s, 40s, 50s, 1m0s", f.story("tenant-7"))
		require.Empty(t, f.passed("tenant-7"))
	})
}

func TestAJobAddedWhileTheStoreIsAwayRunsLater(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.startMany(3)
		f.sleepTo(5 * time.Second)
		f.every((*link).cut)
		job := f.newJob("tenant-7", "@every 10s", takes(time.Second))
		f.jobs = append(f.jobs, job)
		for _, r := range f.replicas {
			require.NoError(t, r.Add(job))
		}
		f.sleepTo(25 * time.Second)
		require.Empty(t, f.runs.of("tenant-7"), "no coordination, no run")
		f.every((*link).heal)
		f.sleepTo(65 * time.Second)
		runs := f.runs.of("tenant-7")
		require.Equal(t, at(time.Minute), runs[len(runs)-1].Tick)
		ticks := map[time.Time]int{}
		for _, run := range runs {
			ticks[run.Tick]++
		}
		for _, after := range []time.Duration{40 * time.Second, 50 * time.Second, time.Minute} {
			require.Equal(t, 1, ticks[at(after)], "the tick after %s", after)
		}
	})
}

func TestAJobRemovedWhileItRunsAndAwayIsSettled(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("tenant-7", "@every 10s", takes(1500*time.Millisecond))
		r := f.start("a")
		f.sleepTo(11 * time.Second)
		require.Len(t, f.runs.of("tenant-7"), 1)
		r.link.cut()
		require.True(t, r.Remove("tenant-7"))
		f.sleepTo(12 * time.Second) // it has ended, and the store does not know
		r.link.heal()
		f.sleepTo(40 * time.Second)
		require.Equal(t, wire.Succeeded, f.fateOf("tenant-7", at(10*time.Second)).outcome)
		require.Equal(t, "10s", f.story("tenant-7"))
		require.Empty(t, f.inspect("tenant-7").Open)
	})
}
