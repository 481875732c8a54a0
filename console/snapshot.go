package console

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/solotick/solotick/console/internal/view"
	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/jobs"
)

// maxStale is how long a snapshot is shown while there is no newer one, beside why there is none.
const maxStale = 10 * time.Minute

// reading is a snapshot with the time by this machine's clock at which it was read.
type reading struct {
	*view.Snapshot
	at  time.Time
	seq uint64 // of the newest event that it has
}

// now is fleet time, as the reading and this machine's clock have it.
func (r *reading) now() time.Time { return r.Status.Now.Add(time.Since(r.at)) }

// job returns this program's definition of a job; nil when it has none.
func (r *reading) job(name string) *jobs.Job { return r.Given[name] }

// readSnapshot reads the fleet, and notes the changes since the last time. While the store does not
// answer it returns the last snapshot with the reason.
func (c *Console) readSnapshot(ctx context.Context) (*reading, error) {
	c.watching.goOn(c)
	given := c.options.jobs()
	began := time.Now()
	now, err := c.fleet.Now(ctx)
	latency := time.Since(began)
	var status fleet.Status
	if err == nil {
		status, err = c.monitor.Status(ctx, given)
	}
	if err != nil {
		return c.staleSnapshot(err)
	}
	s := &view.Snapshot{Status: status, Given: make(map[string]*jobs.Job, len(given)), Definitions: c.definitions.of(ctx, c.fleet, &status)}
	s.Store = view.StoreView{Kind: kindOf(c.store), Latency: latency.Microseconds(), ClockOffset: (now.Sub(began.Add(latency / 2)))}
	for _, job := range given {
		s.Given[job.Name()] = job
	}
	if before := c.last.Load(); before != nil {
		if changes := changesBetween(&before.Status, &status); !changes.empty() {
			c.events.add(changes)
		}
	}
	r := &reading{s, time.Now(), c.events.last()}
	c.last.Store(r)
	if c.failing.Swap(false) {
		c.options.logger.Info("the store answers the console again")
	}
	return r, nil
}

func (c *Console) staleSnapshot(err error) (*reading, error) {
	if errors.Is(context.Cause(c.background.ctx), errClosed) {
		return nil, errClosed
	}
	if !c.failing.Swap(true) {
		c.options.logger.Warn("the store does not answer the console", slog.Any("error", err))
	}
	last := c.last.Load()
	if last == nil || time.Since(last.at) > maxStale {
		return nil, err
	}
	stale := *last.Snapshot
	stale.LastAttempt, stale.Err = last.now(), problemOf(err).Detail
	return &reading{&stale, last.at, last.seq}, nil
}

// kindOf names the kind of a store by its package, such as redis of redislease.
func kindOf(store any) string {
	t := reflect.TypeOf(store)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	name := path.Base(t.PkgPath())
	if kind, ok := map[string]string{"redislease": "redis", "memlease": "memory"}[name]; ok {
		return kind
	}
	return strings.TrimSuffix(name, "lease")
}

// The bounds of the locks that are read.
const (
	maxLocks    = 5000
	locksAtOnce = 500
)

// lockList is the result of a read of the locks.
type lockList struct {
	locks []protocol.Lock
	more  bool
}

func (c *Console) readLocks(ctx context.Context) (lockList, error) {
	found := map[string]protocol.Lock{} // one may be listed twice
	for cursor := ""; ; {
		page, next, err := c.store.Locks(ctx, "", cursor, locksAtOnce)
		if err != nil {
			return lockList{}, err
		}
		for _, l := range page {
			found[l.Name] = l
		}
		if cursor = next; cursor == "" || len(found) >= maxLocks {
			sorted := slices.SortedFunc(maps.Values(found), func(a, b protocol.Lock) int { return strings.Compare(a.Name, b.Name) })
			return lockList{locks: sorted, more: cursor != ""}, nil
		}
	}
}

// keyed has a shared value for each of several keys, such as jobs: as many as are looked at. It is
// safe for concurrent use.
type keyed[T any] struct {
	read func(ctx context.Context, key string) (T, error)
	in   *background
	most int // values that are kept; 0: maxKeyed

	mu   sync.Mutex
	byID map[string]*shared[T]
}

// maxKeyed bounds the values that are kept of what several keys have.
const maxKeyed = 256

func (k *keyed[T]) get(ctx context.Context, key string) (T, error) { return k.of(key).get(ctx) }

// of returns the value of a key.
func (k *keyed[T]) of(key string) *shared[T] {
	k.mu.Lock()
	defer k.mu.Unlock()
	s := k.byID[key]
	if s == nil {
		if k.byID == nil || len(k.byID) >= cmp.Or(k.most, maxKeyed) {
			k.byID = map[string]*shared[T]{} // reads that are under way end by themselves
		}
		s = &shared[T]{in: k.in, read: func(ctx context.Context) (T, error) { return k.read(ctx, key) }}
		k.byID[key] = s
	}
	return s
}

// expire makes the next get of every key read again.
func (k *keyed[T]) expire() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, s := range k.byID {
		s.expire()
	}
}
