package scheduler_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease/redislease"
	"github.com/solotick/solotick/scheduler"
)

// The tests here take from Redis a part of what it knows, or set it back, while all replicas live.

// soon returns the schedule of one tick, in five to six seconds, and that tick: the replicas have
// started before it on a busy machine, too.
func soon() (schedule string, tick time.Time) {
	tick = time.Now().UTC().Truncate(time.Second).Add(6 * time.Second)
	return fmt.Sprintf("%d %d %d * * *", tick.Second(), tick.Minute(), tick.Hour()), tick
}

// idleJobs adds jobs of one tick, which comes soon.
func (f *redisFleet) idleJobs(names ...string) (tick time.Time) {
	schedule, tick := soon()
	for _, name := range names {
		f.job(name, schedule, takes(0), jobs.WithMisfire(jobs.MisfireAll, time.Minute))
	}
	return tick
}

// runOnce waits until the tick of every job is settled, and judges that it ran once.
func (f *redisFleet) runOnce(names ...string) {
	f.t.Helper()
	for _, name := range names {
		require.Eventually(f.t, func() bool { return f.ended(name) > 0 }, 20*time.Second, 2*time.Millisecond)
		require.Equal(f.t, 1, f.ended(name))
		require.Len(f.t, f.runs.of(name), 1, name)
	}
}

// ended counts the ticks of a job that the replicas have settled, after a run or without one.
func (f *redisFleet) ended(job string) (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range f.events {
		switch e := e.(type) {
		case scheduler.RunSettled:
			if e.Run.Job == job {
				n++
			}
		case scheduler.TicksSkipped:
			if e.Job == job {
				n += e.Count
			}
		}
	}
	return n
}

func TestDeletedIdleRecordLosesNoTick(t *testing.T) {
	t.Parallel()
	names := []string{"job0", "job1", "job2", "job3"}
	f := newRedisFleet(t)
	tick := f.idleJobs(names...)
	f.startMany()
	time.Sleep(time.Until(tick.Add(-500 * time.Millisecond)))
	for _, name := range names {
		deleted, err := f.server.Client(t).Del(t.Context(), redislease.Key("default", name)).Result()
		require.NoError(t, err)
		require.EqualValues(t, 1, deleted)
	}

	f.runOnce(names...)
}

func TestEmptyMasterOfClusterLosesNoTick(t *testing.T) {
	t.Parallel()
	nodes := startMasters(t, 2)
	f := &redisFleet{t: t, server: nodes[0], connect: func() redis.UniversalClient {
		return redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{nodes[0].Addr(), nodes[1].Addr()}})
	}}
	// The key by which replicas notice a loss is on one node. The other comes back empty.
	admin := nodes[0].Client(t)
	on := func(key string) int {
		slot, err := admin.ClusterKeySlot(t.Context(), key).Result()
		require.NoError(t, err)
		return int(slot / (slots / 2))
	}
	since := on("solotick:{default}")
	var names []string
	for i := 0; len(names) < 4; i++ {
		if name := fmt.Sprint("job", i); on(redislease.Key("default", name)) != since {
			names = append(names, name)
		}
	}
	tick := f.idleJobs(names...)
	f.startMany()
	time.Sleep(time.Until(tick.Add(-500 * time.Millisecond)))
	nodes[1-since].Flush()

	f.runOnce(names...)
}

// claimless is the store of replicas of which one cannot claim: another asks first.
type claimless struct {
	*redislease.Store
	replica *atomic.Pointer[string]
}

func (s claimless) Claim(ctx context.Context, c protocol.Claim) (protocol.Answer, error) {
	if id := s.replica.Load(); id != nil && *id == c.Holder {
		return protocol.Answer{}, errCut
	}
	return s.Store.Claim(ctx, c)
}

// claimlessFleet returns a fleet, and what keeps one of its replicas from claiming.
func claimlessFleet(t *testing.T) (f *redisFleet, keepFromClaiming func(replica string)) {
	f = newRedisFleet(t)
	var replica atomic.Pointer[string]
	f.wrap = func(s protocol.Store) protocol.Store { return claimless{s.(*redislease.Store), &replica} }
	return f, func(id string) { replica.Store(&id) }
}

