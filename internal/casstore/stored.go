package casstore

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/solotick/solotick/lease/driver"
)

// format is that of the values which this release writes.
const format = 2

// stored is a [driver.Item] as a medium keeps it: a line of JSON, the data, and the texts of the
// list. It is not changed after it was made.
type stored struct {
	revision uint64

	Format int   `json:"f"`
	Stamp  int64 `json:"stamp,omitempty"`
	ID     string
	Leases []keptLease   `json:",omitempty"`
	Keep   time.Duration `json:",omitempty"` // as of driver.Change
	At     int64         // when it was written, in Unix microseconds
	Notes  []note        `json:",omitempty"` // the newest notifications
	Data   int           // how long the data are
	List   []keptEntry   `json:",omitempty"` // the newest entries, oldest first
	Older  *chunks       `json:",omitempty"`

	data []byte
}

// keptLease is a lease whose end is not kept: who sees the same nonce for longer than the TTL knows
// that it has ended.
type keptLease struct {
	Token   int64
	Holder  string
	TTL     time.Duration
	At      int64  // when it was granted or renewed last, in Unix microseconds
	Nonce   uint64 // drawn again with each grant and renewal
	Stopped bool   `json:",omitempty"`
}

type keptEntry struct {
	ID   string
	At   int64 // Unix microseconds
	Len  int
	text []byte
}

// note is a notification that watchers have when they see the value.
type note struct {
	Nonce uint64 // by which it is notified once
	At    int64  // Unix microseconds
	driver.Notification
}

// decode reads what a medium keeps under a key of an item.
func decode(key string, kept Kept) (*stored, error) {
	st := &stored{revision: kept.Revision, Format: format}
	if kept.Revision == 0 {
		return st, nil
	}
	head, rest, _ := bytes.Cut(kept.Data, []byte("\n"))
	err := json.Unmarshal(head, st)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %s: %w", driver.ErrRecord, key, err)
	case st.Format != format:
		return nil, fmt.Errorf("%w: %s: has format %d, this release reads %d", driver.ErrRecord, key, st.Format, format)
	}
	cut := func(n int) (part []byte) {
		if n < 0 || n > len(rest) {
			err = fmt.Errorf("%w: %s: is cut short", driver.ErrRecord, key)
			return nil
		}
		part, rest = rest[:n:n], rest[n:]
		return part
	}
	st.data = cut(st.Data)
	for i := range st.List {
		st.List[i].text = cut(st.List[i].Len)
	}
	if err != nil {
		return nil, err
	}
	return st, nil
}

// encode returns what a medium is to keep; nil for nothing.
func (st *stored) encode() ([]byte, error) {
	if st.Stamp == 0 && st.ID == "" && len(st.List) == 0 && st.Older == nil {
		return nil, nil
	}
	text, err := json.Marshal(st)
	if err != nil {
		return nil, err
	}
	text = append(append(text, '\n'), st.data...)
	for _, e := range st.List {
		text = append(text, e.text...)
	}
	return text, nil
}

func (st *stored) version() driver.Version { return driver.Version{Stamp: st.Stamp, ID: st.ID} }

// item is the value at an instant, with the leases' ends as they were seen.
func (st *stored) item(seen []sight, now instant) *driver.Item {
	it := &driver.Item{Value: driver.Value{Version: st.version()}}
	if it.Value.Version != (driver.Version{}) {
		it.Value.Data = st.data
	}
	for i, l := range st.Leases {
		ends := now.fleet.Add(now.local.Until(seen[i].ends(l.TTL)))
		it.Value.Leases = append(it.Value.Leases, driver.Lease{Token: l.Token, Holder: l.Holder, Ends: ends, Renewed: time.UnixMicro(l.At).UTC(), Stopped: l.Stopped})
	}
	for _, e := range st.List {
		it.List = append(it.List, e.entry())
	}
	return it
}

func (e keptEntry) entry() driver.Entry {
	return driver.Entry{ID: e.ID, Text: e.text, At: time.UnixMicro(e.At).UTC()}
}

// after returns what an operation has made of a value, which is it now.
func (st *stored) after(op driver.Op, it *driver.Item, now time.Time) *stored {
	next := &stored{
		Format: format, Stamp: it.Value.Version.Stamp, ID: it.Value.Version.ID, Keep: st.Keep, At: now.UnixMicro(),
		Data: len(it.Value.Data), data: it.Value.Data, Older: st.Older,
	}
	begun := begun(op, it)
	for _, l := range it.Value.Leases {
		kept := keptLease{Token: l.Token, Holder: l.Holder, Stopped: l.Stopped}
		if ttl, begins := begun[l.Token]; begins {
			kept.TTL, kept.At, kept.Nonce = ttl, now.UnixMicro(), rand.Uint64()>>11
		} else if i := slices.IndexFunc(st.Leases, func(k keptLease) bool { return k.Token == l.Token }); i >= 0 {
			kept.TTL, kept.At, kept.Nonce = st.Leases[i].TTL, st.Leases[i].At, st.Leases[i].Nonce
		}
		next.Leases = append(next.Leases, kept)
	}
	for _, e := range it.List {
		next.List = append(next.List, keptEntry{ID: e.ID, At: e.At.UnixMicro(), Len: len(e.Text), text: e.Text})
	}
	for _, n := range st.Notes {
		if at := time.UnixMicro(n.At); now.Sub(at).Abs() < noteLife {
			next.Notes = append(next.Notes, n)
		}
	}
	if c := op.Change; c != nil {
		next.Keep = c.Keep
		for _, n := range c.Notify {
			next.Notes = append(next.Notes, note{Nonce: rand.Uint64() >> 11, At: now.UnixMicro(), Notification: n})
		}
		if c.Data == nil {
			next.Older = nil
		}
	}
	next.Notes = next.Notes[max(0, len(next.Notes)-mostNotes):]
	return next
}

// begun returns the TTL of each lease that an operation begins, by its token.
func begun(op driver.Op, it *driver.Item) map[int64]time.Duration {
	ttls := make(map[int64]time.Duration)
	if op.Renew != nil {
		ttls[op.Renew.Token] = op.Renew.TTL
	}
	if op.Change != nil {
		for _, l := range op.Change.Leases {
			token := l.Token
			if token == 0 {
				token = it.Value.Version.Stamp
			}
			ttls[token] = l.TTL
		}
	}
	return ttls
}
