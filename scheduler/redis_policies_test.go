package scheduler_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/scheduler"
)

// TestPoliciesOverRedis holds what policies promise against a real redis-server, in real time, as
// TestOverRedis does.
func TestPoliciesOverRedis(t *testing.T) {
	t.Parallel()
	var tests sync.WaitGroup
	for name, test := range map[string]func(*testing.T){
		"ATickOfEachPolicyCostsTwoCommands":          aTickOfEachPolicyCostsTwoCommands,
		"WhatWaitsStartsWhenTheRunningOneEnds":       whatWaitsStartsWhenTheRunningOneEnds,
		"ANewTickReplacesTheRunningOne":              aNewTickReplacesTheRunningOne,
		"ATriggeredJobRunsOnceAtOnce":                aTriggeredJobRunsOnceAtOnce,
		"WithoutMessagesATriggeredJobRunsAllTheSame": withoutMessagesATriggeredJobRunsAllTheSame,
		"APauseOutlivesTheServer":                    aPauseOutlivesTheServer,
		"OneReplicaLeadsAndAnotherFollowsIt":         oneReplicaLeadsAndAnotherFollowsIt,
	} {
		tests.Go(func() { t.Run(name, test) })
	}
	tests.Wait()
}

// trigger asks for a run of the job now, and returns its tick.
func (f *redisFleet) trigger(r *redisReplica, job string) time.Time {
	f.t.Helper()
	answer, err := r.store.Trigger(context.Background(), protocol.Trigger{Name: job, By: "ops", Request: protocol.NewRequest()})
	require.NoError(f.t, err)
	require.Equal(f.t, protocol.Opened, answer.Status)
	return time.UnixMilli(answer.Tick).UTC()
}

// settled returns what became of a tick, by the store.
func (f *redisFleet) settled(r *redisReplica, job string, tick time.Time) protocol.Outcome {
	f.t.Helper()
	record, err := r.store.Inspect(context.Background(), job)
	require.NoError(f.t, err)
	for _, s := range record.Settled {
		if s.Tick == tick.UnixMilli() {
			return s.Outcome
		}
	}
	return ""
}

// aTickOfEachPolicyCostsTwoCommands counts for six seconds, from the middle of one to that of
// another, while no run overlaps another.
func aTickOfEachPolicyCostsTwoCommands(t *testing.T) {
	f := newRedisFleet(t)
	policies := []jobs.Overlap{jobs.Forbid, jobs.Allow, jobs.Queue, jobs.Replace}
	for _, policy := range policies {
		f.job(string(policy), "@every 1s", takes(0), jobs.WithOverlap(policy))
	}
	replicas := f.startMany()
	f.eventually("replace", 8*time.Second, ended(4)) // scripts are loaded, connections made, and the members known

	const ticks = 6
	counts := func() (list []int) {
		for _, r := range replicas {
			records, _ := r.sent.counts()
			list = append(list, records)
		}
		return list
	}
	time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(1500 * time.Millisecond)))
	before, from := counts(), time.Now()
	time.Sleep(time.Until(from.Add(ticks * time.Second)))
	after, to := counts(), time.Now()

	won, all := map[string]int{}, 0
	for _, a := range f.runs.of("") {
		if a.Tick.After(from) && a.Tick.Before(to) {
			won[a.Replica]++
			all++
		}
	}
	require.Equal(t, ticks*len(policies), all)
	sum := 0
	for i, r := range replicas {
		sent := after[i] - before[i]
		t.Logf("%s: %d of %d ticks won, %d commands about records", r.Replica(), won[r.Replica()], all, sent)
		require.GreaterOrEqual(t, sent, 2*won[r.Replica()], "one to claim, and one to settle")
		sum += sent
	}
	require.LessOrEqual(t, sum, 2*all+all/2, "but for reports that came late, or claims that came early")
	f.judge()
}

func whatWaitsStartsWhenTheRunningOneEnds(t *testing.T) {
	f := newRedisFleet(t)
	f.job("job", "@every 2s", takes(3100*time.Millisecond), queued)
	f.startMany(scheduler.WithTTL(time.Minute))
	attempts := f.eventually("job", 30*time.Second, ended(5))
	for i, a := range attempts[1:5] {
		require.False(t, a.start.Before(attempts[i].end))
		require.Less(t, a.start.Sub(attempts[i].end), 1500*time.Millisecond)
		require.Less(t, a.start.Sub(a.Tick), 3*time.Second, "the newest")
	}
	f.judge()
}

