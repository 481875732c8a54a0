package engine

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/lease/driver"
)

// auditPlace is a place in the audit log: before the entry with this number in its part, where 0 is
// the oldest. Entries that are added or dropped later do not move it.
type auditPlace struct{ part, entry int }

// everything is the place after all entries of a part.
const everything = 1 << 30

// Audit implements [protocol.Store].
func (s *Session) Audit(ctx context.Context, cursor string, n int) (page protocol.AuditPage, err error) {
	at, err := readCursor(cursor)
	if err = cmp.Or(protocol.CheckAuditPage(n), err); err != nil {
		return page, err
	}
	h, err := s.readAuditHead(ctx)
	if err != nil {
		return page, fmt.Errorf("read the audit log: %w", err)
	}
	lists, err := s.auditParts(ctx, h.newest(), h.newest())
	if err != nil {
		return page, fmt.Errorf("read the audit log: %w", err)
	}
	page.Used, page.Budget = h.used()+sizeOf(lists[0]), h.budget()
	if cursor == "" {
		at = auditPlace{h.newest(), everything}
	}
	for at.part >= h.First && at.part <= h.newest() && len(page.Entries) < n {
		lists, err := s.auditParts(ctx, at.part, max(h.First, at.part-n/auditPart))
		if err != nil {
			return page, fmt.Errorf("read the audit log: %w", err)
		}
		for _, list := range lists {
			before := min(at.entry, len(list)) // the newest comes first in the list
			taken := min(before, n-len(page.Entries))
			for _, e := range list[len(list)-before:][:taken] {
				page.Entries = append(page.Entries, entryOf(e))
			}
			if taken < before {
				at.entry = before - taken
				break
			}
			at = auditPlace{at.part - 1, everything}
		}
	}
	if at.part >= h.First && at.part <= h.newest() {
		page.Next = at.String()
	}
	return page, nil
}

// auditParts returns the entries of the parts from one down to another, each newest first.
func (s *Session) auditParts(ctx context.Context, from, to int) (lists [][]driver.Entry, err error) {
	var ops []driver.Op
	for part := from; part >= to; part-- {
		ops = append(ops, driver.Op{Key: auditKey(part), Newest: 4 * auditPart})
	}
	results, err := s.doAll(ctx, ops...)
	for _, res := range results {
		lists = append(lists, res.List)
	}
	return lists, err
}

func entryOf(e driver.Entry) protocol.JournalEntry {
	return protocol.JournalEntry{At: e.At.UTC().Truncate(time.Microsecond), Request: e.ID, Text: e.Text}
}

func (p auditPlace) String() string {
	if p.entry == everything {
		return strconv.Itoa(p.part)
	}
	return strconv.Itoa(p.part) + "." + strconv.Itoa(p.entry)
}

func readCursor(cursor string) (p auditPlace, err error) {
	if cursor == "" {
		return p, nil
	}
	part, entry, within := strings.Cut(cursor, ".")
	p.part, err = strconv.Atoi(part)
	p.entry = everything
	if within && err == nil {
		p.entry, err = strconv.Atoi(entry)
	}
	if err != nil || len(cursor) > 20 || p.String() != cursor || p.part < 0 || p.entry < 1 {
		return p, fmt.Errorf("%w: %.40q", protocol.ErrCursor, cursor)
	}
	return p, nil
}
