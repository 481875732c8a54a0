package leasetest

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/solotick/solotick/internal/protocol"
)

// history wants Inspect to show these settled ticks, with times from since to now.
func (f *fixture) history(since time.Time, want ...protocol.Settled) {
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

func historySaysHowItWasSettled(f *fixture) {
	began := f.now()
	f.expired(100, "a")
	run := f.grant(100, "b")
	run.Attempt, run.Note = 4, "it ended"
	f.ask(protocol.Skipped, f.of(101, "c", overlap(protocol.OverlapSkip)))
	f.ok("Settle", f.settle(run, "failed"))
	_, _, err := f.store.Skip(f.ctx, protocol.Skip{
		Name: f.name, From: 101, To: 110, Outcome: "missed", Request: "p", Holder: "d", Note: "too late",
	})
	f.ok("Pass", err)
	lost := f.expired(111, "e", takeovers(0))
	f.ask(protocol.Lost, f.of(111, "f"))
	onTheWay := f.expired(112, "e", takeovers(0))
	held := f.grant(113, "g")
	f.ask(protocol.Queued, f.of(114, "h", queue))
	f.ask(protocol.Queued, f.of(115, "i", replace))
	f.ok("Release", f.release(held))
	next := f.grant(115, "i", replace)
	f.ok("Settle", f.settle(next, "succeeded"))
	f.history(began,
		skippedAs(101, protocol.OutcomeSkipped, "c", protocol.NoteOverlap),
		protocol.Settled{Tick: 100, Token: run.Token, Attempt: 4, Outcome: "failed", Holder: "b", Note: "it ended"},
		protocol.Settled{Tick: 110, From: 101, Outcome: "missed", Holder: "d", Note: "too late"},
		protocol.Settled{Tick: 111, Token: lost.Token, Attempt: 1, Outcome: protocol.OutcomeLost, Holder: "e", Note: protocol.NoteExpired},
		protocol.Settled{Tick: 112, Token: onTheWay.Token, Attempt: 1, Outcome: protocol.OutcomeLost, Holder: "e", Note: protocol.NoteExpired},
		skippedAs(114, protocol.OutcomeReplaced, "h", protocol.NoteNewer),
		replacedOf(held),
		protocol.Settled{Tick: 115, Token: next.Token, Attempt: 1, Outcome: "succeeded", Holder: "i"},
	)
	runs := f.record().Settled
	f.equal("runs, as Sync returns", len(runs), 1)
	f.equal("the newest that succeeded or failed", runs[0].Tick, int64(115))
}

func historyHasPauses(f *fixture) {
	began := f.now()
	f.pause("ops", "taking stock")
	f.ask(protocol.Paused, f.of(100, "a"))
	f.resume("boss")
	n := f.open()
	g := f.granted(n)
	f.ok("Settle", f.settle(g, "succeeded"))
	settled := f.inspect(f.name).Settled
	f.equal("settled", len(settled), 3)
	f.history(began,
		skippedAs(100, protocol.OutcomeSkipped, "a", protocol.NotePaused),
		protocol.Settled{Tick: f.record().Watermark, From: 100, Outcome: protocol.OutcomeSkipped, Holder: "boss", Note: protocol.NotePaused},
		protocol.Settled{Tick: n, Token: g.Token, Attempt: 1, Outcome: "succeeded", Holder: "a"},
	)
	f.between("resumed", settled[1].At.Sub(time.UnixMilli(settled[1].Tick)), 0, time.Millisecond)
}

func historyIsBounded(f *fixture) {
	const settles = protocol.History + protocol.Remembered
	for n := range int64(settles) {
		g := f.grant(1000+n, "a")
		g.Note = fmt.Sprint(n)
		f.ok("Settle", f.settle(g, "succeeded"))
	}
	settled := f.inspect(f.name).Settled
	if len(settled) < protocol.Remembered || len(settled) > protocol.History {
		f.Fatalf("%d are remembered, want from %d to %d", len(settled), protocol.Remembered, protocol.History)
	}
	for i, s := range settled {
		n := settles - len(settled) + i
		f.equal("tick", s.Tick, int64(1000+n))
		f.equal("note", s.Note, fmt.Sprint(n))
	}
}

func notesAreKeptAsTheyAre(f *fixture) {
	began := f.now()
	notes := []string{
		"", " ", "exit status 1", " two  spaces ", "two\nlines\n", "\n", `"quotes" and \ 'so'`, "\x00\t\r", "naïve 世界 🎉",
		"100 7 succeeded 1 1 0 a paused", "paused", "%d%s $1 {x}", strings.Repeat("x", protocol.MaxNote),
	}
	var want []protocol.Settled
	for i, note := range notes {
		g := f.grant(int64(100+2*i), "a")
		g.Note = note
		if i%2 == 1 { // beside another
			f.grant(g.Tick+1, "b", overlap(protocol.OverlapAllow))
		}
		f.ok("Settle", f.settle(g, "failed"))
		want = append(want, protocol.Settled{
			Tick: g.Tick, Token: g.Token, Attempt: 1, Outcome: "failed", Holder: "a", Note: note,
		})
	}
	for i, note := range notes {
		watermark := f.record().Watermark
		_, passed, err := f.store.Skip(f.ctx, protocol.Skip{
			Name: f.name, From: watermark, To: watermark + 1, Outcome: "missed", Request: fmt.Sprint(i), Holder: "a", Note: note,
		})
		f.ok("Pass", err)
		f.equal("passed", passed, true)
		f.ask(protocol.Decided, f.of(watermark+1, "a"))
		want = append(want, protocol.Settled{Tick: watermark + 1, From: watermark, Outcome: "missed", Holder: "a", Note: note})
	}
	f.history(began, want...)
}

func longNotesAreCutBetweenRunes(f *fixture) {
	for i, long := range []string{
		strings.Repeat("x", protocol.MaxNote+1),
		"x" + strings.Repeat("é", protocol.MaxNote),
		"xx" + strings.Repeat("世", protocol.MaxNote),
		strings.Repeat("\xff.", protocol.MaxNote),
	} {
		g := f.grant(int64(1000*i+1), "a")
		g.Note = long
		f.ok("Settle", f.settle(g, "failed"))
		settled := f.inspect(f.name).Settled
		note := settled[len(settled)-1].Note
		f.equal("note", note, protocol.Cut(long, protocol.MaxNote))
		_, _, err := f.store.Skip(f.ctx, protocol.Skip{
			Name: f.name, From: g.Tick, To: int64(1000 * (i + 1)), Outcome: "missed", Request: "p", Holder: "a", Note: long,
		})
		f.ok("Pass", err)
		settled = f.inspect(f.name).Settled
		f.equal("note", settled[len(settled)-1].Note, note)
		if len(note) > protocol.MaxNote || len(note) <= protocol.MaxNote-utf8.UTFMax || !utf8.ValidString(note) {
			f.Fatalf("a note of %d bytes: %q", len(note), note)
		}
	}
}
