package mysqllease_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/lease/driver"
	"github.com/solotick/solotick/lease/mysqllease"
)

func TestUnusableURLsAreRefused(t *testing.T) {
	const secret = "s3cret"
	for _, url := range []string{
		"", "mysql", "mysql:", "mysql://", "mysql:///d", "mysql://h", "mysql://h/", "mysql://h/a/b", "mysql://h/d#f", "postgres://h/d",
		"mysql://u:" + secret + "#@h/d", "mysql://u:" + secret + "/@h/d", "mysql://u:" + secret + "@h:port/d", "mysql://u:p@h/d?timeout=" + secret,
		"u:" + secret + "@tcp(h)/d",
	} {
		_, err := mysqllease.Open(url, "fleet")
		require.ErrorContains(t, err, "mysql://user:password@host:3306/name", url)
		require.NotContains(t, err.Error(), secret, url)
	}
}

func TestNewSaysEveryFault(t *testing.T) {
	_, err := mysqllease.New(nil, "fleet", nil)
	require.ErrorContains(t, err, "options[0]: nil must be an option")
	require.ErrorContains(t, err, "config: must name a database")
	c := mysql.NewConfig()
	c.DBName = "d"
	_, err = mysqllease.New(c, "-", mysqllease.WithTimeout(time.Millisecond))
	require.ErrorContains(t, err, "timeout 1ms must be at least 10ms")
	require.ErrorContains(t, err, `namespace`)
}

func TestConfigurationIsNotChanged(t *testing.T) {
	c := mysql.NewConfig()
	c.DBName, c.TLS, c.Params = "d", &tls.Config{MinVersion: tls.VersionTLS12}, map[string]string{"time_zone": "'+05:00'"}
	before := c.Clone()
	s, err := mysqllease.New(c, "fleet")
	require.NoError(t, err)
	require.NoError(t, s.Close())
	require.Equal(t, before.Params, c.Params)
	require.Equal(t, before.Timeout, c.Timeout)
}

func TestClosedStoreSaysSo(t *testing.T) {
	s := open(t, database(t))
	require.NoError(t, s.Close())
	res := read(t.Context(), s, "job")
	require.ErrorIs(t, res.Err, mysqllease.ErrClosed)
	require.ErrorIs(t, res.Err, protocol.ErrPermanent)
}

// What an operator has to mend is said with the place, without a password.
func TestUnusableServersSayWhatToDo(t *testing.T) {
	t.Parallel()
	server := own(t)
	run(t, server, "CREATE USER none@'%' IDENTIFIED BY 'pw'", "CREATE USER looks@'%' IDENTIFIED BY 'pw'", "CREATE USER works@'%' IDENTIFIED BY 'pw'",
		"CREATE DATABASE blank", "CREATE DATABASE full", "GRANT SELECT ON full.* TO looks@'%'", "GRANT SELECT, INSERT, UPDATE, DELETE ON *.* TO works@'%'")
	changed(t, open(t, "mysql://root@"+server.Addr+"/full"), "job", driver.Version{}, "a")
	for name, c := range map[string]struct {
		url, text, hint string
		permanent       bool
	}{
		"nobody listens":  {"mysql://root@127.0.0.1:1/d", "connection refused", "check that the server runs", false},
		"wrong password":  {"mysql://none:b4d@" + server.Addr + "/full", "Access denied", "check the user and the password", true},
		"no database":     {"mysql://root@" + server.Addr + "/missing", "Unknown database", "CREATE DATABASE", true},
		"no rights":       {"mysql://none:pw@" + server.Addr + "/full", "Access denied", "GRANT", true},
		"may not write":   {"mysql://looks:pw@" + server.Addr + "/full", "denied", "GRANT", true},
		"may not create":  {"mysql://works:pw@" + server.Addr + "/blank", "denied", "GRANT", true},
		"TLS without any": {"mysql://root@" + server.Addr + "/full?tls=true", "TLS", "set up TLS on the server", true},
	} {
		s := open(t, c.url)
		err := change(t.Context(), s, "new", driver.Change{ID: "x", Data: []byte("x")}).Err
		require.ErrorContains(t, err, c.text, name)
		require.ErrorContains(t, err, "mysqllease: 127.0.0.1:", name)
		require.NotContains(t, err.Error(), "b4d", name)
		require.Contains(t, s.Hint(err), c.hint, name)
		if c.permanent {
			require.ErrorIs(t, err, protocol.ErrPermanent, name)
		} else {
			require.NotErrorIs(t, err, protocol.ErrPermanent, name)
		}
	}
	changed(t, open(t, "mysql://works:pw@"+server.Addr+"/full"), "other", driver.Version{}, "a")

	run(t, server, "SET GLOBAL require_secure_transport = ON")
	s := open(t, "mysql://works:pw@"+server.Addr+"/full")
	err := read(t.Context(), s, "job").Err
	require.ErrorIs(t, err, protocol.ErrPermanent)
	require.Contains(t, s.Hint(err), "add tls=true to the URL", "MariaDB 10 says no more than that access is denied")
}

