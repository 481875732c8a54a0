package drivertest

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/lease/driver"
)

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
