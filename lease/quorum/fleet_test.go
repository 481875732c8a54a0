package quorum_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/lease/quorum"
)

var _ protocol.Store = (*quorum.Store)(nil)

// A node that has missed the newest announcement still has the one before it.
func TestKnownMembersAreThoseOfTheNewestAnnouncement(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		list := newFakeNodes(3)
		s := openFake(t, list)
		before, now := []byte("before"), []byte("now")
		require.NoError(t, s.SendHeartbeat(t.Context(), "a", before, time.Minute))
		settle()
		time.Sleep(time.Second)
		list[0].set(true)
		require.NoError(t, s.SendHeartbeat(t.Context(), "a", now, time.Minute))
		settle()
		list[0].set(false)
		for gone := range list {
			for i, n := range list {
				n.set(i == gone)
			}
			for known, info := range map[string][]byte{protocol.InfoDigest(now): nil, protocol.InfoDigest(before): now, "": now} {
				members, err := s.MembersBut(t.Context(), map[string]string{"a": known})
				require.NoError(t, err)
				require.Len(t, members, 1)
				require.Equal(t, info == nil, members[0].Known)
				require.Equal(t, string(info), string(members[0].Info))
			}
		}
	})
}

// A node that was away when a member was announced again does not make it a former one.
func TestFormerMembersAreThoseThatLiveOnNoMajority(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		list := newFakeNodes(3)
		s := openFake(t, list)
		for _, holder := range []string{"dead", "lives"} {
			require.NoError(t, s.SendHeartbeat(t.Context(), holder, []byte(holder), time.Minute))
		}
		settle()
		list[0].set(true)
		time.Sleep(2 * time.Minute)
		require.NoError(t, s.SendHeartbeat(t.Context(), "lives", []byte("on"), time.Minute))
		settle()
		list[0].set(false)
		former, err := s.FormerMembers(t.Context())
		require.NoError(t, err)
		require.Len(t, former, 1)
		require.Equal(t, "dead", former[0].Holder)
	})
}

func TestSetsAreKeptWhicheverNodeIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		list := newFakeNodes(3)
		s := openFake(t, list)
		set := []byte(strings.Repeat("set", 100))
		digests := []string{protocol.SetDigest(set)}
		require.NoError(t, s.PutSet(t.Context(), set, time.Minute))
		settle()
		list[2].empty()
		for gone := range list {
			for i, n := range list {
				n.set(i == gone)
			}
			sets, err := s.GetSets(t.Context(), digests)
			require.NoError(t, err)
			require.Equal(t, [][]byte{set}, sets)
			kept, err := s.KeepSets(t.Context(), digests, time.Minute)
			require.NoError(t, err)
			require.Equal(t, gone == 2, kept[0], "too few nodes have it, so it has to be put again")
		}
		for _, n := range list {
			n.set(false)
		}
		list[0].meet(func() fault { return fault{before: time.Second} })
		kept, err := s.KeepSets(t.Context(), digests, time.Minute)
		require.NoError(t, err)
		require.True(t, kept[0], "the slow one has it")
	})
}

func TestSummariesAndNamesNeedNoMinority(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		list := newFakeNodes(3)
		s := openFake(t, list)
		synced(t, s, "a", "b", "c")
		claimed(t, s, protocol.Granted, claimOf("b", 100, "r", 20*time.Second))
		lockClaimed(t, s, protocol.Granted, lockOf("lock", "r", 1, 1, 20*time.Second))
		settle()
		for gone := range list {
			for i, n := range list {
				n.set(i == gone)
			}
			var names []string
			for cursor, pages := "", 0; pages == 0 || cursor != ""; pages++ {
				page, next, err := s.Names(t.Context(), cursor, 2)
				require.NoError(t, err)
				names, cursor = append(names, page...), next
			}
			for _, name := range []string{"a", "b", "c"} {
				require.Contains(t, names, name)
			}
			require.NotContains(t, names, "lock")
			summaries, err := s.Summarize(t.Context(), []string{"a", "b", "none"})
			require.NoError(t, err)
			require.Len(t, summaries, 3)
			require.Len(t, summaries[1].Open, 1)
			require.Equal(t, "r", summaries[1].Open[0].Holder)
		}
	})
}
