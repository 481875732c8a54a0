package sqlitelease_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/lease/driver"
	"github.com/solotick/solotick/lease/sqlitelease"
)

func read(ctx context.Context, s *sqlitelease.Store, key string) driver.Result {
	return s.Values().Do(ctx, []driver.Op{{Key: key}})[0]
}

func change(ctx context.Context, s *sqlitelease.Store, key string, c driver.Change) driver.Result {
	return s.Values().Do(ctx, []driver.Op{{Key: key, Change: &c}})[0]
}

// changed makes a change of a value, and returns its version.
func changed(t *testing.T, s *sqlitelease.Store, key string, from driver.Version, text string) driver.Version {
	t.Helper()
	res := change(t.Context(), s, key, driver.Change{From: from, ID: text, Data: []byte(text)})
	require.NoError(t, res.Err)
	require.Equal(t, driver.Done, res.Status)
	return res.Version
}

func sqlOn(t *testing.T, path string, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	for _, s := range statements {
		_, err := db.ExecContext(t.Context(), s)
		require.NoError(t, err, s)
	}
	require.NoError(t, db.Close())
}

func TestStoppedWriterHoldsUpNobodyPastItsDeadline(t *testing.T) {
	t.Parallel()
	s := open(t, "", sqlitelease.WithTimeout(time.Second))
	changed(t, s, "other", driver.Version{}, "before")
	p := start(t, "hold", s.Path())
	require.Equal(t, "within", p.says(t))
	require.NoError(t, p.Process.Signal(syscall.SIGSTOP))

	began := time.Now()
	res := change(t.Context(), s, "held", driver.Change{ID: "mine", Data: []byte("mine")})
	require.ErrorContains(t, res.Err, "another process has had the lock to write for ")
	require.ErrorContains(t, res.Err, fmt.Sprintf("(process %d)", p.Process.Pid))
	require.NotErrorIs(t, res.Err, protocol.ErrPermanent)
	require.Contains(t, s.Hint(res.Err), "continue or kill")
	require.Less(t, time.Since(began), 10*time.Second)
	require.Equal(t, "before", string(read(t.Context(), s, "other").Value.Data), "a reader needs no lock")

	require.NoError(t, p.Process.Signal(syscall.SIGCONT))
	require.Contains(t, p.says(t), "rolled back", "a decision so old is not written")
	require.Zero(t, read(t.Context(), s, "held").Value)
	changed(t, s, "held", driver.Version{}, "mine")
}

func TestKilledWriterLeavesNoLock(t *testing.T) {
	t.Parallel()
	s := open(t, "")
	p := start(t, "hold", s.Path())
	require.Equal(t, "within", p.says(t))
	require.NoError(t, p.Process.Signal(syscall.SIGSTOP))
	done := make(chan driver.Result, 1)
	go func() {
		done <- change(context.Background(), s, "held", driver.Change{ID: "mine", Data: []byte("mine")})
	}()
	require.NoError(t, p.Process.Kill())
	res := <-done
	require.NoError(t, res.Err)
	require.Equal(t, driver.Done, res.Status, "what the killed one wrote is gone")
}

func TestEverythingOutlivesTheProcess(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "solotick.db")
	first := open(t, path)
	claim := protocol.Claim{Name: "job", Tick: 100, Holder: "a", Request: "r1", TTL: time.Hour, Takeovers: 1}
	_, err := first.Sync(t.Context(), []protocol.Sync{{Name: "job"}})
	require.NoError(t, err)
	a, err := first.Claim(t.Context(), claim)
	require.NoError(t, err)
	require.Equal(t, protocol.Granted, a.Status)
	_, since, err := first.Time(t.Context())
	require.NoError(t, err)
	require.NoError(t, first.Close())

	again := open(t, path)
	again.Step(-24 * time.Hour) // and the machine came up with a wrong clock
	_, same, err := again.Time(t.Context())
	require.NoError(t, err)
	require.Equal(t, since, same)
	claim.Request, claim.Holder = "r2", "b"
	held, err := again.Claim(t.Context(), claim)
	require.NoError(t, err)
	require.Equal(t, protocol.Held, held.Status)
	claim.Tick = 101
	next, err := again.Claim(t.Context(), claim)
	require.NoError(t, err)
	require.Equal(t, protocol.Granted, next.Status)
	require.Greater(t, next.Token, a.Token)
}

func TestTokensRiseThoughTheClockWentBack(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "solotick.db")
	s := open(t, path)
	first := changed(t, s, "job", driver.Version{}, "first")
	require.Equal(t, driver.Done, change(t.Context(), s, "job", driver.Change{From: first, ID: "gone"}).Status)
	require.NoError(t, s.Close())
	again := open(t, path)
	again.Step(-24 * time.Hour)
	require.Greater(t, changed(t, again, "job", driver.Version{}, "second").Stamp, first.Stamp)
}

