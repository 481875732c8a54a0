package pglease_test

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/dbtest"
	"github.com/solotick/solotick/internal/historytest"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/proxytest"
	"github.com/solotick/solotick/lease/driver"
	"github.com/solotick/solotick/lease/pglease"
)

func read(ctx context.Context, s *pglease.Store, key string) driver.Result {
	return s.Values().Do(ctx, []driver.Op{{Key: key}})[0]
}

func change(ctx context.Context, s *pglease.Store, key string, c driver.Change) driver.Result {
	return s.Values().Do(ctx, []driver.Op{{Key: key, Change: &c}})[0]
}

// changed makes a change of a value, and returns its version.
func changed(t *testing.T, s *pglease.Store, key string, from driver.Version, text string) driver.Version {
	t.Helper()
	res := change(t.Context(), s, key, driver.Change{From: from, ID: text, Data: []byte(text)})
	require.NoError(t, res.Err)
	require.Equal(t, driver.Done, res.Status)
	return res.Version
}

// apart starts a server that the test may disturb.
func apart(t *testing.T, settings ...string) *dbtest.Server {
	t.Helper()
	s, err := dbtest.Postgres(answers, settings...)
	require.NoError(t, err)
	return s
}

func TestHistoriesAndTokensOutliveFaults(t *testing.T) {
	t.Parallel()
	server := apart(t)
	t.Run("HistoriesOfProcessesAreLinearizable", func(t *testing.T) { histories(t, server) })
	t.Run("TokensRiseThoughTheClockWentBack", func(t *testing.T) { tokensRise(t, server) })
	server.Kill()
}

// Processes are killed and frozen, and so is the server.
func histories(t *testing.T, server *dbtest.Server) {
	t.Helper()
	dsn := dbtest.PostgresDSN(server.Dir)
	changed(t, open(t, dsn), "history", driver.Version{}, "the tables are there")
	kills := 0
	historytest.Run(t, func(name string, seed uint64) *exec.Cmd { return command(dsn, name, fmt.Sprint(seed)) }, func() {
		if kills++; kills <= 2 {
			require.NoError(t, server.Restart())
			return
		}
		require.NoError(t, server.Freeze())
		time.Sleep(20 * time.Millisecond) // nothing is to be awaited there
		require.NoError(t, server.Thaw())
	})
}

func tokensRise(t *testing.T, server *dbtest.Server) {
	t.Helper()
	s := open(t, dbtest.PostgresDSN(server.Dir))
	kept := changed(t, s, "kept", driver.Version{}, "kept")
	first := changed(t, s, "job", driver.Version{}, "first")
	require.Equal(t, driver.Done, change(t.Context(), s, "job", driver.Change{From: first, ID: "gone"}).Status)
	require.NoError(t, server.SetClock(-24*time.Hour))
	now, _, err := s.Time(t.Context())
	require.NoError(t, err)
	require.Greater(t, time.Since(now), 23*time.Hour)
	require.Greater(t, changed(t, s, "job", driver.Version{}, "second").Stamp, first.Stamp)
	require.Greater(t, changed(t, s, "kept", kept, "later").Stamp, kept.Stamp)
}

func TestFrozenProcessHoldsUpNobody(t *testing.T) {
	t.Parallel()
	dsn := schema(t)
	s := open(t, dsn)
	cmd := command(dsn, "frozen", "")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	_, err = bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	for n := range 10 {
		require.NoError(t, cmd.Process.Signal(syscall.SIGSTOP))
		v := read(t.Context(), s, "busy").Value.Version
		for try := 0; ; try++ { // what the server got before goes first
			res := change(t.Context(), s, "busy", driver.Change{From: v, ID: fmt.Sprint("mine-", n, "-", try), Data: []byte("x")})
			require.NoError(t, res.Err)
			if res.Status == driver.Done {
				break
			}
			require.Less(t, try, 50)
			v = res.Value.Version
		}
		require.NoError(t, cmd.Process.Signal(syscall.SIGCONT))
		time.Sleep(time.Millisecond) // it is to be frozen at another place
	}
}

func TestTenReplicasMakeTheTablesAtOnce(t *testing.T) {
	t.Parallel()
	dsn := schema(t)
	var all sync.WaitGroup
	since := make([]time.Time, 10)
	errs := make([]error, len(since))
	for i := range since {
		s := open(t, dsn)
		all.Go(func() { _, since[i], errs[i] = s.Time(t.Context()) })
	}
	all.Wait()
	for i := range since {
		require.NoError(t, errs[i])
		require.Equal(t, since[0], since[i])
	}
}

// on opens a connection of a test's own.
func on(t *testing.T, dsn string) *sql.Conn {
	t.Helper()
	db, err := sql.Open("pgx", dsn)
	require.NoError(t, err)
	conn, err := db.Conn(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close()); require.NoError(t, db.Close()) })
	return conn
}

