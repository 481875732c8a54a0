package scheduler_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/heartbeat"
	"github.com/solotick/solotick/scheduler"
)

func TestProcessesThatShareAReplicaIDAreNoticed(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 10s", takes(0))
		f.start("web")
		f.sleepTo(400 * time.Millisecond)
		f.start("web")
		f.sleepTo(900 * time.Millisecond)
		third := f.start("web")
		f.start("other")
		f.sleepTo(time.Minute)
		events, _ := eventsOf[scheduler.ReplicaShared](f)
		require.NotEmpty(t, events)
		require.LessOrEqual(t, len(events), 6, "each says so when it changes, and not again")
		for _, e := range events {
			require.Equal(t, "web", e.Replica)
			require.Greater(t, e.Processes, 1)
		}
		seen, _ := f.lastSeen("other", 0)
		require.Equal(t, 4, seen.Replicas, "as the metric has it")
		members, err := f.store.Members(context.Background())
		require.NoError(t, err)
		web, err := heartbeat.Decode(members[1].Info)
		require.NoError(t, err)
		require.Equal(t, 3, web.Processes())

		f.halt(third)
		f.sleepTo(3 * time.Minute)
		seen, _ = f.lastSeen("other", 0)
		require.Equal(t, 3, seen.Replicas)
	})
}

func TestSuccessorWithTheSameIDIsNoMistake(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 10s", takes(0))
		f.start("web").link.cut() // it dies without a word
		f.sleepTo(time.Second)
		first := f.start("web")
		f.sleepTo(30 * time.Second)
		f.halt(first)
		f.start("web")
		f.sleepTo(time.Minute)
		events, _ := eventsOf[scheduler.ReplicaShared](f)
		require.Empty(t, events)
	})
}
