package leasetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/solotick/solotick/internal/protocol"
)

func (f *fixture) audit(request, text string) {
	f.Helper()
	f.ok("AppendAudit", f.store.AppendAudit(f.ctx, request, []byte(text)))
}

// audited reads the whole log in pages of n entries, and returns the requests that this case has
// made: the log is that of the namespace.
func (f *fixture) audited(n int) (requests []string) {
	f.Helper()
	cursor := ""
	for range 10000 {
		page, err := f.store.Audit(f.ctx, cursor, n)
		f.ok("Audit", err)
		if len(page.Entries) > n {
			f.Fatalf("a page has %d entries, want at most %d", len(page.Entries), n)
		}
		for _, e := range page.Entries {
			if mine, ok := strings.CutPrefix(e.Request, f.name); ok {
				requests = append(requests, mine)
			}
		}
		if cursor = page.Next; cursor == "" {
			return requests
		}
	}
	f.Fatalf("the log does not end")
	return nil
}

func auditListsNewestFirst(f *fixture) {
	odd := " two\nlines, \x00 \xff and 7 8 "
	before := f.now()
	f.audit(f.name+".a", odd)
	f.audit(f.name+".b", "")
	f.audit(f.name+".c", "{}")
	page, err := f.store.Audit(f.ctx, "", 3)
	f.ok("Audit", err)
	var list []string
	for _, e := range page.Entries {
		list = append(list, strings.TrimPrefix(e.Request, f.name)+"="+string(e.Text))
		if e.At.Before(before.Truncate(1000)) || e.At.After(f.now()) {
			f.Errorf("appended at %s, want from %s to %s", e.At, before, f.now())
		}
	}
	f.equal("entries", list, []string{".c={}", ".b=", ".a=" + odd})
	f.equal("the journal of the name", len(f.notes(f.name, 0)), 0)
}

func repeatedAuditIsKeptOnce(f *fixture) {
	for range 3 {
		f.audit(f.name+".a", "first")
		f.audit(f.name+".b", "another")
	}
	f.equal("entries", f.audited(protocol.MaxAuditPage), []string{".b", ".a"})
}

func auditComesInStablePages(f *fixture) {
	const many = 150 // more than two parts of the log have
	var want []string
	for i := range many {
		f.audit(fmt.Sprint(f.name, ".", i), "x")
		want = append(want, fmt.Sprint(".", i))
	}
	slices.Reverse(want)
	f.equal("in one page", f.audited(protocol.MaxAuditPage), want)
	f.equal("in pages of 7", f.audited(7), want)

	log := f.store
	first, err := log.Audit(f.ctx, "", 10)
	f.ok("Audit", err)
	f.audit(f.name+".late", "x")
	second, err := log.Audit(f.ctx, first.Next, 1)
	f.ok("Audit", err)
	f.equal("the first of the second page", second.Entries[0].Request, f.name+want[10])
}

func auditOutlivesTheRecord(f *fixture) {
	f.audit(f.name+".a", "x")
	r := f.record()
	a, err := f.store.Remove(f.ctx, protocol.Remove{Name: f.name, Watermark: r.Watermark, Token: r.Token})
	f.ok("Remove", err)
	f.equal("removed", a.Status, protocol.RecordRemoved)
	f.equal("entries", f.audited(100), []string{".a"})
}

func auditKeepsItsBudget(f *fixture) {
	log := f.store
	f.ok("SetAuditBudget", log.SetAuditBudget(f.ctx, protocol.MinAuditBudget))
	defer func() { f.ok("SetAuditBudget", log.SetAuditBudget(f.ctx, protocol.DefaultAuditBudget)) }()
	text := strings.Repeat("x", 3000)
	const many = 2 * protocol.MinAuditBudget / 3000
	for i := range many {
		f.audit(fmt.Sprint(f.name, ".", i), text)
		page, err := log.Audit(f.ctx, "", 1)
		f.ok("Audit", err)
		f.equal("budget", page.Budget, protocol.MinAuditBudget)
		if page.Used > page.Budget {
			f.Fatalf("%d bytes are used of %d", page.Used, page.Budget)
		}
	}
	kept := f.audited(100)
	if len(kept) < many/4 || len(kept) >= many {
		f.Fatalf("%d entries are kept of %d", len(kept), many)
	}
	f.equal("newest", kept[0], fmt.Sprint(".", many-1))
	for i, request := range kept {
		f.equal("without a gap", request, fmt.Sprint(".", many-1-i))
	}
}

func smallerAuditBudgetHoldsAtOnce(f *fixture) {
	log := f.store
	for i := range 40 {
		f.audit(fmt.Sprint(f.name, ".", i), strings.Repeat("x", 4000))
	}
	f.ok("SetAuditBudget", log.SetAuditBudget(f.ctx, protocol.MinAuditBudget))
	defer func() { f.ok("SetAuditBudget", log.SetAuditBudget(f.ctx, protocol.DefaultAuditBudget)) }()
	f.audit(f.name+".last", "x")
	page, err := log.Audit(f.ctx, "", 1)
	f.ok("Audit", err)
	if page.Used > page.Budget {
		f.Fatalf("%d bytes are used of %d", page.Used, page.Budget)
	}
	f.equal("newest", page.Entries[0].Request, f.name+".last")
}

func manyAuditAtOnce(f *fixture) {
	log := f.store
	var writers sync.WaitGroup
	for i := range 8 {
		writers.Go(func() {
			for k := range 20 {
				if err := log.AppendAudit(f.ctx, fmt.Sprintf("%s.%d.%d", f.name, i, k), []byte("x")); err != nil {
					f.Errorf("AppendAudit: %v", err)
				}
			}
		})
	}
	writers.Wait()
	list := f.audited(50)
	slices.Sort(list)
	f.equal("how many", len(slices.Compact(list)), 160)
}

func faultyAuditIsRefused(f *fixture) {
	log := f.store
	f.refused("long text", log.AppendAudit(f.ctx, "r", make([]byte, protocol.MaxNoteText+1)))
	f.refused("request", log.AppendAudit(f.ctx, "a b", nil))
	f.refused("small budget", log.SetAuditBudget(f.ctx, protocol.MinAuditBudget-1))
	f.refused("large budget", log.SetAuditBudget(f.ctx, protocol.MaxAuditBudget+1))
	for _, n := range []int{-1, 0, protocol.MaxAuditPage + 1} {
		_, err := log.Audit(f.ctx, "", n)
		f.refused(fmt.Sprint("page of ", n), err)
	}
	for _, cursor := range []string{"x", "-1", "1.", "1.0", ".1", "1.-2", "01", "1 ", "1.1.1", strings.Repeat("9", 30)} {
		_, err := log.Audit(f.ctx, cursor, 1)
		if !errors.Is(err, protocol.ErrCursor) {
			f.Errorf("cursor %q: %v, want %v", cursor, err, protocol.ErrCursor)
		}
	}
}
