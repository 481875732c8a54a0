package engine_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/engine"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/lease/driver"
)

var errFull = errors.New("no room")

// noRoom is a store that has room for what is essential only.
type noRoom struct{ *driver.Memory }

func (n noRoom) Do(ctx context.Context, ops []driver.Op) []driver.Result {
	for i, op := range ops {
		if op.Change != nil && !op.Change.Essential {
			results := make([]driver.Result, len(ops))
			results[i].Err = errFull
			return results
		}
	}
	return n.Memory.Do(ctx, ops)
}

func TestAllThatJoinAtOnceAreMembers(t *testing.T) {
	m := new(driver.Memory)
	const n = 30
	sessions := make([]*engine.Session, n)
	for i := range sessions {
		sessions[i] = replica(t, m)
	}
	var joined sync.WaitGroup
	for i, s := range sessions {
		joined.Go(func() {
			if err := s.SendHeartbeat(t.Context(), fmt.Sprint("r", i), []byte("x"), time.Hour); err != nil {
				t.Error(err)
			}
		})
	}
	joined.Wait()
	for _, s := range sessions {
		list, err := s.Members(t.Context())
		require.NoError(t, err)
		require.Len(t, list, n)
	}
}

// A process that starts knows when those that are gone were heard last, and the list has no room for
// those that ended long ago.
func TestWhoEndedLongAgoIsOffTheList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := new(driver.Memory)
		began := time.Now()
		require.NoError(t, replica(t, m).SendHeartbeat(t.Context(), "a", []byte("a"), time.Minute))
		time.Sleep(time.Hour)
		require.NoError(t, replica(t, m).SendHeartbeat(t.Context(), "b", []byte("b"), 48*time.Hour))
		former, err := replica(t, m).FormerMembers(t.Context())
		require.NoError(t, err)
		require.Len(t, former, 1)
		require.Equal(t, "a", former[0].Holder)
		require.True(t, former[0].LastHeartbeat.Equal(began), former[0].LastHeartbeat)

		time.Sleep(protocol.FormerFor)
		s := replica(t, m)
		require.NoError(t, s.SendHeartbeat(t.Context(), "c", []byte("c"), time.Minute))
		res := m.Do(t.Context(), []driver.Op{{Key: "member:"}})
		require.JSONEq(t, `{"holders": ["b", "c"]}`, string(res[0].Value.Data))
		require.NoError(t, s.SendHeartbeat(t.Context(), "a", []byte("again"), time.Minute))
		list, err := s.Members(t.Context())
		require.NoError(t, err)
		require.Len(t, list, 3)
	})
}

// Heartbeats with nothing new leave the version alone, and one with news works in a full store.
func TestHeartbeatOfALivingMemberRenews(t *testing.T) {
	m := new(driver.Memory)
	s := replica(t, m)
	require.NoError(t, s.SendHeartbeat(t.Context(), "a", []byte("a"), time.Hour))
	version := func() driver.Version { return m.Do(t.Context(), []driver.Op{{Key: "member:a"}})[0].Value.Version }
	first := version()
	require.NoError(t, s.SendHeartbeat(t.Context(), "a", []byte("a"), time.Hour))
	require.Equal(t, first, version())

	full, err := engine.NewSession(noRoom{m}, "fleet", engine.Options{})
	require.NoError(t, err)
	require.NoError(t, full.SendHeartbeat(t.Context(), "a", []byte("news"), time.Hour))
	require.NotEqual(t, first, version())
	require.ErrorIs(t, full.SendHeartbeat(t.Context(), "b", []byte("b"), time.Hour), errFull)
}
