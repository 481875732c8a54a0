//go:build unix

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/driver"
)

// NewFileStore makes a store that the processes of one machine share: it keeps the records of a namespace in a directory of
// its own below dir. Package lease knows the rules of leases, and directory all that they need of a store.
func NewFileStore(dir, namespace string) (lease.Store, error) {
	d := directory(filepath.Join(dir, namespace))
	if err := os.MkdirAll(string(d), 0o700); err != nil {
		return nil, err
	}
	return lease.NewStore(d, namespace)
}

// directory is a [driver.Store]: it keeps the item of each key in a file, and notifications in
// another one.
type directory string

// update reads a file into v, alone among all processes, and writes v back if f says so.
func (d directory) update(ctx context.Context, name string, v any, f func() (changed bool)) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	lock, err := os.OpenFile(d.path(name, ".lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }() // which unlocks it
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return fmt.Errorf("lock %s: %w", lock.Name(), err)
	}
	text, err := os.ReadFile(d.path(name, ".json"))
	if err == nil {
		err = json.Unmarshal(text, v)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%w: %w", driver.ErrRecord, err)
	}
	if !f() {
		return nil
	}
	if text, err = json.Marshal(v); err != nil {
		return err
	}
	if err := os.WriteFile(d.path(name, ".new"), text, 0o600); err != nil {
		return err
	}
	return os.Rename(d.path(name, ".new"), d.path(name, ".json"))
}

func (d directory) path(name, suffix string) string { return filepath.Join(string(d), name+suffix) }

// Do implements [driver.Store].
func (d directory) Do(ctx context.Context, ops []driver.Op) []driver.Result {
	results := make([]driver.Result, len(ops))
	for i, op := range ops {
		var item driver.Item
		err := d.update(ctx, op.Key, &item, func() (changed bool) {
			results[i], changed = item.Do(op, time.Now())
			return changed
		})
		if err == nil && op.Change != nil && results[i].Status == driver.Done {
			err = d.publish(ctx, op.Change.Notify)
		}
		if err != nil {
			results[i] = driver.Result{Err: err}
		}
	}
	return results
}

// Scan implements [driver.Store], in one go.
func (d directory) Scan(ctx context.Context, prefix, _ string, _ int) (keys []string, next string, err error) {
	files, err := os.ReadDir(string(d))
	if err != nil {
		return nil, "", err
	}
	for _, f := range files {
		key, ok := strings.CutSuffix(f.Name(), ".json")
		if !ok || !strings.HasPrefix(key, prefix) || strings.HasPrefix(key, ".") {
			continue
		}
		var item driver.Item
		if err := d.update(ctx, key, &item, func() bool { return false }); err != nil {
			return nil, "", err
		}
		if item.Value.Version != (driver.Version{}) {
			keys = append(keys, key)
		}
	}
	return keys, "", context.Cause(ctx)
}

// Time implements [driver.Store].
func (d directory) Time(ctx context.Context) (now, since time.Time, err error) {
	err = d.update(ctx, ".since", &since, func() (changed bool) {
		now = time.Now().UTC()
		if changed = since.IsZero(); changed {
			since = now
		}
		return changed
	})
	return now, since, err
}

// news are the newest notifications: Next is the number of the one after them.
type news struct {
	Next int
	Last []driver.Notification
}

// mostNews is how many are kept for sessions that have not looked yet.
const mostNews = 256

func (d directory) publish(ctx context.Context, list []driver.Notification) error {
	if len(list) == 0 {
		return nil
	}
	var n news
	return d.update(ctx, ".news", &n, func() bool {
		n.Next += len(list)
		n.Last = append(n.Last, list...)
		n.Last = n.Last[max(0, len(n.Last)-mostNews):]
		return true
	})
}

// Subscribe implements [driver.Store]: it looks for news from time to time.
func (d directory) Subscribe(ctx context.Context, notify func(driver.Notification)) error {
	var seen news
	if err := d.update(ctx, ".news", &seen, func() bool { return false }); err != nil {
		return err
	}
	notify(driver.Notification{})
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-look.C:
		}
		var n news
		if err := d.update(ctx, ".news", &n, func() bool { return false }); err != nil {
			return err
		}
		for _, one := range slices.Clone(n.Last[len(n.Last)-min(len(n.Last), max(0, n.Next-seen.Next)):]) {
			notify(one)
		}
		seen = n
	}
}
