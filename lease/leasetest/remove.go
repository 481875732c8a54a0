package leasetest

import (
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/solotick/solotick/internal/protocol"
)

// removal asks for the end of the fixture's record as it is.
func (f *fixture) removal() protocol.Remove {
	f.Helper()
	r := f.inspect(f.name)
	return protocol.Remove{Name: f.name, Watermark: r.Watermark, Token: r.Token}
}

// remove wants an answer of the given status.
func (f *fixture) remove(want protocol.RemoveStatus, q protocol.Remove) protocol.Removed {
	f.Helper()
	f.until(time.UnixMicro(q.Token)) // tokens run ahead of a clock that stands still
	a, err := f.store.Remove(f.ctx, q)
	f.ok("Remove", err)
	if a.Status != want {
		f.Fatalf("remove: %s, want %s: %+v", a.Status, want, a)
	}
	return a
}

// listed reports whether the index has the fixture's name.
func (f *fixture) listed() bool {
	f.Helper()
	for cursor := ""; ; {
		names, next, err := f.store.Names(f.ctx, cursor, 1000)
		f.ok("Names", err)
		if slices.Contains(names, f.name) {
			return true
		}
		if cursor = next; cursor == "" {
			return false
		}
	}
}

func removedRecordIsGone(f *fixture) {
	f.sync(protocol.Sync{Name: f.name, Revision: "r1", Schedule: "UTC @daily"})
	g := f.grant(100, "a")
	f.ok("Settle", f.settle(g, "succeeded"))
	f.pass(100, 200, "p")
	f.done(f.open())
	f.pause("ops", "it is gone")
	f.append(f.name, "r", "a note")
	last := f.inspect(f.name).Token
	f.equal("listed", f.listed(), true)

	q := f.removal()
	f.remove(protocol.RecordRemoved, q)
	f.equal("record", f.inspect(f.name), protocol.Record{Name: f.name})
	f.equal("notes", len(f.notes(f.name, 0)), 0)
	f.equal("listed", f.listed(), false)
	f.ask(protocol.Unknown, f.of(300, "a"))
	f.remove(protocol.RecordAbsent, q) // the same again, as after a lost reply
	f.equal("listed", f.listed(), false)

	r := f.sync(protocol.Sync{Name: f.name, Watermark: 50})
	f.equal("made", r.Made, true)
	f.equal("watermark", r.Watermark, int64(50))
	f.equal("paused", r.Paused == nil, true)
	next := f.grant(100, "b") // of the new record
	f.above("token", next.Token, last)
	f.equal("attempt", next.Attempt, 1)
	f.remove(protocol.RecordOpen, q)
	f.equal("settled", len(f.inspect(f.name).Settled), 0)
}

func whatIsOpenIsNotRemoved(f *fixture) {
	g := f.grant(100, "a")
	f.equal("open, held", f.remove(protocol.RecordOpen, f.removal()).Open, 1)
	f.ok("Release", f.release(g))
	f.equal("open, released", f.remove(protocol.RecordOpen, f.removal()).Open, 1)
	f.ok("Settle", f.settle(f.grant(100, "b"), "succeeded"))

	n := f.open()
	f.equal("open, waiting", f.remove(protocol.RecordOpen, f.removal()).Open, 1)
	f.done(n)

	f.expired(200, "a")
	f.equal("open, to be taken over", f.remove(protocol.RecordOpen, f.removal()).Open, 1)
	f.ok("Settle", f.settle(f.grant(200, "b"), "succeeded"))

	lock := f.grant(0, "a")
	f.equal("held as a plain lock", f.remove(protocol.RecordOpen, f.removal()).Open, 1)
	f.ok("Renew", f.renew(lock))
	f.ok("Release", f.release(lock))
	f.expired(0, "a")
	f.remove(protocol.RecordRemoved, f.removal())
	f.equal("record", f.inspect(f.name), protocol.Record{Name: f.name})
}

