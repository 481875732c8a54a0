package sqlitelease

import (
	"errors"
	"fmt"
	"io/fs"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/solotick/solotick/internal/lane"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/storekit"
)

// ErrClosed is matched by the error of calls of a store that was closed.
var ErrClosed = lane.ErrClosed

var (
	errTimeout = errors.New("no answer in time")
	errLocked  = errors.New("another process has had the lock to write")
	errSlow    = errors.New("the transaction took too long and was rolled back: was this process stopped?")
	errMoved   = errors.New("another file has taken its place meanwhile")
	errNoRoom  = fmt.Errorf("less than %d MiB are free on its disk: they are kept for what ends a run", reserve>>20)

	errNetwork = errors.New("is on a network file system")
	errNoWAL   = errors.New("its file system cannot share memory between processes, which a write-ahead log needs")
	errForeign = errors.New("is a database of another program")
	errNewer   = errors.New("was written by a newer release")
	errFresh   = errors.New("it has no tables yet")
	errChanged = errors.New("a table is not as this release made it")
)

// hints are what to change, by error, and whether the error lasts until somebody does.
var hints = []storekit.Hint{
	{ErrClosed, true, "close the store when everything that uses it has ended"},
	{errLocked, false, "continue or kill the process that has it: it is stopped, or its disk hangs"},
	{errSlow, false, ""},
	{errNoRoom, false, "make room on the disk"},
	{errNetwork, true, "put it on a disk of this machine, or use Redis: processes of several machines cannot share such a file"},
	{errNoWAL, true, "put it on a disk of this machine"},
	{errForeign, true, "name another file"},
	{errNewer, true, "start the newer release, or name another file"},
	{errChanged, true, "undo the change of the table, or stop all processes and move the file away with those beside it that end in -wal and -shm"},
	{errFresh, true, "start a worker, which makes them"},
	{fs.ErrNotExist, true, "make the directory; or start a worker, which makes the file"},
	{fs.ErrPermission, true, rights},
}

const rights = "let the user of this process write to the file, to those beside it that end in -wal and -shm, and to their directory"

// codes are what to change, by primary result code of SQLite.
var codes = map[int]struct {
	permanent bool
	hint      string
}{
	sqlite3.SQLITE_READONLY: {true, rights},
	sqlite3.SQLITE_PERM:     {true, rights},
	sqlite3.SQLITE_CANTOPEN: {true, rights},
	sqlite3.SQLITE_FULL:     {false, "make room on the disk"},
	sqlite3.SQLITE_IOERR:    {false, "see the system's log: the disk fails, is full, or went away"},
	sqlite3.SQLITE_NOTADB:   {true, "name another file: this one is no database"},
	sqlite3.SQLITE_CORRUPT:  {true, "stop all processes, and restore a backup or move the file away, with those beside it that end in -wal and -shm"},
	sqlite3.SQLITE_ERROR:    {true, "undo the change of the tables, or stop all processes and move the file away with those beside it that end in -wal and -shm"},
}

// primary returns the primary result code of SQLite in err, or 0.
func primary(err error) int {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code() & 0xff
	}
	return 0
}

func isBusy(err error) bool {
	code := primary(err)
	return code == sqlite3.SQLITE_BUSY || code == sqlite3.SQLITE_LOCKED
}

func advice(err error) (hint string, permanent bool) {
	if hint, permanent = storekit.Advice(hints, err); hint != "" {
		return hint, permanent
	}
	c := codes[primary(err)]
	return c.hint, c.permanent
}

// failed adds the path of the file to err.
func (f *file) failed(err error) error {
	if err == nil {
		return nil
	}
	_, permanent := advice(err)
	err = fmt.Errorf("sqlitelease: %s: %w", f.path, err)
	if permanent {
		return protocol.Permanent(err)
	}
	return err
}
