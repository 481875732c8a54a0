package quorum_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
)

// A collector of the notifications of a watch.
type recorder struct {
	mu   sync.Mutex
	list []string
}

func (h *recorder) wake(name string, tick int64) { h.add(fmt.Sprint(name, " ", tick)) }

func (h *recorder) add(text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.list = append(h.list, text)
}

// take returns the notifications since the last call.
func (h *recorder) take() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := h.list
	h.list = nil
	return list
}

func TestWatchWorksWithoutAMinority(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		list := newFakeNodes(3)
		s := openFake(t, list)
		synced(t, s, "job")
		list[0].set(true)
		var h recorder
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.Watch(ctx, h.wake) }()
		settle()
		require.Equal(t, []string{" 0", " 0"}, h.take())

		a, err := s.Trigger(t.Context(), protocol.Trigger{Name: "job", By: "ops", Request: "r"})
		require.NoError(t, err)
		settle()
		require.Equal(t, []string{fmt.Sprint("job ", a.Tick)}, h.take())

		list[0].set(false) // it is listened on when it is back
		time.Sleep(2 * time.Second)
		require.Equal(t, []string{" 0"}, h.take())
		list[1].set(true)
		list[2].set(true)
		settle()
		_, err = s.Pause(t.Context(), "job", protocol.Pause{By: "ops"})
		require.Error(t, err) // nobody is notified of an uncertain change
		settle()
		require.Empty(t, h.take())
		cancel()
		require.ErrorIs(t, <-done, context.Canceled)
	})
}

func TestWatchEndsWhenNoNodeIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		list := newFakeNodes(3)
		s := openFake(t, list)
		for _, n := range list {
			n.set(true)
		}
		require.ErrorIs(t, s.Watch(t.Context(), func(string, int64) {}), errDown)
	})
}

func TestMembersAreThoseOfAMajority(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		list := newFakeNodes(3)
		s := openFake(t, list)
		list[0].set(true)
		require.NoError(t, s.SendHeartbeat(t.Context(), "a", []byte("old"), time.Minute))
		list[0].set(false)
		list[2].set(true)
		time.Sleep(time.Second)
		require.NoError(t, s.SendHeartbeat(t.Context(), "a", []byte("new"), time.Minute))
		require.NoError(t, s.SendHeartbeat(t.Context(), "b", nil, time.Minute))
		settle()
		for gone := range list {
			for i, n := range list {
				n.set(i == gone)
			}
			members, err := s.Members(t.Context())
			require.NoError(t, err)
			require.Len(t, members, 2)
			require.Equal(t, "new", string(members[0].Info))
			require.Equal(t, "b", members[1].Holder)
		}
	})
}