func removalIsOfTheRecordThatWasSeen(f *fixture) {
	q := f.removal()
	g := f.grant(100, "a")
	f.ok("Settle", f.settle(g, "succeeded"))
	f.remove(protocol.RecordChanged, q)

	q = f.removal()
	f.pass(100, 200, "p")
	f.remove(protocol.RecordChanged, q)
	f.equal("watermark", f.record().Watermark, int64(200))

	q = f.removal()
	f.done(f.open())
	f.remove(protocol.RecordChanged, q)

	q = f.removal()
	q.Until = f.now().Add(-time.Second)
	_, err := f.store.Remove(f.ctx, q)
	if !errors.Is(err, protocol.ErrOutOfBounds) {
		f.Fatalf("Remove past its bound: %v, want protocol.ErrOutOfBounds", err)
	}
	f.remove(protocol.RecordRemoved, f.removal())
}

func claimAndRemovalNeverBothSucceed(f *fixture) {
	r := f.store
	for range 10 {
		f.again()
		f.ok("Settle", f.settle(f.grant(100, "a"), "succeeded"))
		q, c := f.removal(), f.of(101, "b")
		f.until(time.UnixMicro(q.Token))
		var a protocol.Answer
		var removed protocol.Removed
		var claimErr, removeErr error
		var both sync.WaitGroup
		both.Go(func() { a, claimErr = f.store.Claim(f.ctx, c) })
		both.Go(func() { removed, removeErr = r.Remove(f.ctx, q) })
		both.Wait()
		f.ok("Claim, Remove", errors.Join(claimErr, removeErr))
		switch {
		case a.Status == protocol.Granted && removed.Status == protocol.RecordOpen:
			f.equal("open", len(f.inspect(f.name).Open), 1)
			f.ok("Settle", f.settle(grantOf(c, a), "succeeded"))
			f.equal("settled", f.inspect(f.name).Settled[1].Tick, int64(101))
		case a.Status == protocol.Unknown && removed.Status == protocol.RecordRemoved:
			f.equal("record", f.inspect(f.name), protocol.Record{Name: f.name})
		default:
			f.Fatalf("the claim is %s, and the record %s", a.Status, removed.Status)
		}
	}
}

func removalLeavesLocksAndOtherNamesAlone(f *fixture) {
	first := f.name
	f.ok("Settle", f.settle(f.grant(100, "a"), "succeeded"))
	f.append(f.name, "r", "a note")
	f.again()
	f.ok("Settle", f.settle(f.grant(200, "a"), "succeeded"))
	f.lock("a", mutex)
	f.remove(protocol.RecordRemoved, f.removal())
	f.askLock(protocol.Held, f.ofLock("b", mutex))
	f.equal("watermark", f.sync(protocol.Sync{Name: first}).Watermark, int64(100))
	f.equal("notes", f.notes(first, 0), []string{"r=a note"})
}

func removalWaitsForTheClock(f *fixture) {
	f.stepClock(time.Hour)
	f.ok("Settle", f.settle(f.grant(100, "a"), "succeeded"))
	f.stepClock(-time.Hour)
	f.now() // a store of several clocks learns by an answer that they have stepped
	a, err := f.store.Remove(f.ctx, f.removal())
	f.ok("Remove", err)
	f.equal("status", a.Status, protocol.RecordAhead)
	f.stepClock(2 * time.Hour)
	f.now()
	f.remove(protocol.RecordRemoved, f.removal())
	f.stepClock(-time.Hour)
}

func faultyRemovalsAreRefused(f *fixture) {
	r := f.store
	for what, q := range map[string]protocol.Remove{
		"no name": {}, "two words": {Name: "a b"}, "watermark": {Name: f.name, Watermark: -1}, "token": {Name: f.name, Token: -1},
	} {
		_, err := r.Remove(f.ctx, q)
		f.refused(what, err)
	}
}