func exec1(t *testing.T, conn *sql.Conn, query string) {
	t.Helper()
	_, err := conn.ExecContext(t.Context(), query)
	require.NoError(t, err, query)
}

func TestDeadlockIsRepeated(t *testing.T) {
	t.Parallel()
	dsn := schema(t)
	s := open(t, dsn)
	for _, key := range []string{"a", "b"} {
		changed(t, s, key, driver.Version{}, "of-"+key)
	}
	other := on(t, dsn)
	exec1(t, other, "SET deadlock_timeout = '1h'") // the server ends the store's transaction, not this one
	exec1(t, other, "SET lock_timeout = 0")
	exec1(t, other, "BEGIN")
	exec1(t, other, "SELECT 1 FROM solotick_item WHERE item_key = 'b' FOR UPDATE")
	answer := make(chan []driver.Result, 1)
	go func() {
		answer <- s.Values().Do(context.Background(), []driver.Op{
			{Key: "a", Change: &driver.Change{From: read(context.Background(), s, "a").Value.Version, ID: "a2", Data: []byte("a2")}},
			{Key: "b", Change: &driver.Change{From: read(context.Background(), s, "b").Value.Version, ID: "b2", Data: []byte("b2")}},
		})
	}()
	waits := on(t, dsn)
	require.Eventually(t, func() bool {
		n := 0
		require.NoError(t, waits.QueryRowContext(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE 'SELECT * FROM solotick\\_do%'").Scan(&n))
		return n > 0
	}, 20*time.Second, 5*time.Millisecond)
	exec1(t, other, "SELECT 1 FROM solotick_item WHERE item_key = 'a' FOR UPDATE") // it waits until the store's has ended
	exec1(t, other, "ROLLBACK")
	for _, res := range <-answer {
		require.NoError(t, res.Err)
		require.Equal(t, driver.Done, res.Status)
	}
}

func TestLockedRowSaysWhatToEnd(t *testing.T) {
	t.Parallel()
	dsn := schema(t)
	s := open(t, dsn, pglease.WithTimeout(500*time.Millisecond))
	v := changed(t, open(t, dsn), "job", driver.Version{}, "one")
	other := on(t, dsn)
	exec1(t, other, "BEGIN")
	exec1(t, other, "SELECT 1 FROM solotick_item FOR UPDATE")
	require.Eventually(t, func() bool { // a machine that is busy may end the call sooner
		err := change(t.Context(), s, "job", driver.Change{From: v, ID: "two", Data: []byte("two")}).Err
		require.Error(t, err)
		require.NotErrorIs(t, err, protocol.ErrPermanent)
		return strings.Contains(s.Hint(err), "pg_blocking_pids")
	}, 20*time.Second, time.Millisecond)
	require.Equal(t, "one", string(read(t.Context(), open(t, dsn), "job").Value.Data), "a reader needs no lock")
	exec1(t, other, "ROLLBACK")
	changed(t, open(t, dsn), "job", v, "two")
}

func TestRestoredTablesRepeatNoVersion(t *testing.T) {
	t.Parallel()
	dsn := schema(t)
	s := open(t, dsn)
	v1 := changed(t, s, "job", driver.Version{}, "one")
	sqlOn(t, dsn, "CREATE TABLE backup AS TABLE solotick_item")
	v2 := changed(t, s, "job", v1, "two")
	sqlOn(t, dsn, "TRUNCATE solotick_item", "INSERT INTO solotick_item TABLE backup")
	require.Equal(t, v1, read(t.Context(), s, "job").Value.Version)
	again := changed(t, s, "job", v1, "other")
	require.Greater(t, again.Stamp, v2.Stamp)
	require.Equal(t, driver.Conflict, change(t.Context(), s, "job", driver.Change{From: v2, ID: "late", Data: []byte("late")}).Status)
}

func TestDroppedTablesAreMadeAgain(t *testing.T) {
	t.Parallel()
	dsn := schema(t)
	s := open(t, dsn)
	changed(t, s, "job", driver.Version{}, "one")
	_, before, err := s.Time(t.Context())
	require.NoError(t, err)
	empty(t, dsn)
	require.Zero(t, read(t.Context(), s, "job").Value)
	_, after, err := s.Time(t.Context())
	require.NoError(t, err)
	require.Greater(t, after, before, "the store says that it has forgotten")
	v := changed(t, s, "job", driver.Version{}, "two")

	sqlOn(t, dsn, "DELETE FROM solotick_store")
	_, again, err := s.Time(t.Context())
	require.NoError(t, err)
	require.Greater(t, again, after)
	v = changed(t, s, "job", v, "three")

	sqlOn(t, dsn, "DROP TABLE solotick_store")
	_, last, err := s.Time(t.Context())
	require.NoError(t, err)
	require.Greater(t, last, again)
	changed(t, s, "job", v, "four")
}

func TestStandbyIsRefusedAndFailoverFollowed(t *testing.T) {
	t.Parallel()
	primary := apart(t, "synchronous_standby_names=*")
	dsn := func(s *dbtest.Server) string { return "postgres://test@" + s.Addr + "/postgres?sslmode=disable" }
	link := proxytest.New(t, primary.Addr)
	standby, err := dbtest.PostgresStandby(link.Addr(), answers)
	require.NoError(t, err)
	changed(t, open(t, dsn(primary)), "job", driver.Version{}, "replicated")
	grantsNothingAlone(t, open(t, dsn(primary), pglease.WithTimeout(2*time.Second)), link)

	err = read(t.Context(), open(t, dsn(standby)), "job").Err
	require.ErrorContains(t, err, "read only")
	s := open(t, dsn(standby), pglease.WithTimeout(time.Second))
	require.Contains(t, s.Hint(err), "is a standby, or read-only: name the primary")

	both := open(t, "postgres://test@"+standby.Addr+","+primary.Addr+"/postgres?sslmode=disable&target_session_attrs=read-write", pglease.WithTimeout(3*time.Second))
	v := read(t.Context(), both, "job").Value.Version
	require.NotZero(t, v)
	primary.Kill()
	require.Error(t, read(t.Context(), both, "job").Err)
	sqlOn(t, dsn(standby), "SELECT pg_promote()")
	require.Eventually(t, func() bool {
		res := change(t.Context(), both, "job", driver.Change{From: v, ID: "after", Data: []byte("after the failover")})
		return res.Err == nil && res.Status == driver.Done
	}, 20*time.Second, 50*time.Millisecond)
	standby.Kill()
}

// grantsNothingAlone cuts the link to the standby for a while. The server shows what the standby does
// not have once the client that waited for that has given up, so a caller that repeats a claim finds it.
func grantsNothingAlone(t *testing.T, s *pglease.Store, link *proxytest.Proxy) {
	t.Helper()
	require.Eventually(t, func() bool {
		_, err := s.Sync(t.Context(), []protocol.Sync{{Name: "alone"}})
		return err == nil
	}, time.Minute, 10*time.Millisecond)
	link.Cut()
	c := protocol.Claim{Name: "alone", Tick: 100, Holder: "a", Request: "once", TTL: time.Minute, Takeovers: 1}
	_, err := s.Claim(t.Context(), c)
	require.Error(t, err)
	require.Eventually(t, func() bool {
		list, err := s.Sync(t.Context(), []protocol.Sync{{Name: "alone"}})
		return err == nil && len(list[0].Open) == 1
	}, time.Minute, 10*time.Millisecond)
	_, err = s.Claim(t.Context(), c)
	require.Error(t, err, "the standby does not have it")
	link.Heal()
	require.Eventually(t, func() bool {
		a, err := s.Claim(t.Context(), c)
		return err == nil && a.Status == protocol.Granted
	}, time.Minute, 10*time.Millisecond)
}

func TestUnusableTablesSayWhatToDo(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ spoil, says, hint string }{
		"a newer schema":     {"UPDATE solotick_store SET version = 3", "they have version 3, and this release knows 2", "start the newer release"},
		"a column more":      {"ALTER TABLE solotick_item ADD COLUMN note text", "solotick_item note text NULL is not expected", "undo the change"},
		"a column less":      {"ALTER TABLE solotick_item DROP COLUMN last", "solotick_item last bigint is missing", "undo the change"},
		"a column's type":    {"ALTER TABLE solotick_item ALTER COLUMN keep TYPE integer", "solotick_item keep integer is not expected", "undo the change"},
		"a nullable column":  {"ALTER TABLE solotick_item ALTER COLUMN keep DROP NOT NULL", "solotick_item keep bigint NULL is not expected", "undo the change"},
		"a table less":       {"DROP TABLE solotick_notice", "solotick_notice seq bigint is missing", "undo the change"},
		"another function":   {"UPDATE pg_proc SET prosrc = 'BEGIN END' WHERE proname LIKE 'solotick_do%' AND pronamespace = current_schema()::regnamespace", "function solotick_do_", "undo the change"},
		"no schema any more": {"DO $$ BEGIN EXECUTE 'DROP SCHEMA ' || current_schema() || ' CASCADE'; END $$", "no schema", "create the schema"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn := schema(t)
			before := open(t, dsn)
			changed(t, before, "job", driver.Version{}, "kept")
			sqlOn(t, dsn, c.spoil)
			s := open(t, dsn)
			err := read(t.Context(), s, "job").Err
			require.ErrorContains(t, err, "pglease: ")
			require.ErrorContains(t, err, c.says)
			require.ErrorIs(t, err, protocol.ErrPermanent)
			require.Contains(t, s.Hint(err), c.hint)
			require.Error(t, change(t.Context(), s, "job", driver.Change{ID: "x", Data: []byte("x")}).Err)
		})
	}
}