// A server whose binary log lacks a commit undoes it when it starts after a loss of power.
func TestUnsyncedBinaryLogIsNotDurable(t *testing.T) {
	t.Parallel()
	server := own(t, "--log-bin=log", "--server-id=1")
	s := open(t, databaseOn(t, server))
	for _, c := range []struct {
		flush, sync int
		durable     bool
	}{{2, 1, false}, {1, 0, false}, {1, 100, false}, {1, 1, true}} {
		run(t, server, fmt.Sprint("SET GLOBAL innodb_flush_log_at_trx_commit = ", c.flush), fmt.Sprint("SET GLOBAL sync_binlog = ", c.sync))
		facts, err := s.Facts(t.Context())
		require.NoError(t, err)
		require.Equal(t, c.durable, facts.Durable, c)
	}
	changed(t, s, "job", driver.Version{}, "logged")
}

func TestReadOnlyServerIsUsedWhenItIsPrimaryAgain(t *testing.T) {
	t.Parallel()
	server := own(t)
	run(t, server, "CREATE DATABASE d", "CREATE USER app@'%' IDENTIFIED BY 'pw'", "GRANT ALL ON d.* TO app@'%'")
	s := open(t, "mysql://app:pw@"+server.Addr+"/d")
	v := changed(t, s, "job", driver.Version{}, "before")
	run(t, server, "SET GLOBAL read_only = 1")
	require.Equal(t, v, read(t.Context(), s, "job").Value.Version)
	err := change(t.Context(), s, "job", driver.Change{From: v, ID: "x", Data: []byte("x")}).Err
	require.ErrorContains(t, err, "read-only")
	require.NotErrorIs(t, err, protocol.ErrPermanent)
	require.Contains(t, s.Hint(err), "name the primary")
	facts, err := s.Facts(t.Context())
	require.NoError(t, err)
	require.True(t, facts.ReadOnly)
	require.False(t, facts.TooOld)
	run(t, server, "SET GLOBAL read_only = 0")
	changed(t, s, "job", v, "after")
}

// What a read-only server has answered closes the connection: a host name may lead to the primary
// by now.
func TestReadOnlyServerIsDialledAgain(t *testing.T) {
	t.Parallel()
	server := own(t)
	run(t, server, "CREATE DATABASE d", "CREATE USER app@'%' IDENTIFIED BY 'pw'", "GRANT ALL ON d.* TO app@'%'")
	var dialled atomic.Int64
	c := mysql.NewConfig()
	c.User, c.Passwd, c.Net, c.Addr, c.DBName = "app", "pw", "tcp", server.Addr, "d"
	c.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		dialled.Add(1)
		return new(net.Dialer).DialContext(ctx, network, addr)
	}
	s, err := mysqllease.New(c, "fleet", mysqllease.WithTimeout(20*time.Second))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	changed(t, s, "job", driver.Version{}, "before")
	run(t, server, "SET GLOBAL read_only = 1")
	before := dialled.Load()
	const calls, pooled = 16, 8
	for range calls {
		require.ErrorContains(t, change(t.Context(), s, "new", driver.Change{ID: "x", Data: []byte("x")}).Err, "read-only")
	}
	require.GreaterOrEqual(t, dialled.Load()-before, int64(calls-pooled))
}

