// Package drivertest checks that a [driver.Store] keeps its contract: one case for each rule.
package drivertest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/lease/driver"
)

// Run runs the cases, each in a subtest with a store of its own that open opens.
func Run(t *testing.T, open func(t *testing.T) driver.Store) {
	t.Helper()
	for _, c := range []struct {
		name string
		run  func(f *fixture)
	}{
		{"ValueIsThatOfItsLastChange", valueOfLastChange},
		{"FirstBytesComeWithStampAndLeases", firstBytes},
		{"ChangeFromAnotherVersionConflicts", otherVersion},
		{"RepeatedChangeIsMadeOnce", repeated},
		{"ChangeOutOfItsTimeChangesNothing", outOfTime},
		{"LeaseOutlivesWhoeverTakesItToHaveEnded", notEnded},
		{"EndedLeaseIsTakenOver", ended},
		{"StampsRiseThroughRemoval", stamps},
		{"RenewalExtendsAndLeavesTheVersion", renewal},
		{"RenewalNeedsTokenHolderAndNoStop", renewalRefused},
		{"LateRenewalExtends", lateRenewal},
		{"OperationsOfOneKeyGoInOrder", inOrder},
		{"ConflictHoldsUpNoOtherKey", independent},
		{"ListKeepsTheNewestOnce", lists},
		{"RemovalTakesTheListWithIt", removal},
		{"ScanListsWhatHasAValue", scans},
		{"NotificationsFollowChanges", notifications},
		{"OneOfManyWins", race},
		{"EndedContextIsAnError", endedContext},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(&fixture{T: t, s: open(t)}) })
	}
}

type fixture struct {
	*testing.T
	s   driver.Store
	ids int
}

const key = "job"

func (f *fixture) do(op driver.Op) driver.Result {
	f.Helper()
	res := f.s.Do(f.Context(), []driver.Op{op})
	require.Len(f, res, 1)
	require.NoError(f, res[0].Err)
	require.WithinDuration(f, f.now(), res[0].Now, 10*time.Second)
	return res[0]
}

func (f *fixture) now() time.Time {
	f.Helper()
	now, since, err := f.s.Time(f.Context())
	require.NoError(f, err)
	require.False(f, since.After(now))
	return now
}

func (f *fixture) read() driver.Value {
	f.Helper()
	res := f.do(driver.Op{Key: key})
	require.Equal(f, driver.Done, res.Status)
	return res.Value
}

func (f *fixture) id() string {
	f.ids++
	return fmt.Sprint("change-", f.ids)
}

// change makes a change and returns the version that it made.
func (f *fixture) change(key string, c driver.Change) driver.Version {
	f.Helper()
	c.ID = f.id()
	res := f.do(driver.Op{Key: key, Change: &c})
	require.Equal(f, driver.Done, res.Status)
	if c.Data != nil {
		require.Equal(f, c.ID, res.Version.ID)
	}
	return res.Version
}

func (f *fixture) try(c driver.Change) driver.Result {
	f.Helper()
	c.ID = f.id()
	return f.do(driver.Op{Key: key, Change: &c})
}

func (f *fixture) renew(token int64, holder string) driver.Status {
	f.Helper()
	return f.do(driver.Op{Key: key, Renew: &driver.Renewal{Token: token, Holder: holder, TTL: time.Hour}}).Status
}

// grant makes a value with one lease, and returns its version.
func (f *fixture) grant(ttl time.Duration) driver.Version {
	f.Helper()
	return f.change(key, driver.Change{Data: []byte("held"), Leases: []driver.NewLease{{Holder: "a", TTL: ttl}}})
}

// kept is for how long a lease of ttl is kept at most.
func kept(ttl time.Duration) time.Duration { return ttl + ttl/50 + 5*time.Millisecond }

// outlast returns when the store's clock has passed the end of every lease.
func (f *fixture) outlast() {
	f.Helper()
	ends := f.read().Leases[0].Ends
	require.Eventually(f, func() bool { return f.now().After(ends) }, 20*time.Second, time.Millisecond)
}

func valueOfLastChange(f *fixture) {
	require.Equal(f, driver.Value{}, f.read())
	data := []byte("first \x00 \xff\r\n")
	first := f.change(key, driver.Change{Data: data, Leases: []driver.NewLease{{Holder: "a b", TTL: time.Hour}, {Token: 7, Holder: "c", TTL: time.Minute}}})
	v := f.read()
	require.Equal(f, first, v.Version)
	require.Equal(f, data, v.Data)
	require.ElementsMatch(f, []string{fmt.Sprint(first.Stamp, " a b"), "7 c"}, holders(v))

	second := f.change(key, driver.Change{From: first, Data: []byte("second"), Drop: []int64{7}, Stop: []int64{first.Stamp}})
	v = f.read()
	require.Equal(f, second, v.Version)
	require.Equal(f, "second", string(v.Data))
	require.Equal(f, []string{fmt.Sprint(first.Stamp, " a b stopped")}, holders(v))

	f.change(key, driver.Change{From: second})
	require.Equal(f, driver.Value{}, f.read())
}

