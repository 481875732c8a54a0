package leasetest

import (
	"fmt"
	"slices"

	"github.com/solotick/solotick/internal/protocol"
)

func (f *fixture) summarize(names ...string) []protocol.Summary {
	f.Helper()
	list, err := f.store.Summarize(f.ctx, names)
	f.ok("Summarize", err)
	f.equal("how many", len(list), len(names))
	return list
}

// summaryIsThatOfTheRecord wants the summary of the fixture's record to be what Inspect shows, and
// returns it.
func (f *fixture) summaryIsThatOfTheRecord() protocol.Summary {
	f.Helper()
	r, err := f.store.Inspect(f.ctx, f.name)
	f.ok("Inspect", err)
	want, got := protocol.Summarize(r), f.summarize(f.name)[0]
	for i := range got.Open {
		f.between("left", got.Open[i].Remaining, 0, kept(long))
		got.Open[i].Remaining = want.Open[i].Remaining
	}
	if (got.Paused == nil) != (want.Paused == nil) || got.Paused != nil && *got.Paused != *want.Paused {
		f.Fatalf("paused: %+v, want %+v", got.Paused, want.Paused)
	}
	paused := got.Paused
	got.Paused, want.Paused = nil, nil
	f.equal("summary", fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want))
	got.Paused = paused
	return got
}

func summariesAreThoseOfRecords(f *fixture) {
	f.equal("of no record", f.summarize(f.other("none"))[0], protocol.Summary{Record: protocol.Record{Name: f.other("none")}})
	f.sync(protocol.Sync{Name: f.name, Revision: "1", Schedule: "UTC @daily"})
	f.summaryIsThatOfTheRecord()

	f.ok("Settle", f.settle(f.grant(100, "a"), "failed"))
	f.ok("Settle", f.settle(f.grant(200, "a"), protocol.OutcomeSucceeded))
	f.pass(200, 300, "p1")
	g := f.grant(400, "b")
	s := f.summaryIsThatOfTheRecord()
	f.equal("open", len(s.Open), 1)
	f.equal("settled", len(s.Settled), 2)
	f.equal("the newest", s.Newest, []protocol.Outcome{"failed", protocol.OutcomeSucceeded, "missed"})

	f.ok("Settle", f.settle(g, "failed"))
	f.pass(400, 500, "p2")
	f.equal("settled", len(f.summaryIsThatOfTheRecord().Settled), 3)

	_, err := f.store.Pause(f.ctx, f.name, protocol.Pause{By: "ann", Reason: "a reason"})
	f.ok("Pause", err)
	f.equal("paused by", f.summaryIsThatOfTheRecord().Paused.By, "ann")
}

func summariesAreBounded(f *fixture) {
	f.ok("Settle", f.settle(f.grant(100, "a"), protocol.OutcomeSucceeded))
	for tick := int64(101); tick <= 100+2*protocol.SummaryOutcomes; tick++ {
		f.ok("Settle", f.settle(f.grant(tick, "a"), "failed"))
	}
	s := f.summarize(f.name)[0]
	f.equal("the newest", s.Newest, slices.Repeat([]protocol.Outcome{"failed"}, protocol.SummaryOutcomes))
	f.equal("the last", s.Settled[len(s.Settled)-1].Tick, int64(100+2*protocol.SummaryOutcomes))
	if n := len(s.Settled); n > 2 {
		f.Fatalf("%d settled, want the last, and the success where it is remembered", n)
	}
}

func summariesComeInTheOrderOfNames(f *fixture) {
	names := make([]string, protocol.MaxSummaries)
	for i := range names {
		names[i] = f.other(fmt.Sprint(i))
		if i%3 == 0 {
			f.sync(protocol.Sync{Name: names[i], Watermark: int64(i + 1)})
		}
	}
	for i, s := range f.summarize(names...) {
		watermark := int64(0)
		if i%3 == 0 {
			watermark = int64(i + 1)
		}
		f.equal("name", s.Name, names[i])
		f.equal("watermark", s.Watermark, watermark)
	}
}

func namesAreListedInPages(f *fixture) {
	want := map[string]bool{f.name: true}
	for i := range 50 {
		name := f.other(fmt.Sprint(i))
		f.sync(protocol.Sync{Name: name})
		want[name] = true
	}
	for cursor, calls := "", 0; ; calls++ {
		names, next, err := f.store.Names(f.ctx, cursor, 10)
		f.ok("Names", err)
		for _, name := range names {
			if !protocol.ValidName(name) {
				f.Fatalf("%q is no name", name)
			}
			delete(want, name)
		}
		if cursor = next; cursor == "" {
			break
		}
	}
	f.equal("names that were not listed", len(want), 0)
}

func faultySummariesAreRefused(f *fixture) {
	for what, names := range map[string][]string{
		"no name": {""}, "two words": {f.name, "a b"}, "too many": slices.Repeat([]string{f.name}, protocol.MaxSummaries+1),
	} {
		_, err := f.store.Summarize(f.ctx, names)
		f.refused(what, err)
	}
}
