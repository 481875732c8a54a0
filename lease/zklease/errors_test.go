package zklease_test

import (
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/lease/driver"
	"github.com/solotick/solotick/lease/zklease"
)

func TestUnusableNodesSayWhatToDo(t *testing.T) {
	t.Parallel()
	admin := connect(t, shared.Addr())
	require.NoError(t, admin.AddAuth("digest", []byte("admin:secret")))
	mine, everybodys := zk.AuthACL(zk.PermAll), zk.WorldACL(zk.PermAll)
	for name, c := range map[string]struct {
		spoil func(t *testing.T, path string)
		says  string
		hint  string
	}{
		"of another program": {func(t *testing.T, path string) {
			_, err := admin.Create(path, []byte("mine"), 0, everybodys)
			require.NoError(t, err)
		}, "is a node of another program", "name another path"},
		"a newer format": {func(t *testing.T, path string) {
			_, err := admin.Create(path, []byte(`{"solotick":2,"generation":"g"}`), 0, everybodys)
			require.NoError(t, err)
		}, "has nodes of format 2, and this release knows 1", "start the newer release"},
		"of another user": {func(t *testing.T, path string) {
			_, err := admin.Create(path, nil, 0, mine)
			require.NoError(t, err)
		}, "not authenticated", "give the user of the URL all rights"},
		"below a node of another user": {func(t *testing.T, path string) {
			_, err := admin.Create(path[:strings.LastIndex(path, "/")], nil, 0, mine)
			require.NoError(t, err)
		}, "not authenticated", "give the user of the URL all rights"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := shared.Addr()
			if strings.HasPrefix(name, "below") {
				url += "/" + fresh()
			} else {
				made := open(t, shared.Addr(), "") // makes /solotick
				require.NoError(t, read(t.Context(), made, "job").Err)
			}
			s := open(t, url, "")
			c.spoil(t, s.Path())
			err := read(t.Context(), s, "job").Err
			require.ErrorContains(t, err, c.says)
			require.ErrorContains(t, err, "zklease: /")
			require.ErrorIs(t, err, protocol.ErrPermanent)
			require.Contains(t, s.Hint(err), c.hint)
			require.Error(t, change(t.Context(), s, "job", driver.Change{ID: "x", Data: []byte("x")}).Err)
		})
	}
}

func TestWrongPasswordSaysWhatToDo(t *testing.T) {
	t.Parallel()
	addr := shared.Addr() + "/" + fresh()
	require.NoError(t, read(t.Context(), open(t, "alice:right@"+addr, "fleet"), "job").Err)
	wrong := open(t, "alice:wr0ng@"+addr, "fleet")
	err := read(t.Context(), wrong, "job").Err
	require.ErrorIs(t, err, protocol.ErrPermanent)
	require.Contains(t, wrong.Hint(err), "name the user that made them")
	require.NotContains(t, err.Error(), "wr0ng")
}

func TestTooLargeValueIsRefused(t *testing.T) {
	t.Parallel()
	s := open(t, shared.Addr(), "")
	first := changed(t, s, "job", driver.Version{}, "first")
	err := change(t.Context(), s, "job", driver.Change{From: first, ID: "large", Data: make([]byte, 1<<20)}).Err
	require.ErrorIs(t, err, protocol.ErrPermanent)
	require.Contains(t, s.Hint(err), "1 MiB")
	require.Equal(t, "first", string(read(t.Context(), s, "job").Value.Data))
	changed(t, s, "job", first, "second")
}

func TestClosedStoreAnswersWithAnError(t *testing.T) {
	t.Parallel()
	s, err := zklease.Open("zk://127.0.0.1:1", fresh(), zklease.WithTimeout(50*time.Millisecond))
	require.NoError(t, err)
	err = read(t.Context(), s, "job").Err
	require.ErrorContains(t, err, "no answer from ZooKeeper at 127.0.0.1:1")
	require.Contains(t, s.Hint(err), "maxClientCnxns")
	require.NoError(t, s.Close())
	require.NoError(t, s.Close())
	require.ErrorIs(t, read(t.Context(), s, "job").Err, zklease.ErrClosed)
}

func TestErrorsOfABrokenConnectionNameThePackage(t *testing.T) {
	t.Parallel()
	s := open(t, shared.Addr(), "")
	conn := connect(t, shared.Addr())
	conn.Close()
	s.Use(conn)
	_, existsErr := s.Exists(t.Context())
	_, _, timeErr := s.Time(t.Context())
	for _, err := range []error{read(t.Context(), s, "job").Err, existsErr, timeErr} {
		require.ErrorContains(t, err, "zklease: ")
		require.Contains(t, s.Hint(err), "check that the servers of ZooKeeper run")
	}
}