func firstBytes(f *fixture) {
	require.Equal(f, driver.Value{}, f.do(driver.Op{Key: key, First: 4}).Value)
	data := []byte("first \x00 \xff\r\n")
	first := f.change(key, driver.Change{Data: data, Leases: []driver.NewLease{{Holder: "a b", TTL: time.Hour}}})
	for _, n := range []int{1, 7, len(data), len(data) + 1} {
		res := f.do(driver.Op{Key: key, First: n})
		require.Equal(f, driver.Done, res.Status)
		require.Equal(f, first.Stamp, res.Value.Version.Stamp)
		require.Equal(f, holders(f.read()), holders(res.Value))
		require.GreaterOrEqual(f, len(res.Value.Data), min(n, len(data)))
		require.Equal(f, data[:len(res.Value.Data)], res.Value.Data)
	}
}

func holders(v driver.Value) (list []string) {
	for _, l := range v.Leases {
		text := fmt.Sprint(l.Token, " ", l.Holder)
		if l.Stopped {
			text += " stopped"
		}
		list = append(list, text)
	}
	return list
}

func otherVersion(f *fixture) {
	first := f.change(key, driver.Change{Data: []byte("first")})
	second := f.change(key, driver.Change{From: first, Data: []byte("second")})
	other := second
	other.ID = "another"
	for _, from := range []driver.Version{{}, first, other} {
		res := f.try(driver.Change{From: from, Data: []byte("lost")})
		require.Equal(f, driver.Conflict, res.Status)
		require.Equal(f, second, res.Value.Version)
		require.Equal(f, "second", string(res.Value.Data))
	}
	require.Equal(f, second, f.read().Version)
}

func repeated(f *fixture) {
	c := driver.Change{
		ID: "same", Data: []byte("once"), Leases: []driver.NewLease{{Holder: "a", TTL: time.Hour}},
		Append: []driver.Entry{{ID: "e", Text: []byte("text"), Max: 4}},
	}
	first := f.do(driver.Op{Key: key, Change: &c})
	require.Equal(f, driver.Done, first.Status)
	again := f.do(driver.Op{Key: key, Change: &c})
	require.Equal(f, driver.Done, again.Status)
	require.Equal(f, first.Version, again.Version)
	require.Len(f, f.read().Leases, 1)
	require.Len(f, f.do(driver.Op{Key: key, Newest: 4}).List, 1)
}

func outOfTime(f *fixture) {
	first := f.change(key, driver.Change{Data: []byte("first")})
	for _, c := range []driver.Change{{NotBefore: f.now().Add(time.Minute)}, {NotAfter: f.now().Add(-time.Minute)}} {
		c.From, c.Data = first, []byte("lost")
		res := f.try(c)
		require.Equal(f, driver.OutOfBounds, res.Status)
		require.Equal(f, "first", string(res.Value.Data))
	}
	require.Equal(f, first, f.read().Version)
	f.change(key, driver.Change{
		From: first, Data: []byte("second"), NotBefore: f.now().Add(-time.Minute), NotAfter: f.now().Add(time.Minute),
	})
}

func notEnded(f *fixture) {
	first := f.grant(time.Hour)
	res := f.try(driver.Change{From: first, Data: []byte("lost"), Ended: []int64{first.Stamp}})
	require.Equal(f, driver.Conflict, res.Status)
	require.Equal(f, first, res.Value.Version)
	require.Len(f, res.Value.Leases, 1)
	f.change(key, driver.Change{From: first, Data: []byte("second"), Ended: []int64{first.Stamp - 1}}) // which is absent
}

func ended(f *fixture) {
	first := f.grant(5 * time.Millisecond)
	f.outlast()
	second := f.change(key, driver.Change{
		From: first, Data: []byte("taken"), Ended: []int64{first.Stamp}, Drop: []int64{first.Stamp},
		Leases: []driver.NewLease{{Holder: "b", TTL: time.Hour}},
	})
	require.Equal(f, []string{fmt.Sprint(second.Stamp, " b")}, holders(f.read()))
}

func stamps(f *fixture) {
	before := f.now().Truncate(time.Microsecond)
	first := f.change(key, driver.Change{Data: []byte("first")})
	require.GreaterOrEqual(f, first.Stamp, before.UnixMicro())
	least := first.Stamp + int64(time.Hour/time.Microsecond)
	second := f.change(key, driver.Change{From: first, Data: []byte("second"), MinStamp: least})
	require.Equal(f, least, second.Stamp)
	third := f.change(key, driver.Change{From: second, Data: []byte("third")})
	require.Greater(f, third.Stamp, second.Stamp)
	f.change(key, driver.Change{From: third})
	again := f.change(key, driver.Change{Data: []byte("first")})
	require.NotContains(f, []driver.Version{first, second, third}, again)
}

