package quorum_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/quorumnode"
	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/lease/quorum"
	"github.com/solotick/solotick/lease/redislease"
)

func newRedisNode(t testing.TB, srv *redistest.Server) *redislease.Node {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: srv.Addr()})
	n, err := redislease.NewNode(client, "default")
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, n.Close())
		require.NoError(t, client.Close())
	})
	return n
}

// The script does what the node in memory does, which all other tests rely on, for any sequence of
// operations.
func TestRedisNodeIsLikeTheOneInMemory(t *testing.T) {
	srv := redistest.Start(t)
	actual, fake := newRedisNode(t, srv), newFakeNodes(1)[0]
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	draw := rand.New(rand.NewPCG(seed, 0))
	var since [2]time.Time
	for round := range 300 {
		ops := make([]quorumnode.Op, draw.IntN(6))
		if round%50 == 49 {
			ops = make([]quorumnode.Op, 150) // more than one script takes
		}
		twin := make([]quorumnode.Op, len(ops))
		for i := range ops {
			ops[i] = quorumnode.Op{Key: fmt.Sprint("k", draw.IntN(3)), Accept: draw.IntN(2) == 0}
			if ops[i].Accept || draw.IntN(4) > 0 {
				ops[i].Ballot = fmt.Sprintf("%03x", round+draw.IntN(4)) // of one length
			}
			if ops[i].Accept {
				ops[i].Value = fmt.Sprintf("v%d\n\x00%d", round, i)
				ops[i].Grows = draw.IntN(2) == 0
				ops[i].Age = time.Duration(draw.IntN(2)) * time.Hour
			}
			twin[i] = ops[i]
			if ops[i].Accept && draw.IntN(3) == 0 { // some of another run
				off := time.Duration(draw.IntN(2)) * time.Second
				ops[i].Since, twin[i].Since = since[0].Add(off), since[1].Add(off)
			}
		}
		got, err := actual.Do(t.Context(), ops)
		require.NoError(t, err)
		want := fake.carryOut(twin)
		since[0], since[1] = got.Since, want.Since
		require.Len(t, got.Replies, len(ops))
		for i := range ops {
			// In one script it is always the same time, and between two of them little goes by.
			require.InDelta(t, want.Replies[i].Age.Hours(), got.Replies[i].Age.Hours(), 0.01, "%+v", ops[i])
			got.Replies[i].Age, want.Replies[i].Age = 0, 0
			require.Equal(t, want.Replies[i], got.Replies[i], "%+v", ops[i])
		}
		if round%100 == 99 {
			srv.Flush()
			fake.empty()
		}
	}
}

// Each register is listed, page by page, and nothing else that the server keeps.
func TestRedisNodeListsKeysAsMemoryNode(t *testing.T) {
	srv := redistest.Start(t)
	actual, fake := newRedisNode(t, srv), newFakeNodes(1)[0]
	var ops []quorumnode.Op
	for i := range 150 {
		ops = append(ops, quorumnode.Op{Key: fmt.Sprint([]string{"", "lock:", "lock:b"}[i%3], i), Ballot: "1", Accept: i%2 == 0, Value: "v"})
	}
	_, err := actual.Do(t.Context(), ops)
	require.NoError(t, err)
	fake.carryOut(ops)
	require.NoError(t, actual.Fleet().SendHeartbeat(t.Context(), "lock", nil, time.Minute))
	admin := srv.Client(t)
	for _, other := range []string{"solotick:{test:lock:x}:lock", "solotick:{test:lock:x}", "solotick:{test2:lock:x}:register"} {
		require.NoError(t, admin.Set(t.Context(), other, "x", 0).Err())
	}
	list := func(n quorum.Node, prefix string, count int) (keys []string) {
		for cursor := ""; ; {
			page, next, err := n.Keys(t.Context(), prefix, cursor, count)
			require.NoError(t, err)
			keys = append(keys, page...)
			if cursor = next; cursor == "" {
				slices.Sort(keys)
				return slices.Compact(keys)
			}
		}
	}
	for _, prefix := range []string{"lock:", "lock:b1", "none", ""} {
		for _, count := range []int{1, 10, 1000} {
			require.Equal(t, list(fake, prefix, count), list(actual, prefix, count), "%q, %d at a time", prefix, count)
		}
	}
	require.Len(t, list(actual, "lock:", 10), 100)
	_, _, err = actual.Keys(t.Context(), "lock:", "x y", 10)
	require.Error(t, err)
}