func TestUnreadableLeasesConcernTheirKeyOnly(t *testing.T) {
	t.Parallel()
	dsn := schema(t)
	s := open(t, dsn)
	changed(t, s, "job", driver.Version{}, "text")
	v := changed(t, s, "other", driver.Version{}, "fine")
	sqlOn(t, dsn, `UPDATE solotick_item SET leases = '{"token": 1}' WHERE item_key = 'job'`)
	res := s.Values().Do(t.Context(), []driver.Op{{Key: "job"}, {Key: "other"}})
	require.ErrorIs(t, res[0].Err, driver.ErrRecord)
	require.NoError(t, res[1].Err)
	res = s.Values().Do(t.Context(), []driver.Op{
		{Key: "job", Change: &driver.Change{ID: "a", Data: []byte("a")}}, {Key: "other", Change: &driver.Change{From: v, ID: "b", Data: []byte("b")}},
	})
	require.ErrorIs(t, res[0].Err, driver.ErrRecord)
	require.Equal(t, driver.Done, res[1].Status)
}

func TestRightsThatAreMissingAreNamed(t *testing.T) {
	t.Parallel()
	dsn := schema(t)
	_, name, _ := strings.Cut(dsn, "search_path=")
	sqlOn(t, dsn, "CREATE ROLE limited_"+name+" LOGIN", "GRANT USAGE ON SCHEMA "+name+" TO limited_"+name)
	limited := strings.Replace(dsn, "user=test", "user=limited_"+name, 1)
	s := open(t, limited)
	err := read(t.Context(), s, "job").Err
	require.ErrorContains(t, err, "permission denied")
	require.ErrorIs(t, err, protocol.ErrPermanent)
	require.Contains(t, s.Hint(err), "GRANT USAGE, CREATE ON SCHEMA")

	v := changed(t, open(t, dsn), "job", driver.Version{}, "made by the owner")
	sqlOn(t, dsn, "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA "+name+" TO limited_"+name)
	changed(t, s, "job", v, "these are enough")
	require.NoError(t, s.Publish(t.Context(), []byte("x")))
	require.NoError(t, s.SendHeartbeat(t.Context(), "a", nil, time.Minute))
}