func TestRestoredBackupRepeatsNoVersion(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, backup := filepath.Join(dir, "solotick.db"), filepath.Join(dir, "backup.db")
	running := open(t, path)
	v1 := changed(t, running, "job", driver.Version{}, "one")
	sqlOn(t, path, fmt.Sprintf("VACUUM INTO '%s'", backup))
	v2 := changed(t, running, "job", v1, "two")

	remove(t, path)
	require.NoError(t, os.Rename(backup, path))
	for _, s := range []*sqlitelease.Store{running, open(t, path)} { // one that has the other file open, and a new one
		require.Equal(t, v1, read(t.Context(), s, "job").Value.Version)
	}
	again := changed(t, open(t, path), "job", v1, "other")
	require.NotEqual(t, v2, again)
	require.Greater(t, again.Stamp, v2.Stamp)
	require.Equal(t, driver.Conflict, change(t.Context(), running, "job", driver.Change{From: v2, ID: "late", Data: []byte("late")}).Status)
}

func TestFullDiskLosesNothing(t *testing.T) {
	t.Parallel()
	s := open(t, "")
	first := changed(t, s, "job", driver.Version{}, "kept")
	s.Limit(t.Context(), 0) // pages more than there are
	res := change(t.Context(), s, "job", driver.Change{From: first, ID: "large", Data: make([]byte, 1<<20)})
	require.Error(t, res.Err)
	require.NotErrorIs(t, res.Err, protocol.ErrPermanent)
	require.Equal(t, "make room on the disk", s.Hint(res.Err))
	require.Equal(t, "kept", string(read(t.Context(), s, "job").Value.Data))
	s.Limit(t.Context(), 1<<20)
	changed(t, s, "job", first, "room again")
}

func TestNearlyFullDiskIsLeftToWhatEnds(t *testing.T) {
	t.Parallel()
	s := open(t, "")
	s.Free(func() uint64 { return 16<<20 - 1 })
	res := change(t.Context(), s, "job", driver.Change{ID: "claim", Data: []byte("data")})
	require.ErrorContains(t, res.Err, "less than 16 MiB are free")
	require.Equal(t, "make room on the disk", s.Hint(res.Err))
	res = change(t.Context(), s, "job", driver.Change{ID: "settle", Data: []byte("data"), Essential: true, Leases: []driver.NewLease{{Token: 7, Holder: "a", TTL: time.Hour}}})
	require.NoError(t, res.Err)
	res = s.Values().Do(t.Context(), []driver.Op{{Key: "job", Renew: &driver.Renewal{Token: 7, Holder: "a", TTL: time.Hour}}})[0]
	require.NoError(t, res.Err)
	require.Equal(t, driver.Done, res.Status)
}

func TestUnusableFilesSayWhatToDo(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil     func(t *testing.T, path string)
		says      string
		hint      string
		transient bool
	}{
		"of another program": {spoil: func(t *testing.T, path string) {
			remove(t, path)
			sqlOn(t, path, "CREATE TABLE mine (x)")
		}, says: "is a database of another program", hint: "name another file"},
		"no database": {spoil: func(t *testing.T, path string) {
			remove(t, path)
			require.NoError(t, os.WriteFile(path, []byte("a text that is long enough to have been a header of a database, and is none.\n"+string(make([]byte, 200))), 0o600))
		}, says: "not a database", hint: "name another file: this one is no database"},
		"a newer schema": {spoil: func(t *testing.T, path string) { sqlOn(t, path, "PRAGMA user_version = 3") },
			says: "its tables have version 3, and this release knows 2", hint: "start the newer release"},
		"a column more": {spoil: func(t *testing.T, path string) { sqlOn(t, path, "ALTER TABLE item ADD COLUMN note TEXT") },
			says: "a table is not as this release made it: item", hint: "undo the change of the table"},
		"a table less": {spoil: func(t *testing.T, path string) { sqlOn(t, path, "DROP TABLE entry") },
			says: "a table is not as this release made it: entry", hint: "undo the change of the table"},
		"a directory": {spoil: func(t *testing.T, path string) {
			remove(t, path)
			require.NoError(t, os.Mkdir(path, 0o700))
		}, says: "unable to open", hint: "let the user of this process write"},
		"no directory": {spoil: func(t *testing.T, path string) { require.NoError(t, os.RemoveAll(filepath.Dir(path))) },
			says: "no such file or directory", hint: "make the directory"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "below", "solotick.db")
			require.NoError(t, os.Mkdir(filepath.Dir(path), 0o700))
			before := open(t, path)
			changed(t, before, "job", driver.Version{}, "kept")
			require.NoError(t, before.Close())
			c.spoil(t, path)
			s := open(t, path)
			err := read(t.Context(), s, "job").Err
			require.ErrorContains(t, err, "sqlitelease: "+path+": ")
			require.ErrorContains(t, err, c.says)
			require.ErrorIs(t, err, protocol.ErrPermanent)
			require.Contains(t, s.Hint(err), c.hint)
			require.Error(t, change(t.Context(), s, "job", driver.Change{ID: "x", Data: []byte("x")}).Err)
		})
	}
}

