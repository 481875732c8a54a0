package leasetest

import (
	"errors"
	"time"

	"github.com/solotick/solotick/internal/protocol"
)

// cancel cancels the tick and wants an answer of the given status.
func (f *fixture) cancel(want protocol.CancelStatus, tick int64, by string) protocol.Cancelled {
	f.Helper()
	a, err := f.store.Cancel(f.ctx, protocol.Cancel{Name: f.name, Tick: tick, By: by})
	f.ok("Cancel", err)
	if a.Status != want {
		f.Fatalf("cancel of %d by %s: %s, want %s: %+v", tick, by, a.Status, want, a)
	}
	return a
}

func (f *fixture) cancelled(err error, by string) {
	f.Helper()
	var cancelled *protocol.CancelledError
	if !errors.As(err, &cancelled) || !errors.Is(err, protocol.ErrCancelled) || cancelled.By != by {
		f.Fatalf("Renew: %v, want a protocol.CancelledError by %s", err, by)
	}
}

// cancelledOf is how the store settles a grant that ops cancelled on its own account.
func cancelledOf(g protocol.Grant) protocol.Settled {
	return protocol.Settled{
		Tick: g.Tick, Token: g.Token, Attempt: g.Attempt, Outcome: protocol.OutcomeCancelled, Holder: g.Holder,
		Note: protocol.NoteCancelled("ops"),
	}
}

func cancelledHolderIsNotRenewed(f *fixture) {
	g, beside := f.grant(100, "a"), f.grant(101, "a")
	for _, by := range []string{"ops", "other"} {
		a := f.cancel(protocol.CancelPending, 100, by)
		f.equal("by, holder", [2]string{a.By, a.Holder}, [2]string{"ops", "a"})
		f.between("left", a.Remaining, 1, kept(long))
	}
	g.TTL = 3 * long
	for range 2 {
		f.cancelled(f.renew(g), "ops")
		f.between("left", f.ask(protocol.Held, f.of(100, "b")).Remaining, 1, kept(long)) // it was not extended
	}
	f.ok("Renew of another", f.renew(beside))
	for _, o := range f.inspect(f.name).Open {
		f.equal("cancelled by", o.CancelledBy, map[int64]string{100: "ops", 101: ""}[o.Tick])
	}
	g.Note = "stopped"
	for range 2 {
		f.ok("Settle", f.settle(g, protocol.OutcomeCancelled))
	}
	f.cancel(protocol.CancelSettled, 100, "ops")
	f.ask(protocol.Decided, f.of(100, "b"))
	f.fenced("Renew", f.renew(g))
	f.equal("settled", f.settled(), []protocol.Settled{{Tick: 100, Token: g.Token, Outcome: protocol.OutcomeCancelled}})
}

// A holder that was cancelled may have just succeeded, or give the tick up.
func cancelledHolderEndsAsItLikes(f *fixture) {
	g := f.grant(100, "a")
	f.cancel(protocol.CancelPending, 100, "ops")
	f.ok("Settle", f.settle(g, "succeeded"))
	f.cancel(protocol.CancelNotOpen, 100, "ops")

	g = f.grant(101, "a")
	f.cancel(protocol.CancelPending, 101, "ops")
	f.ok("Release", f.release(g))
	f.settledToo(f.ask(protocol.Decided, f.of(101, "b", onlyOpen)), cancelledOf(g))
	f.ask(protocol.Decided, f.of(101, "b"))
}

// cancelling returns a grant of 100 that was cancelled while it was held, and whose lease has run
// out.
func (f *fixture) cancelling(changes ...change) (g protocol.Grant) {
	f.Helper()
	for d := 4 * f.ttl; d <= long; d *= 2 { // however slow the machine
		f.again()
		c := f.of(100, "a", append(changes, ttl(d))...)
		a := f.ask(protocol.Granted, c)
		answer, err := f.store.Cancel(f.ctx, protocol.Cancel{Name: f.name, Tick: 100, By: "ops"})
		f.ok("Cancel", err)
		if answer.Status == protocol.CancelPending {
			f.until(a.Now.Add(a.Remaining))
			return grantOf(c, a)
		}
	}
	f.Fatal("a lease always ran out before it was cancelled")
	return g
}

