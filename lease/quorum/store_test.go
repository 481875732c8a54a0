package quorum_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/lease/leasetest"
	"github.com/solotick/solotick/lease/quorum"
)

func TestStore(t *testing.T) { conforms(t, func([]*fakeNode) {}) }

func TestStoreWithOneNodeGone(t *testing.T) {
	conforms(t, func(list []*fakeNode) { list[1].set(true) })
}

// ofAllNodes skips cases about the exact list of former members: each node has its own, and a late
// announcement may reach one after the member has gone.
func ofAllNodes(t *testing.T) {
	if strings.Contains(t.Name(), "/FormerMembers") {
		t.Skip("each node has its own")
	}
}

// conforms proves that the store passes the suite when something has happened to its nodes.
func conforms(t *testing.T, happens func([]*fakeNode)) {
	t.Parallel()
	fakes := make(map[protocol.Store][]*fakeNode)
	leasetest.Run(t, func(t *testing.T) protocol.Store {
		list := newFakeNodes(3)
		s := openFake(t, list, quorum.WithTTL(time.Hour))
		if _, _, err := s.Time(t.Context()); err != nil {
			t.Fatal(err)
		}
		happens(list)
		fakes[s] = list
		t.Cleanup(func() { delete(fakes, s) })
		return s
	},
		leasetest.Within(func(t *testing.T, f func(*testing.T)) {
			ofAllNodes(t)
			synctest.Test(t, f)
		}),
		leasetest.WithForget(func(t *testing.T, s protocol.Store) {
			quorum.Idle(s.(*quorum.Store))
			for _, n := range fakes[s] {
				n.empty()
			}
			if _, _, err := s.Time(t.Context()); err == nil {
				t.Error("nodes that were just emptied are counted")
			}
			quorum.EndQuarantine(s.(*quorum.Store))
		}),
		leasetest.WithClockStep(func(t *testing.T, s protocol.Store, d time.Duration) {
			for _, n := range fakes[s] {
				n.step(d)
			}
		}))
}
