package leasetest

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/solotick/solotick/lease"
)

// history wants what Inspect tells of the settled to be want, with times from since to now.
func (f *fixture) history(since time.Time, want ...lease.Settled) {
	f.Helper()
	got := f.inspect(f.name).Settled
	now := f.now()
	last := since.Truncate(time.Microsecond)
	for i := range got {
		at := got[i].At
		if at.Before(last) || at.After(now) || at.Nanosecond()%1000 != 0 || at.Location() != time.UTC {
			f.Fatalf("settled at %s, want from %s to %s, in microseconds and UTC", at, last, now)
		}
		last, got[i].At = at, time.Time{}
	}
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			f.Fatalf("history, from number %d on: %+v, want %+v", i, got[min(i, len(got)):], want[min(i, len(want)):])
		}
	}
}

func historyTellsHowItWasSettled(f *fixture) {
	began := f.now()
	f.expired(100, "a")
	run := f.grant(100, "b")
	run.Attempt, run.Note = 4, "it ended"
	f.ask(lease.Skipped, f.of(101, "c", overlap(lease.OverlapSkip)))
	f.ok("Settle", f.settle(run, "failed"))
	_, _, err := f.store.Pass(f.ctx, lease.Pass{
		Name: f.name, From: 101, To: 110, Outcome: "missed", Request: "p", Holder: "d", Note: "too late",
	})
	f.ok("Pass", err)
	lost := f.expired(111, "e", takeovers(0))
	f.ask(lease.Lost, f.of(111, "f"))
	onTheWay := f.expired(112, "e", takeovers(0))
	held := f.grant(113, "g")
	f.ask(lease.Queued, f.of(114, "h", queue))
	f.ask(lease.Queued, f.of(115, "i", replace))
	f.ok("Release", f.release(held))
	next := f.grant(115, "i", replace)
	f.ok("Settle", f.settle(next, "succeeded"))
	f.history(began,
		skippedAs(101, lease.OutcomeSkipped, "c", lease.NoteOverlap),
		lease.Settled{Occasion: 100, Token: run.Token, Attempt: 4, Outcome: "failed", Holder: "b", Note: "it ended"},
		lease.Settled{Occasion: 110, From: 101, Outcome: "missed", Holder: "d", Note: "too late"},
		lease.Settled{Occasion: 111, Token: lost.Token, Attempt: 1, Outcome: lease.OutcomeLost, Holder: "e", Note: lease.NoteExpired},
		lease.Settled{Occasion: 112, Token: onTheWay.Token, Attempt: 1, Outcome: lease.OutcomeLost, Holder: "e", Note: lease.NoteExpired},
		skippedAs(114, lease.OutcomeReplaced, "h", lease.NoteNewer),
		replacedOf(held),
		lease.Settled{Occasion: 115, Token: next.Token, Attempt: 1, Outcome: "succeeded", Holder: "i"},
	)
	f.equal("settled, as Sync tells", len(f.record().Settled), 0)
}

func historyTellsOfPauses(f *fixture) {
	began := f.now()
	f.pause("ops", "taking stock")
	f.ask(lease.Paused, f.of(100, "a"))
	f.resume("boss")
	n := f.open()
	g := f.granted(n)
	f.ok("Settle", f.settle(g, "succeeded"))
	settled := f.inspect(f.name).Settled
	f.equal("settled", len(settled), 3)
	f.history(began,
		skippedAs(100, lease.OutcomeSkipped, "a", lease.NotePaused),
		lease.Settled{Occasion: f.record().Mark, From: 100, Outcome: lease.OutcomeSkipped, Holder: "boss", Note: lease.NotePaused},
		lease.Settled{Occasion: n, Token: g.Token, Attempt: 1, Outcome: "succeeded", Holder: "a"},
	)
	f.between("resumed", settled[1].At.Sub(time.UnixMilli(settled[1].Occasion)), 0, time.Millisecond)
}

func historyIsBounded(f *fixture) {
	const settles = lease.History + lease.Remembered
	for n := range int64(settles) {
		g := f.grant(1000+n, "a")
		g.Note = fmt.Sprint(n)
		f.ok("Settle", f.settle(g, "succeeded"))
	}
	settled := f.inspect(f.name).Settled
	if len(settled) < lease.Remembered || len(settled) > lease.History {
		f.Fatalf("%d are remembered, want from %d to %d", len(settled), lease.Remembered, lease.History)
	}
	for i, s := range settled {
		n := settles - len(settled) + i
		f.equal("occasion", s.Occasion, int64(1000+n))
		f.equal("note", s.Note, fmt.Sprint(n))
	}
}

func notesAreKeptAsTheyAre(f *fixture) {
	began := f.now()
	notes := []string{
		"", " ", "exit status 1", " two  spaces ", "two\nlines\n", "\n", `"quotes" and \ 'so'`, "\x00\t\r", "naïve 世界 🎉",
		"100 7 succeeded 1 1 0 a paused", "paused", "%d%s $1 {x}", strings.Repeat("x", lease.MaxNote),
	}
	var want []lease.Settled
	for i, note := range notes {
		g := f.grant(int64(100+2*i), "a")
		g.Note = note
		if i%2 == 1 { // beside another
			f.grant(g.Occasion+1, "b", overlap(lease.OverlapAllow))
		}
		f.ok("Settle", f.settle(g, "failed"))
		want = append(want, lease.Settled{
			Occasion: g.Occasion, Token: g.Token, Attempt: 1, Outcome: "failed", Holder: "a", Note: note,
		})
	}
	for i, note := range notes {
		mark := f.record().Mark
		_, passed, err := f.store.Pass(f.ctx, lease.Pass{
			Name: f.name, From: mark, To: mark + 1, Outcome: "missed", Request: fmt.Sprint(i), Holder: "a", Note: note,
		})
		f.ok("Pass", err)
		f.equal("passed", passed, true)
		f.ask(lease.Decided, f.of(mark+1, "a"))
		want = append(want, lease.Settled{Occasion: mark + 1, From: mark, Outcome: "missed", Holder: "a", Note: note})
	}
	f.history(began, want...)
}

func longNotesAreCutBetweenRunes(f *fixture) {
	for i, long := range []string{
		strings.Repeat("x", lease.MaxNote+1),
		"x" + strings.Repeat("é", lease.MaxNote),
		"xx" + strings.Repeat("世", lease.MaxNote),
		strings.Repeat("\xff.", lease.MaxNote),
	} {
		g := f.grant(int64(1000*i+1), "a")
		g.Note = long
		f.ok("Settle", f.settle(g, "failed"))
		settled := f.inspect(f.name).Settled
		note := settled[len(settled)-1].Note
		f.equal("note", note, lease.Cut(long, lease.MaxNote))
		_, _, err := f.store.Pass(f.ctx, lease.Pass{
			Name: f.name, From: g.Occasion, To: int64(1000 * (i + 1)), Outcome: "missed", Request: "p", Holder: "a", Note: long,
		})
		f.ok("Pass", err)
		settled = f.inspect(f.name).Settled
		f.equal("note", settled[len(settled)-1].Note, note)
		if len(note) > lease.MaxNote || len(note) <= lease.MaxNote-utf8.UTFMax || !utf8.ValidString(note) {
			f.Fatalf("a note of %d bytes: %q", len(note), note)
		}
	}
}
