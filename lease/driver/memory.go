package driver

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// Memory is a [Store] in this process. The zero value is ready for use; its clock is the process's, unless Step moves it.
type Memory struct {
	mu     sync.Mutex
	items  map[string]*item
	stamp  int64 // of the newest change
	since  time.Time
	ahead  time.Duration // of the process's clock
	listen map[*func(Notification)]struct{}
}

// item is what is kept of a key.
type item struct {
	value Value
	list  []Entry // oldest first
}

// Forget drops everything.
func (m *Memory) Forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.items, m.since = nil, time.Time{}
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

// now is called with the mutex held, as all that follows but Do, Scan and Subscribe.
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
		m.items = make(map[string]*item)
	}
	now := m.now()
	var notify []Notification
	for i, op := range ops {
		results[i] = m.do(op, now)
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

func (m *Memory) do(op Op, now time.Time) Result {
	it := m.items[op.Key]
	if it == nil {
		it = new(item)
	}
	res := Result{Status: Done, Now: now}
	switch {
	case op.Change != nil:
		if res.Status = it.check(op.Change, now); res.Status == Done {
			m.change(op.Key, it, op.Change, now)
		}
	case op.Renew != nil:
		res.Status = it.renew(op.Renew, now)
	case len(op.Append) > 0:
		it.append(op.Append, now)
		m.items[op.Key] = it
	case op.Newest > 0:
		res.List = slices.Clone(it.list[max(0, len(it.list)-op.Newest):])
		slices.Reverse(res.List)
		return res
	}
	res.Version = it.value.Version
	if op.Change == nil && op.Renew == nil || res.Status != Done {
		res.Value = it.value
		res.Value.Leases = slices.Clone(it.value.Leases)
	}
	return res
}

// check says whether the conditions of a change hold.
func (it *item) check(c *Change, now time.Time) Status {
	switch {
	case c.ID != "" && it.value.Version.ID == c.ID:
		return Done
	case it.value.Version != c.From:
		return Conflict
	case now.Before(c.NotBefore), !c.NotAfter.IsZero() && now.After(c.NotAfter):
		return OutOfBounds
	case slices.ContainsFunc(it.value.Leases, func(l Lease) bool { return slices.Contains(c.Ended, l.Token) && l.Ends.After(now) }):
		return Conflict
	}
	return Done
}

func (m *Memory) change(key string, it *item, c *Change, now time.Time) {
	if it.value.Version.ID == c.ID {
		return // it was made before
	}
	m.stamp = max(m.stamp+1, it.value.Version.Stamp+1, c.MinStamp, now.UnixMicro())
	leases := slices.DeleteFunc(it.value.Leases, func(l Lease) bool {
		return slices.Contains(c.Drop, l.Token) || slices.ContainsFunc(c.Leases, func(n NewLease) bool { return n.Token == l.Token })
	})
	for _, n := range c.Leases {
		if n.Token == 0 {
			n.Token = m.stamp
		}
		leases = append(leases, Lease{Token: n.Token, Holder: n.Holder, Ends: now.Add(n.TTL)})
	}
	for i := range leases {
		leases[i].Stopped = leases[i].Stopped || slices.Contains(c.Stop, leases[i].Token)
	}
	it.value = Value{Version: Version{Stamp: m.stamp, ID: c.ID}, Data: bytes.Clone(c.Data), Leases: leases}
	it.append(c.Append, now)
	m.items[key] = it
	if c.Data == nil {
		delete(m.items, key)
	}
}

func (it *item) renew(r *Renewal, now time.Time) Status {
	for i := range it.value.Leases {
		l := &it.value.Leases[i]
		if l.Token == r.Token && l.Holder == r.Holder && !l.Stopped {
			l.Ends = now.Add(r.TTL)
			return Done
		}
	}
	return Conflict
}

func (it *item) append(entries []Entry, now time.Time) {
	for _, e := range entries {
		if slices.ContainsFunc(it.list, func(kept Entry) bool { return kept.ID == e.ID }) {
			continue
		}
		it.list = append(it.list, Entry{ID: e.ID, Text: e.Text, At: now})
		it.list = it.list[max(0, len(it.list)-e.Max):]
	}
}

// Scan implements [Store]. The cursor is the key that was listed last.
func (m *Memory) Scan(ctx context.Context, prefix, cursor string, count int) (keys []string, next string, err error) {
	if err := context.Cause(ctx); err != nil {
		return nil, "", err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, it := range m.items {
		if key > cursor && strings.HasPrefix(key, prefix) && it.value.Version != (Version{}) {
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