func TestTableChangedWhileOpenSaysWhatToDo(t *testing.T) {
	t.Parallel()
	s := open(t, "")
	first := changed(t, s, "job", driver.Version{}, "kept")
	sqlOn(t, s.Path(), "ALTER TABLE item RENAME COLUMN data TO content")
	err := read(t.Context(), s, "job").Err
	require.ErrorIs(t, err, protocol.ErrPermanent)
	require.Contains(t, s.Hint(err), "undo the change of the tables")
	sqlOn(t, s.Path(), "ALTER TABLE item RENAME COLUMN content TO data")
	changed(t, s, "job", first, "goes on")
}

func TestUnreadableLeasesConcernTheirKeyOnly(t *testing.T) {
	t.Parallel()
	s := open(t, "")
	changed(t, s, "job", driver.Version{}, "text")
	changed(t, s, "other", driver.Version{}, "fine")
	sqlOn(t, s.Path(), "UPDATE item SET leases = 'x' WHERE key = 'job'")
	res := s.Values().Do(t.Context(), []driver.Op{{Key: "job"}, {Key: "other"}})
	require.ErrorIs(t, res[0].Err, driver.ErrRecord)
	require.NoError(t, res[1].Err)
}

func TestMissingFileThatMustExistIsNotMade(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "solotick.db")
	s := open(t, path, sqlitelease.WithExistingFile())
	err := read(t.Context(), s, "job").Err
	require.ErrorIs(t, err, os.ErrNotExist)
	require.Contains(t, s.Hint(err), "start a worker, which makes the file")
	require.NoFileExists(t, path)
	changed(t, open(t, path), "job", driver.Version{}, "made")
	require.NoError(t, read(t.Context(), s, "job").Err)
}

func TestFileIsItsOwnersOnly(t *testing.T) {
	t.Parallel()
	s := open(t, "")
	changed(t, s, "job", driver.Version{}, "secret")
	for _, suffix := range []string{"", "-wal", "-shm"} {
		info, err := os.Stat(s.Path() + suffix)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), suffix)
	}
}

func TestClosedStoreSaysSo(t *testing.T) {
	t.Parallel()
	s := open(t, "")
	changed(t, s, "job", driver.Version{}, "one")
	require.NoError(t, s.Close())
	require.NoFileExists(t, s.Path()+"-wal", "it is part of the file now")
	require.ErrorIs(t, read(t.Context(), s, "job").Err, sqlitelease.ErrClosed)
	require.ErrorIs(t, read(t.Context(), s, "job").Err, protocol.ErrPermanent)
}

func TestNewSaysEveryFault(t *testing.T) {
	_, err := sqlitelease.New("", "a:b", nil, sqlitelease.WithTimeout(time.Millisecond))
	for _, part := range []string{"path: must name a file", `namespace "a:b" must start`, "options[0]: nil", "timeout 1ms must be at least 10ms"} {
		require.ErrorContains(t, err, part)
	}
}

func TestManyProcessesMakeTheFileAtOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "solotick.db")
	var list []*process
	for i := range 5 {
		list = append(list, start(t, "contend", path, fmt.Sprint("p", i), "1"))
	}
	for _, p := range list {
		for range 20 {
			require.NotContains(t, p.says(t), `"Failed":true`)
		}
	}
}

// Notifications reach a subscriber of another process, which here is another store on the file.
func TestNotificationsReachOtherProcesses(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "solotick.db")
	received := make(chan driver.Notification, 8)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	listener := open(t, path)
	go func() {
		done <- listener.Values().Subscribe(ctx, func(n driver.Notification) { received <- n })
	}()
	require.Zero(t, <-received)
	res := change(t.Context(), open(t, path), "job", driver.Change{ID: "x", Data: []byte("x"), Notify: []driver.Notification{{Name: "job", Tick: 7}}})
	require.NoError(t, res.Err)
	require.Equal(t, driver.Notification{Name: "job", Tick: 7}, <-received)
	remove(t, path) // and it notices that it may have missed some
	for n := range received {
		if n.Name == "" {
			break
		}
	}
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
}

func TestMissingRightsSayWhatToDo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o755))
	path := filepath.Join(dir, "solotick.db")
	s := open(t, path)
	changed(t, s, "job", driver.Version{}, "kept")
	for _, suffix := range []string{"", "-wal", "-shm"} {
		require.NoError(t, os.Chmod(path+suffix, 0o444))
	}
	for range 2 { // of an open file, and of a closed one
		p := start(t, "write", path)
		require.Equal(t, "true", p.says(t), "it is permanent")
		require.Contains(t, p.says(t), "let the user of this process write to the file")
		require.Contains(t, p.says(t), path)
		require.NoError(t, s.Close())
	}
}