func TestUnreachableServersSayWhatToDo(t *testing.T) {
	t.Parallel()
	server, err := server()
	require.NoError(t, err)
	for text, hint := range map[string]string{
		"postgres://u:s3cret@127.0.0.1:1/db":                                            "check that PostgreSQL runs",
		"postgres://u:s3cret@" + server.Addr + "/postgres?sslmode=disable":              "check the user and the password",
		"postgres://test:s3cret@" + server.Addr + "/nowhere?sslmode=disable":            "create the database",
		"postgres://test:s3cret@" + server.Addr + "/postgres?sslmode=verify-full":       "TLS",
		"postgres://test@/db?host=" + url.QueryEscape(t.TempDir()) + "&password=s3cret": "check that PostgreSQL runs",
	} {
		s := open(t, text)
		err := read(t.Context(), s, "job").Err
		require.Error(t, err, text)
		require.NotContains(t, err.Error(), "s3cret")
		require.Contains(t, s.Hint(err), hint, err)
	}
}

func TestClosedStoreSaysSo(t *testing.T) {
	t.Parallel()
	dsn := schema(t)
	s := open(t, dsn)
	changed(t, s, "job", driver.Version{}, "one")
	ended := make(chan error, 1)
	listening := make(chan struct{}, 8)
	go func() {
		ended <- s.Values().Subscribe(context.Background(), func(driver.Notification) { listening <- struct{}{} })
	}()
	<-listening
	require.NoError(t, s.Close())
	require.ErrorIs(t, <-ended, protocol.ErrPermanent)
	require.ErrorContains(t, read(t.Context(), s, "job").Err, "the store is closed")
}

func TestNewSaysEveryFault(t *testing.T) {
	_, err := pglease.New(nil, "a:b", nil, pglease.WithTimeout(time.Millisecond))
	for _, part := range []string{"db: nil must be a database", `namespace "a:b" must start`, "options[0]: nil", "timeout 1ms must be at least 10ms"} {
		require.ErrorContains(t, err, part)
	}
	_, err = pglease.Open("postgres://u:s3cret%@h:x", "fleet")
	require.ErrorContains(t, err, "pglease: url: ")
	require.NotContains(t, err.Error(), "s3cret")
}
