package quorum_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/lease/quorum"
)

// listed pages through the locks, and calls between before each further page.
func listed(t *testing.T, s *quorum.Store, count int, between func(page int)) (names []string, err error) {
	t.Helper()
	cursor := ""
	for page := 0; ; page++ {
		locks, next, err := s.Locks(t.Context(), "l", cursor, count)
		if err != nil {
			return names, err
		}
		for _, l := range locks {
			names = append(names, l.Name)
		}
		if cursor = next; cursor == "" {
			slices.Sort(names)
			return slices.Compact(names), nil
		}
		between(page)
	}
}

// spread holds locks of which each was accepted by another majority of the nodes.
func spread(t *testing.T, s *quorum.Store, list []*fakeNode, gone int) (names []string) {
	t.Helper()
	for i := range 12 {
		for j := range gone {
			list[(i+j)%len(list)].set(true)
		}
		names = append(names, fmt.Sprintf("l%02d", i))
		lockClaimed(t, s, protocol.Granted, lockOf(names[i], "a", 1, 1, time.Hour))
		settle()
		for _, n := range list {
			n.set(false)
		}
	}
	return names
}

func TestLocksListsAllThoughAMinorityIsGone(t *testing.T) {
	for _, of := range []struct{ nodes, gone int }{{3, 1}, {4, 1}, {5, 2}} {
		synctest.Test(t, func(t *testing.T) {
			list := newFakeNodes(of.nodes)
			s := openFake(t, list, quorum.WithTTL(time.Hour))
			_, _, err := s.Time(t.Context())
			require.NoError(t, err)
			all := spread(t, s, list, of.gone)
			for i := range list {
				for j := range of.gone {
					list[(i+j)%of.nodes].set(true)
				}
				for _, count := range []int{1, 5, 100} {
					names, err := listed(t, s, count, func(int) {})
					require.NoError(t, err)
					require.Equal(t, all, names)
				}
				for _, n := range list {
					n.set(false)
				}
			}
			for i := range of.gone + 1 {
				list[i].set(true)
			}
			_, err = listed(t, s, 5, func(int) {})
			var short *quorum.MajorityError
			require.ErrorAs(t, err, &short)
		})
	}
}

// A node that is emptied, or goes, while it is being asked is passed over, and one that hangs as
// well.
func TestLocksListsAllThoughANodeForgets(t *testing.T) {
	for name, happens := range map[string]func(*fakeNode){
		"emptied": (*fakeNode).empty,
		"gone":    func(n *fakeNode) { n.set(true) },
	} {
		for i := range 3 {
			for page := range 4 {
				t.Run(fmt.Sprint(name, " ", i, " after page ", page), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						list := newFakeNodes(3)
						s := openFake(t, list, quorum.WithTTL(time.Hour))
						_, _, err := s.Time(t.Context())
						require.NoError(t, err)
						all := spread(t, s, list, 0)
						names, err := listed(t, s, 5, func(p int) {
							if p == page {
								happens(list[i])
							}
						})
						require.NoError(t, err)
						require.Equal(t, all, names)
					})
				})
			}
		}
	}
}

func TestNodeThatWasEmptiedDoesNotListLocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		list := newFakeNodes(3)
		s := openFake(t, list, quorum.WithTTL(time.Hour))
		_, _, err := s.Time(t.Context())
		require.NoError(t, err)
		spread(t, s, list, 0)
		list[1].empty()
		list[2].hang(true)
		_, err = listed(t, s, 100, func(int) {})
		require.Error(t, err)
	})
}

// A node that was restarted, and counts again, has its keys in another order: it cannot go on where
// it was, and without it the others are too few.
func TestCursorOfARestartedNodeIsWorthNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		list := newFakeNodes(3)
		s := openFake(t, list, quorum.WithTTL(time.Second))
		_, _, err := s.Time(t.Context())
		require.NoError(t, err)
		time.Sleep(2 * time.Second)
		for i := range 12 {
			lockClaimed(t, s, protocol.Granted, lockOf(fmt.Sprintf("l%02d", i), "a", 1, 1, time.Second))
		}
		_, err = listed(t, s, 5, func(page int) {
			if page == 0 {
				list[0].empty()
				_, _, err := s.Time(t.Context())
				require.NoError(t, err)
				time.Sleep(2 * time.Second)
				list[1].set(true)
			}
		})
		var short *quorum.MajorityError
		require.ErrorAs(t, err, &short)
		require.ErrorContains(t, err, "node-0")
	})
}

func TestFaultyCursorsAreRefused(t *testing.T) {
	s := openFake(t, newFakeNodes(3))
	for _, cursor := range []string{"x", "1 2", "-1 0 0 ", "0 -1 0 ", "a b c d"} {
		_, _, err := s.Locks(t.Context(), "l", cursor, 10)
		require.ErrorContains(t, err, fmt.Sprintf("cursor %q", cursor))
	}
}
