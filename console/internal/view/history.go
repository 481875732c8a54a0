package view

import (
	"cmp"
	"slices"
	"time"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
)

// HistoryQuery asks for a [HistoryPage].
type HistoryQuery struct {
	Limit int
	After string
}

func (q *HistoryQuery) bind(p *Parameters) {
	p.Number("limit", &q.Limit, 1, protocol.MaxHistory, 50)
	Checked(p, "after", &q.After, historyRule)
}

// HistoryPage is a part of a job's history, for programs.
type HistoryPage struct {
	Job     string        `json:"job"`
	Now     time.Time     `json:"now"`
	Entries []fleet.Entry `json:"entries"` // newest tick first; on the first page those that are open before all
	Next    string        `json:"next"`    // cursor for after; empty on the last page
}

// History returns the page that q asks for of a history: at most its limit of settled entries.
func History(job string, entries []fleet.Entry, q HistoryQuery, now time.Time) HistoryPage {
	settled := slices.DeleteFunc(slices.Clone(entries), func(e fleet.Entry) bool { return e.State != wire.StateSettled })
	p := HistoryPage{Job: job, Now: now, Entries: []fleet.Entry{}}
	if q.After == "" {
		p.Entries = slices.DeleteFunc(slices.Clone(entries), func(e fleet.Entry) bool { return e.State == wire.StateSettled })
	}
	page, next, _ := pageOf(settled, q.Limit, q.After, "")
	p.Entries, p.Next = append(p.Entries, page...), next
	return p
}

// pageOf orders settled entries, and returns those of a page with the cursors of the pages around
// it.
func pageOf(list []fleet.Entry, limit int, after, before string) (page []fleet.Entry, next, previous string) {
	slices.SortStableFunc(list, func(a, b fleet.Entry) int { return cursorOf(a).compare(cursorOf(b)) })
	from, to := window(len(list), limit, after, before, func(cursor string) (int, bool) {
		c, _ := decode[historyCursor](cursor)
		return slices.BinarySearchFunc(list, c, func(e fleet.Entry, c historyCursor) int { return cursorOf(e).compare(c) })
	})
	next, previous = around(from, to, len(list), after, func(i int) string { return encode(cursorOf(list[i])) })
	return list[from:to], next, previous
}

// historyCursor is the place of an outcome in a history, newest first.
type historyCursor struct {
	At    int64 `json:"a"` // its Moment, in Unix ms
	From  int64 `json:"f,omitempty"`
	Token int64 `json:"t,omitempty"`
}

func cursorOf(e fleet.Entry) historyCursor {
	c := historyCursor{At: e.Moment().UnixMilli(), Token: e.Token}
	if e.IsRange() {
		c.From = e.From.UnixMilli()
	}
	return c
}

// compare orders the newer first.
func (c historyCursor) compare(o historyCursor) int {
	return cmp.Or(cmp.Compare(o.At, c.At), cmp.Compare(o.Token, c.Token), cmp.Compare(o.From, c.From))
}

func historyRule(s string) string {
	if _, ok := decode[historyCursor](s); !ok {
		return "must be a cursor that a page of this history gave"
	}
	return ""
}