func aNewTickReplacesTheRunningOne(t *testing.T) {
	f := newRedisFleet(t)
	f.job("job", "@every 2s", takes(time.Hour), replacing)
	replicas := f.startMany(scheduler.WithTTL(time.Minute), scheduler.WithShutdownGrace(0))
	attempts := f.eventually("job", 20*time.Second, running(5))
	for i, a := range attempts[1:5] {
		before := attempts[i]
		require.ErrorIs(t, before.cause, protocol.ErrReplaced)
		require.False(t, a.start.Before(before.end))
		require.Less(t, a.start.Sub(a.Tick), 1500*time.Millisecond)
		require.Equal(t, protocol.OutcomeReplaced, f.settled(replicas[0], "job", before.Tick))
	}
	f.judge()
}

func aTriggeredJobRunsOnceAtOnce(t *testing.T) {
	f := newRedisFleet(t)
	f.job("job", "@every 24h", takes(0))
	replicas := f.startMany()
	for i := range 20 {
		r := replicas[i%3]
		asked := time.Now()
		tick := f.trigger(r, "job")
		attempts := f.eventually("job", 5*time.Second, ended(i+1))
		require.Equal(t, tick, attempts[i].Tick.UTC())
		require.Less(t, attempts[i].start.Sub(asked), 2*time.Second)
		require.Eventually(t, func() bool { return f.settled(r, "job", tick) == wire.Succeeded }, 5*time.Second, time.Millisecond)
	}
	time.Sleep(3 * time.Second) // until every replica has asked for triggered ticks
	require.Len(t, f.runs.of("job"), 20)
	f.judge()
}

// withoutMessagesATriggeredJobRunsAllTheSame forbids messages, as some services do: replicas ask
// every two seconds.
func withoutMessagesATriggeredJobRunsAllTheSame(t *testing.T) {
	f := newRedisFleet(t, redistest.WithConf("user", "default", "on", "nopass", "~*", "+@all", "resetchannels"))
	f.job("job", "@every 24h", takes(0))
	replicas := f.startMany()
	longest := time.Duration(0)
	for i := range 6 {
		time.Sleep(time.Duration(i) * 371 * time.Millisecond)
		asked := time.Now()
		f.trigger(replicas[0], "job")
		attempts := f.eventually("job", 10*time.Second, ended(i+1))
		longest = max(longest, attempts[i].start.Sub(asked))
	}
	t.Logf("the longest wait was %s", longest)
	require.Less(t, longest, 4*time.Second)
	time.Sleep(4 * time.Second)
	require.Len(t, f.runs.of("job"), 6)
	f.judge()
}

func aPauseOutlivesTheServer(t *testing.T) {
	f := newRedisFleet(t)
	f.job("job", "@every 1s", takes(0))
	replicas := f.startMany()
	f.eventually("job", 5*time.Second, ended(1))
	store := replicas[0].store
	_, err := store.Pause(t.Context(), "job", protocol.Pause{By: "ops", Reason: "to see"})
	require.NoError(t, err)
	for _, r := range replicas[1:] { // those that come later learn of it at once
		r.stop()
		r := f.start(fmt.Sprint(r.Replica(), "2"))
		require.Eventually(t, r.Ready, 10*time.Second, time.Millisecond)
	}
	replicas[0].Update(nil)
	count := len(f.runs.of("job"))
	f.server.Restart()
	time.Sleep(4 * time.Second)
	require.LessOrEqual(t, len(f.runs.of("job")), count+1, "but for one that was under way")
	record, err := store.Inspect(t.Context(), "job")
	require.NoError(t, err)
	require.NotNil(t, record.Paused)
	require.Equal(t, "ops", record.Paused.By)
	_, err = store.Resume(t.Context(), "job", protocol.Resume{By: "ops"})
	require.NoError(t, err)
	resumed := time.Now()
	attempts := f.eventually("job", 5*time.Second, func(list []attempt) bool { return list[len(list)-1].Tick.After(resumed) })
	require.Less(t, attempts[len(attempts)-1].start.Sub(resumed), 2*time.Second)
	f.judge()
}

func oneReplicaLeadsAndAnotherFollowsIt(t *testing.T) {
	f := newRedisFleet(t)
	f.job("job", "", leads, jobs.WithLeader())
	replicas := f.startMany(scheduler.WithTTL(time.Minute))
	for i := range 2 {
		attempts := f.eventually("job", 10*time.Second, running(i+1))
		require.Len(t, attempts, i+1)
		for _, r := range replicas {
			if r.Replica() == attempts[i].Replica {
				r.stop()
			}
		}
		attempts = f.eventually("job", 10*time.Second, running(i+2))
		require.False(t, attempts[i+1].start.Before(attempts[i].end))
		require.Less(t, attempts[i+1].start.Sub(attempts[i].end), time.Second)
		require.Greater(t, attempts[i+1].Token, attempts[i].Token)
	}
}
