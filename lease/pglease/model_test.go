package pglease_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/solotick/solotick/lease/driver"
)

// The function in the database does to rows what driver.Item does, at the same instant.
func TestFunctionDoesWhatItemsDo(t *testing.T) {
	t.Parallel()
	s := open(t, schema(t)).Values()
	run := 0
	rapid.Check(t, func(rt *rapid.T) {
		run++
		m := model{items: map[string]*driver.Item{}}
		for range rapid.IntRange(1, 6).Draw(rt, "calls") {
			var ops []driver.Op
			for range rapid.IntRange(1, 4).Draw(rt, "operations") {
				ops = append(ops, m.draw(rt, fmt.Sprint("k", run, "-", rapid.IntRange(1, 2).Draw(rt, "key"))))
			}
			for i, got := range s.Do(t.Context(), ops) {
				want := m.do(ops[i], got)
				require.NoError(rt, got.Err)
				want.Version, got.Version = version(ops[i], want), version(ops[i], got)
				for j := range want.Value.Leases {
					want.Value.Leases[j].Ends = want.Value.Leases[j].Ends.UTC()
				}
				require.Equal(rt, want, got, "%+v", ops[i])
			}
		}
	})
}

// version is the promised one of a result: the present one, of what changes or renews.
func version(op driver.Op, res driver.Result) driver.Version {
	if res.Status == driver.Done && (op.Change != nil || op.Renew != nil) {
		return res.Version
	}
	return driver.Version{}
}

// model has the items as driver.Item changes them.
type model struct {
	items map[string]*driver.Item
	floor int64
	ids   int
}

func (m *model) item(key string) *driver.Item {
	if m.items[key] == nil {
		m.items[key] = &driver.Item{}
	}
	return m.items[key]
}

func (m *model) do(op driver.Op, got driver.Result) driver.Result {
	it := m.item(op.Key)
	was := it.Value.Version.Stamp
	if c := op.Change; c != nil && was == 0 && got.Status == driver.Done { // above values that were removed
		made := *c
		made.MinStamp = max(c.MinStamp, got.Version.Stamp)
		op.Change = &made
	}
	res, changed := it.Do(op, got.Now)
	if op.Change != nil && changed && op.Change.Data == nil {
		m.floor = max(m.floor, was)
	}
	if res.List == nil && op.Newest > 0 {
		res.List = nil
	}
	return res
}

// draw draws an operation that often finds what it needs.
func (m *model) draw(rt *rapid.T, key string) driver.Op {
	op := driver.Op{Key: key}
	v := m.item(key).Value
	token := func() int64 {
		if len(v.Leases) > 0 && rapid.IntRange(0, 3).Draw(rt, "known token") > 0 {
			return v.Leases[rapid.IntRange(0, len(v.Leases)-1).Draw(rt, "lease")].Token
		}
		return rapid.Int64Range(1, 3).Draw(rt, "token")
	}
	tokens := func(label string) (list []int64) {
		for range rapid.IntRange(0, 2).Draw(rt, label) {
			list = append(list, token())
		}
		return list
	}
	entries := func() (list []driver.Entry) {
		for range rapid.IntRange(0, 2).Draw(rt, "entries") {
			list = append(list, driver.Entry{ID: fmt.Sprint("e", rapid.IntRange(1, 5).Draw(rt, "entry")), Text: []byte("text"), Max: 3})
		}
		return list
	}
	switch rapid.IntRange(0, 5).Draw(rt, "kind") {
	case 0:
	case 1:
		op.Renew = &driver.Renewal{Token: token(), Holder: rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "holder"), TTL: time.Hour}
	case 2:
		if op.Append = entries(); len(op.Append) == 0 {
			op.Newest = 9
		}
	default:
		m.ids++
		c := &driver.Change{From: v.Version, ID: fmt.Sprint(key, "-", m.ids), Ended: tokens("ended"), Stop: tokens("stop"), Drop: tokens("drop"), Append: entries()}
		if rapid.IntRange(0, 4).Draw(rt, "remove") > 0 {
			c.Data = []byte{0, byte(m.ids), 0xff}
		}
		switch rapid.IntRange(0, 9).Draw(rt, "fault") {
		case 0:
			c.From.Stamp++
		case 1:
			c.From.ID = "other"
		case 2:
			c.NotAfter = time.Now().Add(-time.Minute)
		case 3:
			c.NotBefore = time.Now().Add(time.Minute)
		case 4:
			c.ID = v.Version.ID
		case 5:
			c.MinStamp = v.Version.Stamp + 1000
		}
		for i := range rapid.IntRange(0, 2).Draw(rt, "leases") {
			ttl := rapid.SampledFrom([]time.Duration{time.Hour, time.Microsecond}).Draw(rt, "TTL")
			c.Leases = append(c.Leases, driver.NewLease{Token: int64(i) * rapid.Int64Range(1, 3).Draw(rt, "new token"), Holder: "a", TTL: ttl})
		}
		op.Change = c
	}
	return op
}