func renewal(f *fixture) {
	first := f.grant(time.Minute)
	before := f.now()
	require.Equal(f, driver.Done, f.renew(first.Stamp, "a"))
	v := f.read()
	require.Equal(f, first, v.Version)
	require.Equal(f, "held", string(v.Data))
	require.WithinRange(f, v.Leases[0].Ends, before.Add(time.Hour-time.Millisecond), f.now().Add(kept(time.Hour)))
}

func renewalRefused(f *fixture) {
	first := f.grant(time.Hour)
	require.Equal(f, driver.Conflict, f.renew(first.Stamp-1, "a"))
	require.Equal(f, driver.Conflict, f.renew(first.Stamp, "b"))
	require.Equal(f, driver.Conflict, f.do(driver.Op{Key: "other", Renew: &driver.Renewal{Token: 1, Holder: "a", TTL: time.Hour}}).Status)
	f.change(key, driver.Change{From: first, Data: []byte("to end"), Stop: []int64{first.Stamp}})
	res := f.do(driver.Op{Key: key, Renew: &driver.Renewal{Token: first.Stamp, Holder: "a", TTL: time.Hour}})
	require.Equal(f, driver.Conflict, res.Status)
	require.Equal(f, "to end", string(res.Value.Data))
	require.Equal(f, []string{fmt.Sprint(first.Stamp, " a stopped")}, holders(res.Value))
}

func lateRenewal(f *fixture) {
	first := f.grant(5 * time.Millisecond)
	f.outlast()
	require.Equal(f, driver.Done, f.renew(first.Stamp, "a"))
	res := f.try(driver.Change{From: first, Data: []byte("lost"), Ended: []int64{first.Stamp}})
	require.Equal(f, driver.Conflict, res.Status)
}

func inOrder(f *fixture) {
	change := func(id string, from driver.Version) driver.Op {
		return driver.Op{Key: key, Change: &driver.Change{ID: id, From: from, Data: []byte(id)}}
	}
	res := f.s.Do(f.Context(), []driver.Op{{Key: key}, change("one", driver.Version{}), change("two", driver.Version{}), {Key: key}})
	require.Equal(f, []driver.Status{driver.Done, driver.Done, driver.Conflict, driver.Done}, statuses(f, res))
	require.Empty(f, res[0].Value.Data)
	require.Equal(f, "one", string(res[2].Value.Data))
	require.Equal(f, "one", string(res[3].Value.Data))
}

func statuses(f *fixture, results []driver.Result) (list []driver.Status) {
	f.Helper()
	for _, r := range results {
		require.NoError(f, r.Err)
		list = append(list, r.Status)
	}
	return list
}

func independent(f *fixture) {
	f.change("key-1", driver.Change{Data: []byte("there")})
	var ops []driver.Op
	for i := range 3 {
		ops = append(ops, driver.Op{Key: fmt.Sprint("key-", i), Change: &driver.Change{ID: fmt.Sprint("new-", i), Data: []byte("new")}})
	}
	require.Equal(f, []driver.Status{driver.Done, driver.Conflict, driver.Done}, statuses(f, f.s.Do(f.Context(), ops)))
}

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

	var got []string
	cursor := ""
	for range 100 {
		keys, next, err := f.s.Scan(f.Context(), "lock:n", cursor, 4)
		require.NoError(f, err)
		got = append(got, keys...)
		if cursor = next; cursor == "" {
			break
		}
	}
	slices.Sort(got)
	require.Equal(f, want, slices.Compact(got))
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

func race(f *fixture) {
	first := f.change(key, driver.Change{Data: []byte("first")})
	var wg sync.WaitGroup
	results := make([]driver.Result, 16)
	for i := range results {
		wg.Go(func() {
			c := driver.Change{ID: fmt.Sprint("racer-", i), From: first, Data: []byte(fmt.Sprint("of ", i))}
			results[i] = f.s.Do(f.Context(), []driver.Op{{Key: key, Change: &c}})[0]
		})
	}
	wg.Wait()
	won := 0
	for i, status := range statuses(f, results) {
		if status == driver.Done {
			won++
			require.Equal(f, fmt.Sprint("of ", i), string(f.read().Data))
		}
	}
	require.Equal(f, 1, won)
}

func endedContext(f *fixture) {
	ctx, cancel := context.WithCancel(f.Context())
	cancel()
	require.Error(f, f.s.Do(ctx, []driver.Op{{Key: key}})[0].Err)
	_, _, err := f.s.Time(ctx)
	require.Error(f, err)
	_, _, err = f.s.Scan(ctx, "", "", 1)
	require.Error(f, err)
}