func cancelledIsNotTakenOver(f *fixture) {
	for _, takeovers := range []change{takeovers(0), takeovers(3)} {
		g := f.cancelling(takeovers)
		f.settledToo(f.ask(protocol.Decided, f.of(100, "b")), cancelledOf(g))
		f.settledToo(f.ask(protocol.Decided, f.of(100, "b")))
		f.fenced("Renew", f.renew(g))
		f.fenced("Release", f.release(g))
		f.fenced("Settle", f.settle(g, protocol.OutcomeCancelled)) // it is settled so, but not by the holder
		f.fenced("Settle", f.settle(g, "succeeded"))
		f.equal("by", f.cancel(protocol.CancelSettled, 100, "other").By, "ops")
	}
}

func cancelledThatRanOutIsInNobodysWay(f *fixture) {
	for _, o := range []protocol.Overlap{protocol.OverlapAllow, protocol.OverlapSkip, protocol.OverlapWait, protocol.OverlapQueue, protocol.OverlapReplace} {
		g := f.cancelling()
		f.settledToo(f.ask(protocol.Granted, f.of(101, "b", overlap(o))), cancelledOf(g))
		f.ask(protocol.Decided, f.of(100, "c"))
	}
	// A holder that comes back before anybody asked ends it on its own.
	g := f.cancelling()
	f.cancelled(f.renew(g), "ops")
	f.ok("Settle", f.settle(g, protocol.OutcomeCancelled))
	f.ask(protocol.Decided, f.of(100, "b"))
}

func cancelSettlesTheFree(f *fixture) {
	g := f.expired(100, "a")
	released := f.grant(101, "a")
	f.ok("Release", f.release(released))
	for i, g := range []protocol.Grant{g, released} {
		for _, by := range []string{"ops", "other"} {
			f.equal("by", f.cancel(protocol.CancelSettled, g.Tick, by).By, "ops")
		}
		f.ask(protocol.Decided, f.of(g.Tick, "b"))
		f.fenced("Settle", f.settle(g, "succeeded"))
		s := f.inspect(f.name).Settled[i]
		s.At = time.Time{}
		f.equal("settled", s, cancelledOf(g))
	}
}

func cancelSettlesWhatWaits(f *fixture) {
	g := f.grant(100, "a")
	f.ask(protocol.Queued, f.of(101, "b", queue))
	triggered := f.trigger(protocol.Waiting, protocol.Trigger{}).Tick
	f.equal("triggered", triggered, int64(101))
	f.cancel(protocol.CancelSettled, 101, "ops")
	f.ask(protocol.Decided, f.of(101, "c", onlyOpen))
	f.ok("Renew", f.renew(g))
	f.ok("Settle", f.settle(g, "succeeded"))
	opened := f.trigger(protocol.Opened, protocol.Trigger{}).Tick
	f.cancel(protocol.CancelSettled, opened, "ops")
	f.ask(protocol.Decided, f.of(opened, "c", onlyOpen))
	f.grant(102, "c", overlap(protocol.OverlapSkip))
}

func cancelOfWhatIsNotOpenChangesNothing(f *fixture) {
	f.ok("Settle", f.settle(f.grant(100, "a"), "succeeded"))
	settled := f.settled()
	for _, tick := range []int64{50, 100, 101} {
		f.cancel(protocol.CancelNotOpen, tick, "ops")
	}
	f.equal("settled", f.settled(), settled)
	f.equal("watermark", f.record().Watermark, int64(100))
	f.grant(101, "a")

	ask := func(c protocol.Cancel) error {
		_, err := f.store.Cancel(f.ctx, c)
		return err
	}
	if err := ask(protocol.Cancel{Name: f.other("unknown"), Tick: 100, By: "ops"}); !errors.Is(err, protocol.ErrUnknown) {
		f.Fatalf("Cancel without a record: %v, want protocol.ErrUnknown", err)
	}
	f.refused("tick 0", ask(protocol.Cancel{Name: f.name, By: "ops"}))
	f.refused("tick 2^53", ask(protocol.Cancel{Name: f.name, Tick: 1 << 53, By: "ops"}))
	f.refused("nobody", ask(protocol.Cancel{Name: f.name, Tick: 101}))
	f.refused("no name", ask(protocol.Cancel{Tick: 101, By: "ops"}))
	g := f.grant(102, "a")
	g.Note = protocol.NoteCancelled("a")
	f.refused("the store's note", f.settle(g, "succeeded"))
}

func watchNotifiesOfCancels(f *fixture) {
	f.grant(100, "a")
	woken := f.watch()
	f.cancel(protocol.CancelPending, 100, "ops")
	f.awaits(woken, f.name, protocol.Cancelling)
}
