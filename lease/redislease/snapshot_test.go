package redislease_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/lease/redislease"
)

// TestCachedVersionConflictsWithRestoredSnapshot has a store know a version that is not in Redis
// any more: its write is based on the version that is there by then.
func TestCachedVersionConflictsWithRestoredSnapshot(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	a, b := open(t, srv.Addr()), open(t, srv.Addr())
	synced(t, a, "job")
	claimed := claimOf("job", 100, "a", "r1")
	g := granted(t, a, claimed)
	require.NoError(t, srv.Client(t).Save(t.Context()).Err())
	require.NoError(t, a.Settle(t.Context(), g, "succeeded")) // a version that a has cached, and that is lost
	srv.Restart()
	require.Eventually(t, func() bool { return answers(a) && answers(b) }, 20*time.Second, time.Millisecond)

	granted(t, b, claimOf("job", 101, "b", "r2")) // the snapshot has another version since
	x, err := a.Claim(t.Context(), claimOf("job", 101, "a", "r3"))
	require.NoError(t, err)
	require.Equal(t, protocol.Held, x.Status, "what b was granted is not overwritten")
	require.Equal(t, "b", x.Holder)
	requireOpen(t, a, 101)

	y, err := b.Claim(t.Context(), claimOf("job", 100, "b", "r4"))
	require.NoError(t, err)
	require.Equal(t, protocol.Decided, y.Status, "a has written its settlement back")
}

// TestClaimAfterSnapshotWithCachedVersionDecidesNothing while nobody else has changed the snapshot.
func TestClaimAfterSnapshotWithCachedVersionDecidesNothing(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	a := open(t, srv.Addr())
	synced(t, a, "job")
	g := granted(t, a, claimOf("job", 100, "a", "r1"))
	require.NoError(t, srv.Client(t).Save(t.Context()).Err())
	require.NoError(t, a.Settle(t.Context(), g, "succeeded"))
	srv.Restart()
	require.Eventually(t, func() bool { return answers(a) }, 20*time.Second, time.Millisecond)

	c := claimOf("job", 101, "a", "r2")
	c.Overlap = protocol.OverlapSkip
	x, err := a.Claim(t.Context(), c)
	require.NoError(t, err)
	require.Equal(t, protocol.Unknown, x.Status)
	requireOpen(t, a)
	granted(t, a, c)
}

func requireOpen(t *testing.T, s *redislease.Store, ticks ...int64) {
	t.Helper()
	r, err := s.Inspect(t.Context(), "job")
	require.NoError(t, err)
	var open []int64
	for _, o := range r.Open {
		open = append(open, o.Tick)
	}
	require.Equal(t, ticks, open)
}
