package drivertest

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/lease/driver"
)

func lists(f *fixture) {
	const most = 4
	entry := func(id string) driver.Entry { return driver.Entry{ID: id, Text: []byte("text of " + id), Max: most} }
	f.change(key, driver.Change{Data: []byte("value"), Append: []driver.Entry{entry("a"), entry("b")}})
	f.do(driver.Op{Key: key, Append: []driver.Entry{entry("b"), entry("c")}})
	require.Equal(f, []string{"c", "b", "a"}, f.newest(10))
	require.Equal(f, []string{"c"}, f.newest(1))
	require.Equal(f, "value", string(f.read().Data))
	for i := range 3 * most {
		f.do(driver.Op{Key: key, Append: []driver.Entry{entry(fmt.Sprint("n", i))}})
	}
	list := f.newest(100)
	require.GreaterOrEqual(f, len(list), most)
	require.LessOrEqual(f, len(list), 2*most)
	require.Equal(f, []string{"n11", "n10", "n9", "n8"}, list[:most])
}

func (f *fixture) newest(n int) (ids []string) {
	f.Helper()
	for _, e := range f.do(driver.Op{Key: key, Newest: n}).List {
		require.Equal(f, "text of "+e.ID, string(e.Text))
		require.WithinDuration(f, f.now(), e.At, 10*time.Second)
		ids = append(ids, e.ID)
	}
	return ids
}

func removal(f *fixture) {
	entry := driver.Entry{ID: "a", Text: []byte("text of a"), Max: 4}
	first := f.change(key, driver.Change{
		Data: []byte("held"), Leases: []driver.NewLease{{Holder: "a", TTL: time.Hour}}, Append: []driver.Entry{entry},
	})
	f.change(key, driver.Change{From: first})
	require.Empty(f, f.newest(10))
	require.Zero(f, f.read())

	f.do(driver.Op{Key: key, Append: []driver.Entry{entry}}) // a list with no value beside it
	require.Equal(f, []string{"a"}, f.newest(10))
	f.change(key, driver.Change{})
	require.Empty(f, f.newest(10))
	require.Equal(f, driver.Conflict, f.renew(first.Stamp, "a"))
	f.change(key, driver.Change{}) // of nothing
}

func scans(f *fixture) {
	var want []string
	for i := range 25 {
		want = append(want, fmt.Sprintf("lock:n%02d", i))
	}
	gone := driver.Version{}
	for _, k := range append(want, "n00", "lock:m", "lock:n-gone") {
		gone = f.change(k, driver.Change{Data: []byte(k)})
	}
	f.change("lock:n-gone", driver.Change{From: gone})
	f.do(driver.Op{Key: "lock:n-list", Append: []driver.Entry{{ID: "e", Text: []byte("text"), Max: 1}}})

	require.Equal(f, want, f.scan("lock:n", 4))
}

// scan lists all keys with a prefix, in pages, and sorts them.
func (f *fixture) scan(prefix string, page int) (list []string) {
	f.Helper()
	cursor := ""
	for range 100 {
		keys, next, err := f.s.Scan(f.Context(), prefix, cursor, page)
		require.NoError(f, err)
		list = append(list, keys...)
		if cursor = next; cursor == "" {
			break
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func notifications(f *fixture) {
	ctx, stop := context.WithCancel(f.Context())
	received := make(chan driver.Notification, 16)
	returned := make(chan error, 1)
	go func() { returned <- f.s.Subscribe(ctx, func(n driver.Notification) { received <- n }) }()
	require.Equal(f, driver.Notification{}, f.await(received))
	sent := []driver.Notification{{Name: "job", Tick: 7}, {Name: "lock", Waiters: []string{"r1", "r2"}}, {Name: "lock", Waiters: []string{}}}
	first := f.change(key, driver.Change{Data: []byte("value"), Notify: sent})
	require.Equal(f, driver.Conflict, f.try(driver.Change{Data: []byte("lost"), Notify: []driver.Notification{{Name: "lost"}}}).Status)
	f.change(key, driver.Change{From: first, Data: []byte("again"), Notify: []driver.Notification{{Name: "last"}}})
	sent = append(sent, driver.Notification{Name: "last"})
	var got []driver.Notification
	for len(got) < len(sent) { // in any order, each perhaps after the zero one again
		if n := f.await(received); n.Name != "" {
			got = append(got, n)
		}
	}
	require.ElementsMatch(f, sent, got)
	stop()
	require.Error(f, <-returned)
}

func (f *fixture) await(c <-chan driver.Notification) driver.Notification {
	f.Helper()
	select {
	case n := <-c:
		return n
	case <-time.After(20 * time.Second):
		require.Fail(f, "no notification came")
		return driver.Notification{}
	}
}