// A value is as old as the promise of its ballot: it was made at that time. One that nobody
// promised is new.
func TestAgeCountsFromThePromise(t *testing.T) {
	n := newRedisNode(t, redistest.Start(t))
	do := func(op quorumnode.Op) quorumnode.Reply {
		s, err := n.Do(t.Context(), []quorumnode.Op{op})
		require.NoError(t, err)
		return s.Replies[0]
	}
	do(quorumnode.Op{Key: "k", Ballot: "1"})
	time.Sleep(50 * time.Millisecond)
	require.True(t, do(quorumnode.Op{Key: "k", Ballot: "1", Accept: true, Value: "v"}).OK)
	require.GreaterOrEqual(t, do(quorumnode.Op{Key: "k"}).Age, 50*time.Millisecond)
	require.True(t, do(quorumnode.Op{Key: "k", Ballot: "2", Accept: true, Value: "v"}).OK)
	require.Less(t, do(quorumnode.Op{Key: "k"}).Age, 50*time.Millisecond)
}

// A server that was started or emptied says so, and one that was not remembers the same as before.
func TestNodeReturnsSinceWhenItRemembers(t *testing.T) {
	srv := redistest.Start(t, redistest.WithAOF())
	n := newRedisNode(t, srv)
	ask := func() (s quorumnode.State) {
		t.Helper()
		require.Eventually(t, func() bool {
			var err error
			s, err = n.Do(t.Context(), nil)
			return err == nil
		}, 20*time.Second, time.Millisecond)
		return s
	}
	first := ask()
	require.Equal(t, first.Since, ask().Since)
	srv.Flush()
	emptied := ask()
	require.True(t, emptied.Since.After(first.Since))
	require.Equal(t, first.ID, emptied.ID)
	srv.Restart() // with everything that it knew: some of it may be old
	restarted := ask()
	require.True(t, restarted.Since.After(emptied.Since))
	require.NotEqual(t, first.ID, restarted.ID)
	require.Equal(t, restarted.Since, ask().Since)
}

func TestRegistersAreKeptAsLongAsIsSaid(t *testing.T) {
	srv := redistest.Start(t)
	n := newRedisNode(t, srv)
	key, admin := "solotick:{default:k}:register", srv.Client(t)
	do := func(op quorumnode.Op) {
		_, err := n.Do(t.Context(), []quorumnode.Op{op})
		require.NoError(t, err)
	}
	do(quorumnode.Op{Key: "k", Ballot: "1"})
	require.Positive(t, admin.PTTL(t.Context(), key).Val())
	do(quorumnode.Op{Key: "k", Ballot: "1", Accept: true, Value: "v", Keep: 48 * time.Hour})
	require.InDelta(t, 48, admin.PTTL(t.Context(), key).Val().Hours(), 1)
	do(quorumnode.Op{Key: "k", Ballot: "2", Accept: true, Value: "v", Keep: time.Hour})
	require.InDelta(t, 48, admin.PTTL(t.Context(), key).Val().Hours(), 1) // never sooner than was said
	do(quorumnode.Op{Key: "k", Ballot: "3", Accept: true, Value: "v"})
	for _, op := range []quorumnode.Op{
		{Key: "k", Ballot: "4"}, {Key: "k", Ballot: "4", Accept: true, Value: "v", Keep: time.Hour}, {Key: "new", Ballot: "1", Accept: true, Value: "v"},
	} {
		do(op)
		require.Equal(t, time.Duration(-1), admin.PTTL(t.Context(), "solotick:{default:"+op.Key+"}:register").Val(), "is kept for ever")
	}
	do(quorumnode.Op{Key: "lock:l", Ballot: "1", Accept: true, Value: "v", Keep: time.Hour})
	require.InDelta(t, 1, admin.PTTL(t.Context(), "solotick:{default:lock:l}:register").Val().Hours(), 0.1)
}
