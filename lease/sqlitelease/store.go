// Package sqlitelease keeps leases in a SQLite file, which the processes of one machine share and
// which outlives them.
//
// Several processes may open the file at once, also those of containers that share a volume of one
// machine. Of each change the disk has confirmed that it is written, so nothing is forgotten when a
// process is killed or the machine loses power. The clock of the store is that of the machine. A
// process that is killed leaves no lock behind. One that is stopped while it writes holds up the
// others until it goes on or is killed; their calls fail in time.
//
// What the file must not be is shared between machines: a network file system is refused. Copy it
// with VACUUM INTO or the .backup command of sqlite3. To restore a copy, stop all processes, and
// remove the files beside it that end in -wal and -shm.
package sqlitelease

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/solotick/solotick/internal/engine"
	"github.com/solotick/solotick/internal/storekit"
)

// Store is a lease.Store on a SQLite file. It is safe for concurrent use. Close it when it is no
// longer used.
type Store struct {
	*store
	values *values
}

// store has the verbs.
type store = engine.Session

type options struct {
	timeout   time.Duration
	mustExist bool
}

// Option changes a default of [New].
type Option func(*options)

// WithTimeout bounds each call. The default is 1 s; at least 10 ms. Choose it well below the
// shortest TTL.
func WithTimeout(d time.Duration) Option { return func(o *options) { o.timeout = d } }

// WithExistingFile keeps the store from making a file where there is none: calls fail until there
// is one.
func WithExistingFile() Option { return func(o *options) { o.mustExist = true } }

// New makes a store of the namespace in the file at path. The first call opens the file, and makes
// it when there is none; only its owner may read it. The namespace names the fleet, and matches the
// pattern of a name.
func New(path, namespace string, opts ...Option) (*Store, error) {
	o := options{timeout: time.Second}
	faults := storekit.Apply("sqlitelease", &o, opts)
	if path == "" {
		faults = append(faults, errors.New("sqlitelease: path: must name a file"))
	}
	path, err := filepath.Abs(path)
	f := &file{
		path: path, timeout: o.timeout, create: !o.mustExist, free: freeSpace, watchers: map[*watcher]bool{},
	}
	v := &values{namespace, f, newTransactions(f, beginRead), newTransactions(f, beginWrite)}
	s, sessionErr := engine.NewSession(v, namespace, engine.Options{
		Hint:    func(err error) string { hint, _ := advice(err); return hint },
		Waiting: f.waiting,
	})
	if sessionErr != nil {
		sessionErr = fmt.Errorf("sqlitelease: %w", sessionErr)
	}
	if err := errors.Join(append(faults, storekit.CheckTimeout("sqlitelease", o.timeout), err, sessionErr)...); err != nil {
		return nil, err
	}
	return &Store{s, v}, nil
}

// Close waits for the calls under way, and closes the file. Calls fail with [ErrClosed] from then
// on.
func (s *Store) Close() error { return s.values.file.close(s.values.reads, s.values.writes) }

// Exists reports whether anything has run in the namespace. It makes nothing.
func (s *Store) Exists(ctx context.Context) (bool, error) {
	f := s.values.file
	info, err := os.Stat(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		_, err = os.Stat(filepath.Dir(f.path))
		return false, f.failed(err)
	}
	if err != nil || info.Size() == 0 {
		return false, f.failed(err)
	}
	keys, _, err := s.values.Scan(ctx, "", "", 1)
	if errors.Is(err, errFresh) {
		return false, nil
	}
	return len(keys) > 0, err
}

// Facts are what an operator looks at.
type Facts struct {
	Path        string
	Size        int64  // of the file, in bytes
	Log         int64  // of the write-ahead log beside it, in bytes: it is written back now and then
	Free        uint64 // bytes on the disk
	FreeKnown   bool
	Reserve     uint64 // with less than this free, only what ends something is written
	MayBeShared string // the name of a file system that other machines may have, too, such as FUSE; "" for none that is known
}

// Facts returns them, without opening the file.
func (s *Store) Facts() (Facts, error) {
	path := s.values.file.path
	info, err := os.Stat(path)
	if err != nil {
		return Facts{}, s.values.file.failed(err)
	}
	f := Facts{Path: path, Size: info.Size(), Reserve: reserve, MayBeShared: mayBeShared(filepath.Dir(path))}
	f.Free, f.FreeKnown = s.values.file.free(filepath.Dir(path))
	if log, err := os.Stat(path + "-wal"); err == nil {
		f.Log = log.Size()
	}
	return f, nil
}
