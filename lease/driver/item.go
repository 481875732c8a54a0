package driver

import (
	"slices"
	"time"
)

// Item is the value of one key. It is for a store that can read and write a value as a whole while
// nobody else does: in a transaction, or under a lock. It is plain data, which encoding/json writes
// and reads. The zero Item has neither a value nor a list. Its methods are called one at a time.
type Item struct {
	Value Value
	List  []Entry // oldest first
}

// Empty reports whether there is nothing to keep.
func (it *Item) Empty() bool { return it.Value.Version == (Version{}) && len(it.List) == 0 }

// Do carries out an operation at one instant of the store's clock. Only if it has changed the item
// does that have to be written. Publishing the notifications of a change that is Done is left to
// the store, as is op.Change.Keep.
func (it *Item) Do(op Op, now time.Time) (res Result, changed bool) {
	res = Result{Status: Done, Now: now}
	switch {
	case op.Change != nil:
		if res.Status, changed = it.check(op.Change, now); changed {
			it.change(op.Change, now)
		}
	case op.Renew != nil:
		res.Status = it.renew(op.Renew, now)
		changed = res.Status == Done
	case len(op.Append) > 0:
		it.append(op.Append, now)
		return res, true
	case op.Newest > 0:
		res.List = slices.Clone(it.List[max(0, len(it.List)-op.Newest):])
		slices.Reverse(res.List)
		return res, false
	}
	res.Version = it.Value.Version
	if op.Change == nil && op.Renew == nil || res.Status != Done {
		res.Value = it.Value
		res.Value.Leases = slices.Clone(it.Value.Leases)
	}
	return res, changed
}

// check says what becomes of a change, and whether it is still to be made.
func (it *Item) check(c *Change, now time.Time) (status Status, todo bool) {
	switch {
	case c.ID != "" && it.Value.Version.ID == c.ID:
		return Done, false
	case it.Value.Version != c.From:
		return Conflict, false
	case now.Before(c.NotBefore), !c.NotAfter.IsZero() && now.After(c.NotAfter):
		return OutOfBounds, false
	case slices.ContainsFunc(it.Value.Leases, func(l Lease) bool { return slices.Contains(c.Ended, l.Token) && l.Ends.After(now) }):
		return Conflict, false
	}
	return Done, true
}

func (it *Item) change(c *Change, now time.Time) {
	if c.Data == nil {
		*it = Item{}
		return
	}
	version := Version{Stamp: max(it.Value.Version.Stamp+1, c.MinStamp, now.UnixMicro()), ID: c.ID}
	var leases []Lease
	for _, l := range it.Value.Leases {
		if !slices.Contains(c.Drop, l.Token) && !slices.ContainsFunc(c.Leases, func(n NewLease) bool { return n.Token == l.Token }) {
			leases = append(leases, l)
		}
	}
	for _, n := range c.Leases {
		if n.Token == 0 {
			n.Token = version.Stamp
		}
		leases = append(leases, Lease{Token: n.Token, Holder: n.Holder, Ends: now.Add(n.TTL)})
	}
	for i := range leases {
		leases[i].Stopped = leases[i].Stopped || slices.Contains(c.Stop, leases[i].Token)
	}
	it.Value = Value{Version: version, Data: c.Data, Leases: leases}
	it.append(c.Append, now)
}

func (it *Item) renew(r *Renewal, now time.Time) Status {
	for i := range it.Value.Leases {
		l := &it.Value.Leases[i]
		if l.Token == r.Token && l.Holder == r.Holder && !l.Stopped {
			l.Ends = now.Add(r.TTL)
			return Done
		}
	}
	return Conflict
}

func (it *Item) append(entries []Entry, now time.Time) {
	for _, e := range entries {
		if slices.ContainsFunc(it.List, func(kept Entry) bool { return kept.ID == e.ID }) {
			continue
		}
		it.List = append(it.List, Entry{ID: e.ID, Text: e.Text, At: now})
		it.List = it.List[max(0, len(it.List)-max(e.Max, 1)):]
	}
}
