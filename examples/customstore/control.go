//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/record"
)

// Pause implements [lease.Controller].
func (s *FileStore) Pause(ctx context.Context, name string, p lease.Pause) (inForce lease.Pause, err error) {
	if err := errors.Join(checkName(name), p.Validate()); err != nil {
		return lease.Pause{}, err
	}
	err = s.change(ctx, name, func(r *record.Record, now time.Time) (err error) {
		inForce, err = r.Pause(p, record.At(now))
		return err
	})
	return inForce, err
}

// Resume implements [lease.Controller].
func (s *FileStore) Resume(ctx context.Context, name string, q lease.Resume) (ended *lease.Pause, err error) {
	if err := errors.Join(checkName(name), q.Validate()); err != nil {
		return nil, err
	}
	err = s.change(ctx, name, func(r *record.Record, now time.Time) (err error) {
		ended, err = r.Resume(q, record.At(now))
		return err
	})
	return ended, err
}

// Cancel implements [lease.Canceller].
func (s *FileStore) Cancel(ctx context.Context, c lease.Cancel) (a lease.Cancelled, err error) {
	if err := c.Validate(); err != nil {
		return lease.Cancelled{}, err
	}
	err = s.change(ctx, c.Name, func(r *record.Record, now time.Time) (err error) {
		a, _, err = r.Cancel(c, record.At(now))
		return err
	})
	return a, err
}

// Repair implements [lease.Repairer].
func (s *FileStore) Repair(ctx context.Context, q lease.Repair) (a lease.Repaired, err error) {
	if err := q.Validate(); err != nil {
		return lease.Repaired{}, err
	}
	err = s.change(ctx, q.Name, func(r *record.Record, now time.Time) (err error) {
		a, err = r.Repair(q, record.At(now))
		return err
	})
	return a, err
}

// Trigger implements [lease.Controller].
func (s *FileStore) Trigger(ctx context.Context, t lease.Trigger) (a lease.Triggered, err error) {
	if err := t.Validate(); err != nil {
		return lease.Triggered{}, err
	}
	err = s.change(ctx, t.Name, func(r *record.Record, now time.Time) (err error) {
		a, _, err = r.Trigger(t, record.At(now))
		return err
	})
	return a, err
}

// Inspect implements [lease.Inspector].
func (s *FileStore) Inspect(ctx context.Context, name string) (v lease.Record, err error) {
	if err := errors.Join(checkName(name), context.Cause(ctx)); err != nil {
		return lease.Record{}, err
	}
	if _, err := os.Stat(filepath.Join(s.dir, name+".json")); errors.Is(err, os.ErrNotExist) {
		return lease.Record{Name: name}, nil
	}
	err = s.change(ctx, name, func(r *record.Record, now time.Time) error {
		v = r.View(name, record.At(now))
		return nil
	})
	return v, err
}

func checkName(name string) error {
	if !lease.ValidName(name) {
		return fmt.Errorf("name %q %s", name, lease.NameRule)
	}
	return nil
}