// TestDeletedRecordIsWrittenBackByKnowingReplicas has a record deleted right after its tick was
// settled, and each replica but the one that knows best look for due ticks.
func TestDeletedRecordIsWrittenBackByKnowingReplicas(t *testing.T) {
	t.Parallel()
	f, keepFromClaiming := claimlessFleet(t)
	f.job("job", "@every 4s", takes(0), jobs.WithMisfire(jobs.MisfireAll, time.Minute))
	f.startMany()
	f.eventually("job", 20*time.Second, ended(2))
	keepFromClaiming(f.runs.of("job")[1].Replica)
	deleted, err := f.server.Client(t).Del(t.Context(), redislease.Key("default", "job")).Result()
	require.NoError(t, err)
	require.EqualValues(t, 1, deleted)

	f.eventually("job", 30*time.Second, ended(5))
	f.requireConsecutive("job", 4*time.Second)
}

// TestSettledTickIsNotRunAgainElsewhere after a snapshot has returned in which it runs.
func TestSettledTickIsNotRunAgainElsewhere(t *testing.T) {
	t.Parallel()
	f, keepFromClaiming := claimlessFleet(t)
	saved := make(chan struct{})
	f.job("job", "@every 6s", func(ctx context.Context, run jobs.Run) error {
		select {
		case <-saved:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
	f.startMany(scheduler.WithTTL(2 * time.Second))
	f.eventually("job", 20*time.Second, running(1))
	require.NoError(t, f.server.Client(t).Save(t.Context()).Err())
	close(saved)
	require.Eventually(t, func() bool { return f.ended("job") == 1 }, 10*time.Second, time.Millisecond)
	keepFromClaiming(f.runs.of("job")[0].Replica)
	f.server.Restart()

	f.eventually("job", 40*time.Second, ended(3))
	f.requireConsecutive("job", 6*time.Second)
	require.Zero(t, f.skipped("job"))
}

// requireConsecutive judges that the ticks of a job ran once each, in order, without a gap.
func (f *redisFleet) requireConsecutive(job string, step time.Duration) {
	f.t.Helper()
	runs := f.runs.of(job)
	for i, a := range runs {
		require.Equal(f.t, runs[0].Tick.Add(time.Duration(i)*step), a.Tick, "run %d", i)
		require.Equal(f.t, 1, a.Attempt)
	}
}

const slots = 16384

// startMasters starts a Redis Cluster of n masters.
func startMasters(t *testing.T, n int) (nodes []*redistest.Server) {
	t.Helper()
	var admins []*redis.Client
	for range n {
		node := redistest.Start(t, redistest.WithConf("cluster-enabled", "yes"))
		nodes, admins = append(nodes, node), append(admins, node.Client(t))
	}
	host, port, err := net.SplitHostPort(nodes[0].Addr())
	require.NoError(t, err)
	for i, admin := range admins {
		require.NoError(t, admin.ClusterAddSlotsRange(t.Context(), i*slots/n, (i+1)*slots/n-1).Err())
		require.NoError(t, admin.ClusterMeet(t.Context(), host, port).Err())
	}
	for _, admin := range admins {
		require.Eventually(t, func() bool {
			info, err := admin.ClusterInfo(t.Context()).Result()
			return err == nil && strings.Contains(info, "cluster_state:ok") && strings.Contains(info, fmt.Sprintf("cluster_slots_ok:%d", slots))
		}, 30*time.Second, 10*time.Millisecond)
	}
	return nodes
}

// TestSettledTickStaysSettledAfterSnapshotReturns is of the replica that settled the tick.
func TestSettledTickStaysSettledAfterSnapshotReturns(t *testing.T) {
	t.Parallel()
	f := newRedisFleet(t)
	saved := make(chan struct{})
	f.job("job", "@every 4s", func(ctx context.Context, run jobs.Run) error {
		select {
		case <-saved:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
	f.start("a", scheduler.WithTTL(2*time.Second))
	f.eventually("job", 20*time.Second, running(1))
	require.NoError(t, f.server.Client(t).Save(t.Context()).Err())
	close(saved)
	settled := func() (n int) {
		f.mu.Lock()
		defer f.mu.Unlock()
		for _, e := range f.events {
			if _, ok := e.(scheduler.RunSettled); ok {
				n++
			}
		}
		return n
	}
	require.Eventually(t, func() bool { return settled() == 1 }, 10*time.Second, time.Millisecond)
	first := f.runs.of("job")[0].Tick
	f.server.Restart()

	var ticks []time.Duration
	require.Eventually(t, func() bool {
		ticks = nil
		for _, a := range f.runs.of("job") {
			ticks = append(ticks, a.Tick.Sub(first))
		}
		return len(ticks) == 3
	}, 30*time.Second, 2*time.Millisecond)
	require.Equal(t, []time.Duration{0, 4 * time.Second, 8 * time.Second}, ticks)
	require.Zero(t, f.skipped("job"))
}
