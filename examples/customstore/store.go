//go:build unix

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/record"
)

// FileStore keeps the records of a namespace in a directory that the processes of one machine share. What a store has to
// decide is decided by package record; this one locks, reads, and writes.
type FileStore struct{ dir, namespace string }

// NewFileStore makes a store of the records of a namespace, in a directory of its own below dir.
func NewFileStore(dir, namespace string) (*FileStore, error) {
	if !lease.ValidName(namespace) {
		return nil, fmt.Errorf("namespace %q %s", namespace, lease.NameRule)
	}
	s := &FileStore{dir: filepath.Join(dir, namespace), namespace: namespace}
	return s, os.MkdirAll(s.dir, 0o700)
}

// Namespace implements [lease.Namespacer].
func (s *FileStore) Namespace() string { return s.namespace }

// change lets f change the record of a name, alone among all processes, and saves it unless f fails.
func (s *FileStore) change(ctx context.Context, name string, f func(r *record.Record, now time.Time) error) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	lock, err := os.OpenFile(filepath.Join(s.dir, name+".lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }() // which unlocks it
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return fmt.Errorf("lock %s: %w", lock.Name(), err)
	}

	path := filepath.Join(s.dir, name+".json")
	var r record.Record
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := f(&r, time.Now()); err != nil {
		return err
	}
	if text, err = json.Marshal(r); err != nil {
		return err
	}
	if err := os.WriteFile(path+".new", text, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// Claim implements [lease.Store].
func (s *FileStore) Claim(ctx context.Context, c lease.Claim) (a lease.Answer, err error) {
	if err := c.Validate(); err != nil {
		return lease.Answer{}, err
	}
	err = s.change(ctx, c.Name, func(r *record.Record, now time.Time) error {
		a, _ = r.Claim(c, record.At(now)) // nobody can be woken; who waits, or has to make room, learns of it at the next claim or renewal
		return nil
	})
	return a, err
}

// Renew implements [lease.Store].
func (s *FileStore) Renew(ctx context.Context, grants []lease.Grant) []error {
	answers := make([]error, len(grants))
	for i, g := range grants {
		if answers[i] = g.Validate(); answers[i] == nil {
			answers[i] = s.change(ctx, g.Name, func(r *record.Record, now time.Time) error { return r.Renew(g, record.At(now)) })
		}
	}
	return answers
}

// Settle implements [lease.Store].
func (s *FileStore) Settle(ctx context.Context, g lease.Grant, outcome lease.Outcome) error {
	if !lease.ValidOutcome(outcome) {
		return fmt.Errorf("outcome %q %s", outcome, lease.OutcomeRule)
	}
	if err := g.Validate(); err != nil {
		return err
	}
	return s.change(ctx, g.Name, func(r *record.Record, now time.Time) error {
		_, err := r.Settle(g, outcome, record.At(now))
		return err
	})
}

// Release implements [lease.Store].
func (s *FileStore) Release(ctx context.Context, g lease.Grant) error {
	if err := g.ValidateRelease(); err != nil {
		return err
	}
	return s.change(ctx, g.Name, func(r *record.Record, now time.Time) error {
		_, err := r.Release(g, record.At(now))
		return err
	})
}

// Pass implements [lease.Store].
func (s *FileStore) Pass(ctx context.Context, p lease.Pass) (mark int64, passed bool, err error) {
	if err := p.Validate(); err != nil {
		return 0, false, err
	}
	err = s.change(ctx, p.Name, func(r *record.Record, now time.Time) error {
		mark, passed, err = r.Pass(p, record.At(now))
		return err
	})
	return mark, passed, err
}

// Sync implements [lease.Store].
func (s *FileStore) Sync(ctx context.Context, syncs []lease.Sync) ([]lease.Record, error) {
	for _, y := range syncs {
		if err := y.Validate(); err != nil {
			return nil, err
		}
	}
	records := make([]lease.Record, len(syncs))
	for i, y := range syncs {
		err := s.change(ctx, y.Name, func(r *record.Record, now time.Time) error {
			var err error
			records[i], err = r.Sync(y, record.At(now))
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return records, nil
}

// Time implements [lease.Store]. A file of its own tells since when the store remembers.
func (s *FileStore) Time(ctx context.Context) (now, since time.Time, err error) {
	if err := context.Cause(ctx); err != nil {
		return time.Time{}, time.Time{}, err
	}
	now = time.Now().UTC()
	path := filepath.Join(s.dir, ".since")
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		text, err = s.begin(path, now)
	}
	if err == nil {
		since, err = time.Parse(time.RFC3339Nano, string(text))
	}
	return now, since, err
}

// begin makes the file at path, complete from the start, unless another process has just done so.
func (s *FileStore) begin(path string, now time.Time) (text []byte, err error) {
	file, err := os.CreateTemp(s.dir, ".since-*")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.Remove(file.Name()) }()
	_, err = file.WriteString(now.Format(time.RFC3339Nano))
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, err
	}
	if err := os.Link(file.Name(), path); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, err
	}
	return os.ReadFile(path)
}
