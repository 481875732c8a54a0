package view

import (
	"slices"
	"strings"
	"time"

	"github.com/solotick/solotick/internal/protocol"
)

// LocksQuery asks for a [LocksPage].
type LocksQuery struct {
	Search string `json:"q"`
	Limit  int    `json:"limit"`
	After  string `json:"after"` // the name of the last lock of the page before
	Zone   string `json:"zone"`
}

func (q *LocksQuery) bind(p *Parameters) {
	p.Text("q", &q.Search)
	p.Number("limit", &q.Limit, 1, MaxLimit, DefaultLimit)
	Checked(p, "after", &q.After, NameRule)
	p.Zone(&q.Zone)
}

// LocksPage shows the locks that are held or waited for.
type LocksPage struct {
	Head
	Query    LocksQuery `json:"query"`
	Total    int        `json:"total"`
	Cut      bool       `json:"cut"` // there are more locks than were read
	Matching int        `json:"matching"`
	Locks    []LockRow  `json:"locks"` // by name
	Next     string     `json:"next"`
}

// LockRow is a lock.
type LockRow struct {
	Name    string        `json:"name"`
	Token   int64         `json:"token"` // of the last grant
	Held    int           `json:"held"`  // permits
	Holds   []HoldRow     `json:"holds"` // oldest grant first
	Waiters int           `json:"waiters"`
	Queue   []WaiterRow   `json:"queue"` // the first of them, in order
	Longest time.Duration `json:"longest_wait_ms"`
}

// HoldRow is a grant of a lock.
type HoldRow struct {
	Holder    string        `json:"holder"`
	Token     int64         `json:"token"`
	Permits   int           `json:"permits"`
	Since     time.Time     `json:"since"`
	For       time.Duration `json:"for_ms"`
	Remaining time.Duration `json:"remaining_ms"` // of its lease when it was read, unless it is renewed
	Expired   bool          `json:"expired"`      // its lease has run out: the next claim gets its permits
}

// WaiterRow is one who waits for a lock.
type WaiterRow struct {
	Holder  string        `json:"holder"`
	Permits int           `json:"permits"`
	Since   time.Time     `json:"since"`
	Waits   time.Duration `json:"waits_ms"`
}

// Locks shows the locks of a snapshot that q chooses.
func Locks(s *Snapshot, q LocksQuery, now time.Time) LocksPage {
	p := LocksPage{Head: s.head(now), Query: q, Total: len(s.Locks), Cut: s.LocksMore, Locks: []LockRow{}}
	words := strings.Fields(strings.ToLower(q.Search))
	var found []*protocol.Lock
	for i := range s.Locks {
		if contains(strings.ToLower(lockText(s.Locks[i])), words) {
			found = append(found, &s.Locks[i])
		}
	}
	p.Matching = len(found)
	slices.SortFunc(found, func(a, b *protocol.Lock) int { return strings.Compare(a.Name, b.Name) })
	from, to := window(len(found), q.Limit, q.After, "", func(name string) (int, bool) {
		return slices.BinarySearchFunc(found, name, func(l *protocol.Lock, name string) int { return strings.Compare(l.Name, name) })
	})
	for _, l := range found[from:to] {
		p.Locks = append(p.Locks, lockRow(l, now))
	}
	if to < len(found) && to > from {
		p.Next = found[to-1].Name
	}
	return p
}

// lockText returns the text to search: the lock, its holders and its waiters.
func lockText(l protocol.Lock) string {
	words := []string{l.Name}
	for _, h := range l.Holds {
		words = append(words, h.Holder)
	}
	for _, w := range l.Queue {
		words = append(words, w.Holder)
	}
	return strings.Join(words, " ")
}

func lockRow(l *protocol.Lock, now time.Time) LockRow {
	row := LockRow{Name: l.Name, Token: l.Token, Waiters: l.Waiters, Holds: []HoldRow{}, Queue: []WaiterRow{}}
	for _, h := range l.Holds {
		row.Held += h.Permits
		row.Holds = append(row.Holds, HoldRow{
			Holder: h.Holder, Token: h.Token, Permits: h.Permits, Since: h.Since, For: since(h.Since, now),
			Remaining: h.Remaining, Expired: h.Remaining <= 0,
		})
	}
	for _, w := range l.Queue {
		row.Queue = append(row.Queue, WaiterRow{Holder: w.Holder, Permits: w.Permits, Since: w.Since, Waits: since(w.Since, now)})
		row.Longest = max(row.Longest, since(w.Since, now))
	}
	return row
}