func TestTablesOfOthersAreLeftAlone(t *testing.T) {
	t.Parallel()
	server, err := shared()
	require.NoError(t, err)
	for name, c := range map[string]struct{ statement, hint string }{
		"newer":          {"UPDATE %.solotick_store SET version = 99", "start the newer release"},
		"column":         {"ALTER TABLE %.solotick_item DROP COLUMN keep", "undo the change"},
		"another column": {"ALTER TABLE %.solotick_item ADD COLUMN mine INT", "undo the change"},
		"type":           {"ALTER TABLE %.solotick_entry MODIFY COLUMN body VARCHAR(10) NOT NULL", "undo the change"},
		"nullable":       {"ALTER TABLE %.solotick_item MODIFY COLUMN keep BIGINT NULL", "undo the change"},
		"engine":         {"ALTER TABLE %.solotick_notice ENGINE=MyISAM", "undo the change"},
		"collation":      {"ALTER TABLE %.solotick_item MODIFY COLUMN item_key VARCHAR(160) CHARACTER SET ascii COLLATE ascii_general_ci NOT NULL", "undo the change"},
	} {
		url := database(t)
		changed(t, open(t, url), "job", driver.Version{}, "kept")
		run(t, server, strings.ReplaceAll(c.statement, "%", url[strings.LastIndex(url, "/")+1:]))
		s := open(t, url)
		err := change(t.Context(), s, "job", driver.Change{ID: "x", Data: []byte("x")}).Err
		require.ErrorIs(t, err, protocol.ErrPermanent, name)
		require.Contains(t, s.Hint(err), c.hint, name)
	}
}

func TestTableChangedWhileOpenSaysWhatToDo(t *testing.T) {
	t.Parallel()
	server, err := shared()
	require.NoError(t, err)
	url := database(t)
	s := open(t, url)
	v := changed(t, s, "job", driver.Version{}, "kept")
	run(t, server, "ALTER TABLE "+url[strings.LastIndex(url, "/")+1:]+".solotick_item DROP COLUMN keep")
	err = change(t.Context(), s, "job", driver.Change{From: v, ID: "x", Data: []byte("x")}).Err
	require.ErrorIs(t, err, protocol.ErrPermanent)
	require.Contains(t, s.Hint(err), "undo the change")
}

func TestUnreadableLeasesConcernTheirKeyOnly(t *testing.T) {
	t.Parallel()
	server, err := shared()
	require.NoError(t, err)
	url := database(t)
	s := open(t, url)
	changed(t, s, "bad", driver.Version{}, "bad")
	v := changed(t, s, "good", driver.Version{}, "good")
	run(t, server, "UPDATE "+url[strings.LastIndex(url, "/")+1:]+".solotick_item SET leases = '{' WHERE item_key = 'bad'")
	require.ErrorIs(t, read(t.Context(), s, "bad").Err, driver.ErrRecord)
	changed(t, s, "good", v, "next")
}

func TestFullDiskLosesNothing(t *testing.T) {
	t.Parallel()
	server := own(t, "--innodb-data-file-path=ibdata1:12M", "--innodb-file-per-table=0")
	s := open(t, databaseOn(t, server))
	v := changed(t, s, "job", driver.Version{}, "kept")
	var res driver.Result
	for n := 0; n < 16 && res.Err == nil; n++ {
		res = change(t.Context(), s, fmt.Sprint("large", n), driver.Change{ID: "large", Data: bytes.Repeat([]byte("x"), 1<<20)})
	}
	require.Error(t, res.Err)
	require.NotErrorIs(t, res.Err, protocol.ErrPermanent)
	if errors.Is(res.Err, mysql.ErrInvalidConn) { // MariaDB 11.8 ends itself
		require.Contains(t, s.Hint(res.Err), "check that the server runs, and its log")
	} else {
		require.Equal(t, "make room on the server's disk", s.Hint(res.Err))
		require.Equal(t, "kept", string(read(t.Context(), s, "job").Value.Data))
	}
	require.NoError(t, server.Restart())
	require.Eventually(t, func() bool { return read(t.Context(), s, "job").Value.Version == v }, time.Minute, 10*time.Millisecond)
}
