package sqlitelease

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/solotick/solotick/lease/driver"
)

// Step moves the clock of a store by d, as somebody who sets the clock of its machine does.
func (s *Store) Step(d time.Duration) {
	s.values.file.mu.Lock()
	defer s.values.file.mu.Unlock()
	s.values.file.ahead += d
}

// Path is where the file is.
func (s *Store) Path() string { return s.values.file.path }

// Values is what the session of a store keeps its values in.
func (s *Store) Values() driver.Store { return s.values }

// Within carries out an operation, and calls f before its transaction ends.
func (s *Store) Within(ctx context.Context, op driver.Op, f func()) error {
	return s.values.writes.do(ctx, func(t *tx) error {
		res, err := s.values.one(t, op)
		f()
		return errors.Join(err, res.Err)
	})
}

// Limit bounds the size of the file, in pages beyond those that it has.
func (s *Store) Limit(ctx context.Context, more int) {
	_ = s.values.writes.do(ctx, func(t *tx) error {
		var pages, limit int
		if _, err := t.one("PRAGMA page_count", nil, &pages); err != nil {
			return err
		}
		_, err := t.one(fmt.Sprintf("PRAGMA max_page_count = %d", pages+more), nil, &limit)
		return err
	})
}

// Free has the store believe that so much is free on its disk.
func (s *Store) Free(free func() uint64) {
	s.values.file.free = func(string) (uint64, bool) { return free(), true }
}

// Hasten has the disk confirm nothing from now on: a case that loses no power need not wait for it.
func (s *Store) Hasten() *Store {
	s.values.file.hasty = true
	return s
}

// Look is what a subscriber does from time to time.
func (s *Store) Look(ctx context.Context) { _, _, _, _ = s.values.noticesAfter(ctx, "message", 1) }
