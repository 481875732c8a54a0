package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/lease/driver"
)

// The audit log is a chain of parts, each a list under its own key. So an entry costs a short list
// however long the log is, and the oldest part is removed as a whole. The value of the key
// auditPrefix says which parts there are.
const (
	auditPrefix = "audit:"
	// auditPart is how many entries a part gets before the next one begins. Others may add some
	// meanwhile, so the list of a part keeps four times as many.
	auditPart = 64
	// auditPartBytes is how many bytes a part gets at most. This much of the budget is reserved for
	// the part that is being written.
	auditPartBytes = protocol.MinAuditBudget / 8
)

// auditHead lists the parts of the log.
type auditHead struct {
	Budget int   `json:"budget,omitempty"` // 0: the default
	First  int   `json:"first,omitempty"`  // the oldest part
	Sizes  []int `json:"sizes,omitempty"`  // of the parts from First on, in bytes, without the newest part

	version driver.Version
}

func (h *auditHead) newest() int { return h.First + len(h.Sizes) }

func (h *auditHead) budget() int {
	if h.Budget == 0 {
		return protocol.DefaultAuditBudget
	}
	return h.Budget
}

// used returns the size of all parts but the newest, in bytes.
func (h *auditHead) used() (bytes int) {
	for _, size := range h.Sizes {
		bytes += size
	}
	return bytes
}

// isFull reports whether the next entry belongs to a new part.
func isFull(part []driver.Entry) bool {
	const longest = protocol.MaxNoteText + 128 + protocol.EntryOverhead
	return len(part) >= auditPart || sizeOf(part)+longest > auditPartBytes
}

// trim drops the oldest parts until the rest is within the budget, and returns those that it has
// dropped.
func (h *auditHead) trim() (dropped []int) {
	for len(h.Sizes) > 0 && h.used() > h.budget()-auditPartBytes {
		dropped = append(dropped, h.First)
		h.First, h.Sizes = h.First+1, h.Sizes[1:]
	}
	return dropped
}

func sizeOf(list []driver.Entry) (bytes int) {
	for _, e := range list {
		bytes += len(e.ID) + len(e.Text) + protocol.EntryOverhead
	}
	return bytes
}

func auditKey(part int) string { return auditPrefix + strconv.Itoa(part) }

// AppendAudit implements [protocol.Store].
func (s *Session) AppendAudit(ctx context.Context, request string, text []byte) error {
	if err := protocol.CheckNote("", request, text); err != nil {
		return err
	}
	entry := driver.Entry{ID: request, Text: slices.Clone(text), Max: 4 * auditPart}
	return s.onAudit(ctx, "append to the audit log", func(h auditHead) (done bool, err error) {
		key := auditKey(h.newest())
		results, err := s.doAll(ctx, driver.Op{Key: key, Append: []driver.Entry{entry}}, driver.Op{Key: key, Newest: 4 * auditPart}, driver.Op{Key: auditPrefix})
		if err != nil {
			return false, err
		}
		switch present, err := readHead(results[2].Value); {
		case err != nil:
			return false, err
		case present.First > h.newest(): // the part was dropped meanwhile: nobody would find the entry
			return false, s.dropAudit(ctx, []int{h.newest()})
		case present.version == h.version && isFull(results[1].List):
			h.Sizes = append(h.Sizes, sizeOf(results[1].List))
			_, _ = s.writeHead(ctx, h) // otherwise the next to append begins the next part
		}
		return true, nil
	})
}

// SetAuditBudget implements [protocol.Store].
func (s *Session) SetAuditBudget(ctx context.Context, bytes int) error {
	if err := protocol.CheckAuditBudget(bytes); err != nil {
		return err
	}
	return s.onAudit(ctx, "set the budget of the audit log", func(h auditHead) (done bool, err error) {
		if h.budget() == bytes {
			return true, nil
		}
		h.Budget = bytes
		return s.writeHead(ctx, h)
	})
}

// onAudit calls do with the present head until do succeeds. In this process one call runs at a
// time.
func (s *Session) onAudit(ctx context.Context, what string, do func(auditHead) (done bool, err error)) error {
	if err := s.queue.Take(ctx, auditPrefix); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	defer s.queue.Give(auditPrefix)
	for try := 0; ; try++ {
		s.pause(ctx, try)
		h, err := s.readAuditHead(ctx)
		done := false
		if err == nil {
			done, err = do(h)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		if done {
			return nil
		}
	}
}

func (s *Session) readAuditHead(ctx context.Context) (auditHead, error) {
	results, err := s.doAll(ctx, driver.Op{Key: auditPrefix})
	if err != nil {
		return auditHead{}, err
	}
	return readHead(results[0].Value)
}

func readHead(v driver.Value) (h auditHead, err error) {
	if v.Version == (driver.Version{}) {
		return h, nil
	}
	if err := json.Unmarshal(v.Data, &h); err != nil {
		return h, fmt.Errorf("%w: %s: %w", protocol.ErrRecord, auditPrefix, err)
	}
	h.version = v.Version
	return h, nil
}

// writeHead drops entries past the budget, and writes the head unless somebody has changed it since
// it was read. The parts go first, because they would be left over if this process ended in
// between.
func (s *Session) writeHead(ctx context.Context, h auditHead) (done bool, err error) {
	if err := s.dropAudit(ctx, h.trim()); err != nil {
		return false, err
	}
	data, err := json.Marshal(h)
	if err != nil {
		return false, err
	}
	results, err := s.doAll(ctx, driver.Op{Key: auditPrefix, Change: &driver.Change{From: h.version, ID: s.nextID(), Data: data, Essential: true}})
	return err == nil && results[0].Status == driver.Done, err
}

func (s *Session) dropAudit(ctx context.Context, parts []int) error {
	ops := make([]driver.Op, len(parts))
	for i, part := range parts {
		ops[i] = driver.Op{Key: auditKey(part), Change: &driver.Change{ID: s.nextID(), Essential: true}}
	}
	_, err := s.doAll(ctx, ops...)
	return err
}

// doAll carries out operations and returns the first error of any of them.
func (s *Session) doAll(ctx context.Context, ops ...driver.Op) ([]driver.Result, error) {
	results := s.medium().Do(ctx, ops)
	for _, res := range results {
		if res.Err != nil {
			return nil, res.Err
		}
	}
	return results, nil
}

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
