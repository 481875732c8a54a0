package sqlitelease

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

//go:embed 0001.sql
var first string

//go:embed 0002.sql
var second string

// migrations make the tables, each from the one before. How many were made is their version, as
// PRAGMA user_version.
var migrations = []string{first, second}

const (
	applicationID = 0x736f6c6f // "solo", as PRAGMA application_id
	// reserve is how much room on the disk is kept for renewals and for changes that end something,
	// in bytes.
	reserve = 16 << 20
)

// file is the database. The first call opens it, and a later one opens it again if another file has
// taken its place: after a restored backup, or because somebody has removed it.
type file struct {
	path    string
	timeout time.Duration
	create  bool
	free    func(dir string) (bytes uint64, known bool)

	mu       sync.Mutex
	db       *sql.DB
	info     fs.FileInfo
	ahead    time.Duration // of the machine's clock, in tests
	hasty    bool          // the disk need not confirm changes, in tests
	closed   bool
	watchers map[*watcher]bool
	watch    func() error // ends the watch over the directory; nil where there is none
	unsure   bool         // the times of files say nothing here
	noWatch  bool         // nor does the kernel say when they change
	queued   time.Time    // when a claim of a lock was queued last
}

// opening keeps a new file from being closed while another store in this process has locks on it,
// because closing it would end them.
var opening sync.Mutex

// now returns the store's time, which is the machine's.
func (f *file) now() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return time.Now().UTC().Round(0).Add(f.ahead)
}

// close closes the file and its sessions when no call is under way.
func (f *file) close(all ...*transactions) error {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	for _, l := range all {
		l.lane.Close()
		l.session.close()
	}
	f.unwatch()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.db == nil {
		return nil
	}
	err := f.db.Close()
	f.db = nil
	return err
}

// open returns the database that is at the path now.
func (f *file) open() (*sql.DB, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.db != nil && f.there() {
		return f.db, nil
	}
	if f.db != nil {
		_ = f.db.Close() // operations on the other lane fail
		f.db = nil
	}
	opening.Lock()
	defer opening.Unlock()
	if err := checkFileSystem(filepath.Dir(f.path)); err != nil {
		return nil, err
	}
	if f.create { // only its owner may read it
		made, err := os.OpenFile(f.path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
		if err == nil {
			_ = made.Close()
		}
	}
	info, err := os.Stat(f.path)
	if err != nil {
		return nil, err
	}
	name := url.URL{Scheme: "file", Path: f.path, RawQuery: "mode=rw&_pragma=journal_mode(wal)&_pragma=synchronous(normal)&_pragma=journal_size_limit(16777216)"}
	db, err := sql.Open("sqlite", name.String())
	if err != nil {
		return nil, err
	}
	if err := prepare(db, time.Now().Add(f.ahead).UnixMicro(), f.create); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	f.db, f.info = db, info
	return db, nil
}

// confirm returns when the committed changes are on the disk. SQLite would wait for that while it
// holds its lock, so a process that is stopped, most probably in such a wait, would block the
// others.
func (f *file) confirm() error {
	if f.hasty {
		return nil
	}
	log, err := os.OpenFile(f.path+"-wal", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(log.Sync(), log.Close()) // no lock is on this file
}

// there reports whether the path still leads to the open file.
func (f *file) there() bool {
	info, err := os.Stat(f.path)
	return err == nil && os.SameFile(info, f.info)
}

// unmoved returns an error if a commit may have gone to a file that was removed or replaced.
func (f *file) unmoved() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.db == nil || !f.there() {
		return errMoved
	}
	return nil
}

// prepare creates the tables in a new file, brings older ones up to date, and checks those in an
// existing one. Any number of processes may call it at once. If it must not create them, a new file
// has none: see errFresh.
func prepare(db *sql.DB, now int64, create bool) error {
	ctx := context.Background()
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	var mode string
	if err := conn.QueryRowContext(ctx, "PRAGMA journal_mode").Scan(&mode); err != nil {
		return err
	}
	if mode != "wal" {
		return errNoWAL
	}
	version := 0
	err = within(ctx, conn, beginRead, func() error { version, err = check(ctx, conn); return err })
	if err != nil || version == len(migrations) {
		return err
	}
	if version == 0 && !create {
		return errFresh
	}
	return within(ctx, conn, beginWrite, func() error {
		if version, err = check(ctx, conn); err != nil || version == len(migrations) { // another process was quicker
			return err
		}
		script := strings.Join(migrations[version:], "")
		if version == 0 {
			script += fmt.Sprintf("INSERT INTO store VALUES (1, %d, 0); PRAGMA application_id = %d; ", now, applicationID)
		}
		_, err = conn.ExecContext(ctx, script+fmt.Sprintf("PRAGMA user_version = %d", len(migrations)))
		return err
	})
}

// within calls f in a transaction.
func within(ctx context.Context, conn *sql.Conn, begin string, f func() error) error {
	if _, err := conn.ExecContext(ctx, begin); err != nil {
		return err
	}
	err := f()
	if err == nil {
		_, err = conn.ExecContext(ctx, "COMMIT")
	}
	if err != nil {
		_, _ = conn.ExecContext(ctx, "ROLLBACK")
	}
	return err
}

// check checks that the tables are those of this release or of one before, and returns their
// version. A fresh file has none, and version 0.
func check(ctx context.Context, conn *sql.Conn) (version int, err error) {
	var application int64
	if err = conn.QueryRowContext(ctx, "SELECT application_id, user_version FROM pragma_application_id, pragma_user_version").Scan(&application, &version); err != nil {
		return 0, err
	}
	tables := map[string]string{}
	rows, err := conn.QueryContext(ctx, "SELECT name, sql FROM sqlite_schema WHERE type = 'table'")
	if err != nil {
		return 0, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var name, text string
		if err := rows.Scan(&name, &text); err != nil {
			return 0, err
		}
		tables[name] = text
	}
	switch {
	case rows.Err() != nil:
		return 0, rows.Err()
	case application == 0 && version == 0 && len(tables) == 0:
		return 0, nil
	case application != applicationID:
		return 0, errForeign
	case version > len(migrations):
		return 0, fmt.Errorf("%w: its tables have version %d, and this release knows %d", errNewer, version, len(migrations))
	}
	for statement := range strings.SplitSeq(strings.Join(migrations[:version], ""), ";\n") {
		want := strings.TrimSpace(statement)
		name, isTable := strings.CutPrefix(want, "CREATE TABLE ")
		name, _, _ = strings.Cut(name, " ")
		if isTable && tables[name] != strings.TrimSuffix(want, ";") {
			return 0, fmt.Errorf("%w: %s", errChanged, name)
		}
	}
	return version, nil
}

// room reports whether there is more room on the disk than the reserve.
func (f *file) room(t *tx) bool {
	if t.free == nil {
		free, known := f.free(filepath.Dir(f.path))
		enough := !known || free >= reserve
		t.free = &enough
	}
	return *t.free
}
