package scheduler_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/scheduler"
)

// storeEvents returns the events of the store.
func (f *redisFleet) storeEvents() (list []scheduler.StoreChanged) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range f.events {
		if e, ok := e.(scheduler.StoreChanged); ok {
			list = append(list, e)
		}
	}
	return list
}

func TestFullRedisIsReportedOnceByEachReplica(t *testing.T) {
	t.Parallel()
	f := newRedisFleet(t, redistest.WithConf("maxmemory-policy", "noeviction"))
	for _, name := range []string{"one", "two", "three"} {
		f.job(name, "@every 1s", takes(0))
	}
	f.job("long", "@every 2s", takes(time.Hour))
	replicas := f.startMany(scheduler.WithTTL(3*time.Second), scheduler.WithShutdownGrace(0))
	f.eventually("long", 10*time.Second, func(list []attempt) bool { return len(list) == 1 })
	before := len(f.storeEvents())

	admin := f.server.Client(t)
	require.NoError(t, admin.ConfigSet(t.Context(), "maxmemory", "1").Err())
	downs := func() (list []scheduler.StoreChanged) {
		for _, e := range f.storeEvents()[before:] {
			if !e.Up {
				list = append(list, e)
			}
		}
		return list
	}
	unready := func() bool {
		for _, r := range replicas {
			if r.Ready() {
				return false
			}
		}
		return true
	}
	reported := func() bool { return unready() && len(downs()) == len(replicas) } // events come a moment later
	require.Eventually(t, reported, 20*time.Second, 10*time.Millisecond)
	ran := len(f.runs.of("one"))
	require.Never(t, func() bool { return !reported() }, 6*time.Second, 20*time.Millisecond)
	require.Len(t, f.runs.of("one"), ran, "nothing starts")
	require.Len(t, f.runs.running("long"), 1, "what runs is renewed")
	for _, e := range downs() {
		require.True(t, e.WritesOnly)
		require.ErrorContains(t, e.Err, "OOM")
		require.Contains(t, e.Hint, "maxmemory")
	}

	require.NoError(t, admin.ConfigSet(t.Context(), "maxmemory", "0").Err())
	for _, r := range replicas {
		require.Eventually(t, r.Ready, 5*time.Second, time.Millisecond)
	}
	require.Len(t, f.storeEvents()[before:], 2*len(replicas), "one when it begins, and one when it ends")
	require.Len(t, f.runs.running("long"), 1)
	f.eventually("one", 5*time.Second, func(list []attempt) bool { return len(list) > ran })
}
