package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/jobs"
)

func named(t testing.TB, name string) *jobs.Job {
	t.Helper()
	job, err := jobs.New(name, "@hourly", func(context.Context, jobs.Run) error { return nil })
	require.NoError(t, err)
	return job
}

func TestZeroRegistryIsEmptyAndReady(t *testing.T) {
	var r jobs.Registry
	require.Empty(t, r.All())
	_, ok := r.Get("a")
	require.False(t, ok)
	require.NoError(t, r.Add())

	a := named(t, "a")
	require.NoError(t, r.Add(a))
	got, ok := r.Get("a")
	require.True(t, ok)
	require.Same(t, a, got)
}

func TestAllIsSortedAndACopy(t *testing.T) {
	var r jobs.Registry
	a, b, c, upper := named(t, "a"), named(t, "b"), named(t, "c"), named(t, "B")
	require.NoError(t, r.Add(c, a))
	require.NoError(t, r.Add(b, upper))
	want := []*jobs.Job{upper, a, b, c}
	all := r.All()
	require.Equal(t, want, all)
	all[0] = nil
	require.Equal(t, want, r.All())
}

func TestRegistryAddsAllOrNothing(t *testing.T) {
	var r jobs.Registry
	require.NoError(t, r.Add(named(t, "old"), named(t, "kept")))

	err := r.Add(named(t, "new"), named(t, "old"), nil, named(t, "twin"), named(t, "twin"))
	require.EqualError(t, err, `jobs[1].name: "old" must be unique: another job has this name; rename one of the two
jobs[2]: "nil" must be a job
jobs[4].name: "twin" must be unique: another job has this name; rename one of the two`)
	_, ok := errors.AsType[*jobs.Fault](err)
	require.True(t, ok)

	require.Len(t, r.All(), 2)
	require.NoError(t, r.Add(named(t, "new")), "a refused call leaves nothing behind")
}

func TestRegistryIsSafeForConcurrentUse(t *testing.T) {
	const n = 32
	var r jobs.Registry
	var group sync.WaitGroup
	for i := range n {
		job := named(t, fmt.Sprintf("job-%02d", i))
		group.Go(func() {
			if err := r.Add(job); err != nil {
				t.Error(err)
			}
			if _, ok := r.Get(job.Name()); !ok {
				t.Errorf("%s is not there", job.Name())
			}
			_ = r.All()
		})
	}
	group.Wait()
	require.Len(t, r.All(), n)
}
