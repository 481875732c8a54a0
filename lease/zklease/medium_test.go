package zklease_test

import (
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/casstore"
	"github.com/solotick/solotick/lease/zklease"
)

// put keeps data under a key if its revision is from, and returns the next one.
func put(t *testing.T, s *zklease.Store, key, data string, from uint64) uint64 {
	t.Helper()
	kept, ok, err := s.Medium().Put(t.Context(), key, bytesOf(data), from)
	require.NoError(t, err)
	require.True(t, ok)
	return kept.Revision
}

func bytesOf(data string) []byte {
	if data == "" {
		return nil
	}
	return []byte(data)
}

func get(t *testing.T, s *zklease.Store, key string) casstore.Kept {
	t.Helper()
	list, err := s.Medium().Get(t.Context(), []string{key})
	require.NoError(t, err)
	return list[0]
}

func TestNodeThatWasMadeAgainConflicts(t *testing.T) {
	t.Parallel()
	first := open(t, shared.Addr(), "")
	second := open(t, shared.Addr(), strings.TrimPrefix(first.Path(), "/solotick/"))
	old := put(t, first, "item/a", "old", 0)
	put(t, second, "item/a", "", old)
	next := put(t, second, "item/a", "new", 0)
	require.Greater(t, next, old)

	_, before, err := connect(t, shared.Addr()).Get(second.Node("item/a"))
	require.NoError(t, err)
	require.EqualValues(t, 1, before.Version, "as the removed node had")
	present, ok, err := first.Medium().Put(t.Context(), "item/a", []byte("lost"), old)
	require.NoError(t, err)
	require.False(t, ok)
	require.Equal(t, "new", string(present.Data))
	require.Equal(t, next, zklease.Mzxid(present.Revision))
	put(t, first, "item/a", "newer", present.Revision)
}

func TestRemovalOfAnotherKeyIsInNobodysWay(t *testing.T) {
	t.Parallel()
	first := open(t, shared.Addr(), "")
	second := open(t, shared.Addr(), strings.TrimPrefix(first.Path(), "/solotick/"))
	mine := put(t, first, "message/mine", "1", 0) // in the only bucket of messages
	other := put(t, second, "message/other", "1", 0)
	put(t, second, "message/other", "", other)
	mine = put(t, first, "message/mine", "2", mine)
	require.Equal(t, casstore.Kept{Data: []byte("2"), Revision: mine}, get(t, second, "message/mine"))
}

func TestMissingBucketBeginsAnotherGeneration(t *testing.T) {
	t.Parallel()
	s := open(t, shared.Addr(), "")
	old := put(t, s, "item/a", "old", 0)
	node := s.Node("item/a")
	watching, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- s.Medium().Watch(t.Context(), func(string, casstore.Kept) {}, func() { close(watching) })
	}()
	<-watching
	require.NoError(t, removeAll(connect(t, shared.Addr()), node[:strings.LastIndex(node, "/")]))
	require.ErrorIs(t, <-ended, casstore.ErrWentBack)
	require.Zero(t, get(t, s, "item/a"))
	require.NotEqual(t, node, s.Node("item/a"))
	_, ok, err := s.Medium().Put(t.Context(), "item/a", []byte("lost"), old)
	require.NoError(t, err)
	require.False(t, ok)
	put(t, s, "item/a", "new", 0)
}

func TestKeysComeInPages(t *testing.T) {
	t.Parallel()
	s := open(t, shared.Addr(), "")
	want := []string{"item/lock:a", "item/b.c_d-e", "item/audit:", "older/b/x1/3", "message/m", "since", "new/kind"}
	for _, key := range want {
		put(t, s, key, "x", 0)
	}
	for prefix, want := range map[string][]string{"": want, "item/": want[:3], "item/lock:": want[:1], "message/": {"message/m"}, "sin": {"since"}, "new/": {"new/kind"}} {
		for _, count := range []int{1, 2, 100} {
			var keys []string
			for cursor := ""; ; {
				page, next, err := s.Medium().Keys(t.Context(), prefix, cursor, count)
				require.NoError(t, err)
				require.LessOrEqual(t, len(page), count)
				keys = append(keys, page...)
				if cursor = next; cursor == "" {
					break
				}
			}
			require.ElementsMatch(t, want, keys, prefix)
		}
	}
}

func TestLastOfQuickChangesArrives(t *testing.T) {
	t.Parallel()
	s := open(t, shared.Addr(), "")
	other := open(t, shared.Addr(), strings.TrimPrefix(s.Path(), "/solotick/"))
	before := put(t, other, "item/before", "0", 0)
	type change struct{ key, data string }
	changes := make(chan change, 1<<12)
	watching, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- s.Medium().Watch(t.Context(), func(key string, kept casstore.Kept) { changes <- change{key, string(kept.Data)} },
			func() { close(watching) })
	}()
	<-watching
	until := func(want change) {
		t.Helper()
		for {
			select {
			case c := <-changes:
				if c == want {
					return
				}
			case err := <-ended:
				t.Fatal(err)
			}
		}
	}
	after := uint64(0)
	for range 100 {
		before = put(t, other, "item/before", "more", before)
		after = put(t, other, "item/after", "more", after)
	}
	after = put(t, other, "item/after", "last", after)
	put(t, other, "item/before", "last", before)
	until(change{"item/before", "last"})
	put(t, other, "item/after", "", after)
	until(change{"item/after", ""})
	put(t, other, "item/after", "again", 0)
	until(change{"item/after", "again"})
}

func TestNodesBelongToTheUser(t *testing.T) {
	t.Parallel()
	s := open(t, "alice:p%40ss@"+shared.Addr()+"/"+fresh(), "")
	put(t, s, "item/a", "mine", 0)
	admin := connect(t, shared.Addr())
	_, _, err := admin.Get(s.Node("item/a"))
	require.ErrorIs(t, err, zk.ErrNoAuth)
	require.NoError(t, admin.AddAuth("digest", []byte("alice:p@ss")))
	data, _, err := admin.Get(s.Node("item/a"))
	require.NoError(t, err)
	require.Equal(t, "mine", string(data))
}
