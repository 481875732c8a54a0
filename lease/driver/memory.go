package driver

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// Memory is a [Store] in this process. The zero value is ready for use; its clock is the process's,
// unless Step moves it.
type Memory struct {
	mu     sync.Mutex
	items  map[string]*kept
	due    map[dueShare][]DueKey // sorted
	floor  int64                 // values that are made have stamps above those that were removed
	swept  time.Time
	since  time.Time
	ahead  time.Duration // of the process's clock
	listen map[*func(Notification)]struct{}
}

// kept is an item, and for how long after it was touched it is kept; 0 for ever.
type kept struct {
	Item
	keep    time.Duration
	touched time.Time
	due     int64 // of Change.DueMilli
}

// dueShare is a share of the index of a job.
type dueShare struct {
	job   string
	share int
}

func dueKey(key string, due int64) DueKey { return DueKey{Key: key, At: time.UnixMilli(due).UTC()} }

// setDueLocked moves a key in the index; 0 takes it out.
func (m *Memory) setDueLocked(key string, it *kept, due int64) {
	job, _, ok := CutKey(key)
	if !ok || it.due == due {
		return
	}
	in := dueShare{job, ShareOf(key)}
	list := m.due[in]
	if i, found := slices.BinarySearchFunc(list, dueKey(key, it.due), DueKey.Compare); found {
		list = slices.Delete(list, i, i+1)
	}
	if it.due = due; due > 0 {
		d := dueKey(key, due)
		i, _ := slices.BinarySearchFunc(list, d, DueKey.Compare)
		list = slices.Insert(list, i, d)
	}
	if m.due == nil {
		m.due = make(map[dueShare][]DueKey)
	}
	if m.due[in] = list; len(list) == 0 {
		delete(m.due, in)
	}
}

// Due implements [Index].
func (m *Memory) Due(ctx context.Context, job string, shares []int, until time.Time, count int) (list []DueKey, err error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, share := range shares {
		for i, d := range m.due[dueShare{job, share}] {
			if i >= count || d.At.After(until) {
				break
			}
			list = append(list, d)
		}
	}
	slices.SortFunc(list, DueKey.Compare)
	return list, nil
}

const sweepEvery = time.Minute

// sweepLocked removes what nobody has touched for as long as it is kept.
func (m *Memory) sweepLocked(now time.Time) {
	if now.Sub(m.swept).Abs() < sweepEvery {
		return
	}
	m.swept = now
	for key, it := range m.items {
		if it.keep > 0 && now.Sub(it.touched) > it.keep {
			m.floor = max(m.floor, it.Value.Version.Stamp)
			m.setDueLocked(key, it, 0)
			delete(m.items, key)
		}
	}
}

// Forget drops everything.
func (m *Memory) Forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.items, m.due, m.since = nil, nil, time.Time{}
}

// Snapshot returns a function that restores what is kept now, as a restored backup of a server
// would.
func (m *Memory) Snapshot() (restore func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	saved := make(map[string]kept)
	for key, it := range m.items {
		saved[key] = kept{Item: Item{Value: it.Value, List: slices.Clone(it.List)}, due: it.due}
	}
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.items, m.due = make(map[string]*kept), nil
		for key, old := range saved {
			it := &kept{Item: old.Item}
			m.items[key] = it
			m.setDueLocked(key, it, old.due)
		}
	}
}

// Step moves the clock by d against the process's.
func (m *Memory) Step(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ahead += d
}

// Time implements [Store].
func (m *Memory) Time(ctx context.Context) (now, since time.Time, err error) {
	if err := context.Cause(ctx); err != nil {
		return time.Time{}, time.Time{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now = m.now()
	if m.since.IsZero() {
		m.since = now
	}
	return now, m.since, nil
}

// now is called with the mutex held.
func (m *Memory) now() time.Time { return time.Now().Add(m.ahead).UTC() }

// Do implements [Store].
func (m *Memory) Do(ctx context.Context, ops []Op) []Result {
	results := make([]Result, len(ops))
	if err := context.Cause(ctx); err != nil {
		for i := range results {
			results[i].Err = err
		}
		return results
	}
	m.mu.Lock()
	if m.items == nil {
		m.items = make(map[string]*kept)
	}
	now := m.now()
	m.sweepLocked(now)
	var notify []Notification
	for i, op := range ops {
		it := m.items[op.Key]
		if it == nil {
			it = new(kept)
			if op.Change != nil && op.Change.MinStamp <= m.floor {
				change := *op.Change
				op.Change, change.MinStamp = &change, m.floor+1
			}
		}
		var changed bool
		if results[i], changed = it.Do(op, now); changed {
			if m.items[op.Key], it.touched = it, now; op.Change != nil {
				it.keep = op.Change.Keep
				m.setDueLocked(op.Key, it, op.Change.DueMilli())
			}
		}
		if it.Empty() {
			delete(m.items, op.Key)
		}
		if op.Change != nil && results[i].Status == Done {
			notify = append(notify, op.Change.Notify...)
		}
	}
	var listen []*func(Notification)
	if len(notify) > 0 {
		listen = slices.Collect(maps.Keys(m.listen))
	}
	m.mu.Unlock()
	for _, n := range notify {
		for _, f := range listen {
			(*f)(n)
		}
	}
	return results
}

// Scan implements [Store]. The cursor is the key that was listed last.
func (m *Memory) Scan(ctx context.Context, prefix, cursor string, count int) (keys []string, next string, err error) {
	if err := context.Cause(ctx); err != nil {
		return nil, "", err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, it := range m.items {
		if key > cursor && strings.HasPrefix(key, prefix) && it.Value.Version != (Version{}) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	if count = max(count, 1); len(keys) > count {
		return keys[:count], keys[count-1], nil
	}
	return keys, "", nil
}

// Subscribe implements [Store].
func (m *Memory) Subscribe(ctx context.Context, notify func(Notification)) error {
	m.mu.Lock()
	if m.listen == nil {
		m.listen = make(map[*func(Notification)]struct{})
	}
	m.listen[&notify] = struct{}{}
	m.mu.Unlock()
	notify(Notification{})
	<-ctx.Done()
	m.mu.Lock()
	delete(m.listen, &notify)
	m.mu.Unlock()
	return context.Cause(ctx)
}
