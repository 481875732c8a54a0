package leasetest

import (
	"time"

	"github.com/solotick/solotick/internal/protocol"
)

// replacedOf is how the store settles a grant that has made room on its own account.
func replacedOf(g protocol.Grant) protocol.Settled {
	return protocol.Settled{
		Tick: g.Tick, Token: g.Token, Attempt: g.Attempt, Outcome: protocol.OutcomeReplaced, Holder: g.Holder,
		Note: protocol.NoteExpired,
	}
}

func overlapReplaceNotifiesTheHolder(f *fixture) {
	g := f.grant(100, "a")
	c := f.of(101, "b", replace)
	a := f.ask(protocol.Queued, c)
	f.equal("watermark", a.Watermark, int64(101))
	f.equal("holder", a.Holder, "a")
	f.between("left", a.Remaining, 1, kept(long))
	f.settledToo(a)
	g.TTL = 3 * long
	for range 2 {
		f.replaced(f.renew(g))
		f.between("left", f.ask(protocol.Queued, c).Remaining, 1, kept(long)) // it was not extended
	}
	f.equal("holder", f.ask(protocol.Held, f.of(100, "c")).Holder, "a")
	g.Note = "made room"
	f.ok("Settle", f.settle(g, protocol.OutcomeReplaced))
	f.ok("Settle again", f.settle(g, protocol.OutcomeReplaced))
	f.ask(protocol.Granted, c)
	f.fenced("Renew", f.renew(g))
	f.equal("settled", f.settled(), []protocol.Settled{{Tick: 100, Token: g.Token, Outcome: protocol.OutcomeReplaced}})
}

// A holder that has to make room may have just succeeded, or give it up.
func replacedHolderEndsAsItLikes(f *fixture) {
	g := f.grant(100, "a")
	c := f.of(101, "b", replace)
	f.ask(protocol.Queued, c)
	f.ok("Settle", f.settle(g, "succeeded"))
	next := grantOf(c, f.ask(protocol.Granted, c))

	c = f.of(102, "b", replace)
	f.ask(protocol.Queued, c)
	f.ok("Release", f.release(next))
	f.fenced("Renew of what is released", f.renew(next))
	f.settledToo(f.ask(protocol.Granted, c), replacedOf(next))
}

// replacing lets c, of 101, wait to replace the grant it returns, of 100, until the lease has run
// out.
func (f *fixture) replacing() (g protocol.Grant, c protocol.Claim) {
	f.Helper()
	for d := 4 * f.ttl; d <= long; d *= 2 { // however slow the machine
		f.again()
		g = f.grant(100, "a", ttl(d))
		c = f.of(101, "b", replace)
		a, err := f.store.Claim(f.ctx, c)
		f.ok("Claim", err)
		if a.Status == protocol.Queued {
			f.until(a.Now.Add(a.Remaining))
			return g, c
		}
	}
	f.Fatal("who has a lease was never waited for")
	return g, c
}

func deadHolderDelaysReplacementUntilItsLeaseEnds(f *fixture) {
	g, c := f.replacing()
	a := f.ask(protocol.Granted, c)
	f.equal("attempt", a.Attempt, 1)
	f.settledToo(a, replacedOf(g))
	f.settledToo(f.ask(protocol.Granted, c)) // the claim that settled it has reported it
	f.ask(protocol.Decided, f.of(100, "c"))
	f.fenced("Renew", f.renew(g))
	f.fenced("Release", f.release(g))
	f.fenced("Settle", f.settle(g, "succeeded"))
	f.fenced("Settle", f.settle(g, protocol.OutcomeReplaced)) // it is settled so, but not by the holder
}

func replacedIsNotTakenOver(f *fixture) {
	g, c := f.replacing()
	a := f.ask(protocol.Decided, f.of(100, "c"))
	f.settledToo(a, replacedOf(g))
	f.settledToo(f.ask(protocol.Decided, f.of(100, "c")))
	f.fenced("Settle", f.settle(g, "succeeded"))
	f.ask(protocol.Granted, c)

	// Nor does anybody who asks in another way wait for it.
	for _, ask := range []change{queue, overlap(protocol.OverlapSkip), overlap(protocol.OverlapAllow)} {
		g, c = f.replacing()
		f.settledToo(f.ask(protocol.Granted, f.of(c.Tick, "c", ask)), replacedOf(g))
	}

	// A holder that comes back before anybody asked ends it on its own.
	g, c = f.replacing()
	f.replaced(f.renew(g))
	f.ok("Settle", f.settle(g, "succeeded"))
	f.ask(protocol.Granted, c)
}

func replaceDoesNotWaitForTheFree(f *fixture) {
	g := f.expired(100, "a")
	f.settledToo(f.ask(protocol.Granted, f.of(101, "b", replace)), replacedOf(g))
	f.fenced("Settle", f.settle(g, "succeeded"))
	f.ask(protocol.Decided, f.of(100, "c"))

	f.again()
	g = f.grant(100, "a", takeovers(0))
	f.ok("Release", f.release(g))
	held := f.grant(101, "a", overlap(protocol.OverlapAllow))
	f.settledToo(f.ask(protocol.Queued, f.of(102, "b", replace)), replacedOf(g))
	f.fenced("Settle", f.settle(g, "succeeded"))
	f.replaced(f.renew(held))
}

func replaceTakesThePlaceOfWhatWaits(f *fixture) {
	g := f.grant(100, "a")
	first, second := f.of(101, "b", queue), f.of(102, "c", replace)
	f.ask(protocol.Queued, first)
	f.ok("Renew", f.renew(g))
	f.settledToo(f.ask(protocol.Queued, second), skippedAs(101, protocol.OutcomeReplaced, "b", protocol.NoteNewer))
	f.ask(protocol.Decided, first)
	f.replaced(f.renew(g))
	f.ok("Settle", f.settle(g, protocol.OutcomeReplaced))

	// And when there is nothing else.
	f.settledToo(f.ask(protocol.Granted, f.of(103, "d", replace)), skippedAs(102, protocol.OutcomeReplaced, "c", protocol.NoteNewer))
}

// A tick that waits replaces others only for a claim with that overlap.
func waitingReplacesWhenItIsClaimedSo(f *fixture) {
	g := f.grant(100, "a")
	f.ask(protocol.Queued, f.of(101, "b", queue))
	f.ok("Renew", f.renew(g))
	f.ask(protocol.Queued, f.of(101, "b", replace))
	f.replaced(f.renew(g))
}

func plainLocksAreNotReplaced(f *fixture) {
	held := f.grant(0, "a")
	g := f.grant(100, "b", replace)
	f.ok("Renew", f.renew(held))
	f.ask(protocol.Queued, f.of(101, "b", replace))
	f.ok("Renew", f.renew(held))
	f.ok("Settle", f.settle(g, protocol.OutcomeReplaced))
	f.ok("Release", f.release(held))

	free := f.expired(0, "a")
	f.settledToo(f.ask(protocol.Granted, f.of(101, "b", replace)))
	f.ok("Renew", f.renew(free))
}

func watchNotifiesWhoIsReplaced(f *fixture) {
	woken := f.watch()
	f.grant(100, "a")
	f.ask(protocol.Queued, f.of(101, "b", replace))
	f.awaits(woken, f.name, 0)
}

func newerIsNotReplacedByOlder(f *fixture) {
	newer := f.granted(f.open())
	c := f.of(100, "b", replace)
	f.equal("holder", f.ask(protocol.Queued, c).Holder, newer.Holder)
	f.ok("Renew", f.renew(newer))
	f.ok("Settle", f.settle(newer, "succeeded"))
	g := grantOf(c, f.ask(protocol.Granted, c))
	f.ok("Renew", f.renew(g))
}

// Ticks that are caught up come after a newer one that was triggered.
func onlyWhatIsGrantedAlreadyMakesRoom(f *fixture) {
	g := f.grant(100, "a")
	newer := f.open()
	c := f.of(newer, "b", replace, onlyOpen)
	f.ask(protocol.Queued, c)
	f.replaced(f.renew(g))
	f.ok("Settle", f.settle(g, protocol.OutcomeReplaced))
	f.ok("Settle", f.settle(grantOf(c, f.ask(protocol.Granted, c)), "succeeded"))

	g = f.grant(101, "a", replace)
	f.ok("Renew", f.renew(g))
	later := f.of(102, "b", replace)
	f.ask(protocol.Queued, later)
	f.replaced(f.renew(g))
	f.ok("Settle", f.settle(g, protocol.OutcomeReplaced))
	f.ok("Renew", f.renew(grantOf(later, f.ask(protocol.Granted, later))))
	g = f.expired(103, "a")
	f.equal("attempt", f.grant(103, "b").Attempt, g.Attempt+1)
}

// Others have to make room later, and for an older one.
func whoIsReplacedStaysReplaced(f *fixture) {
	old := f.granted(f.open())
	newer := f.open()
	f.ask(protocol.Queued, f.of(newer, "b", replace, onlyOpen))
	f.replaced(f.renew(old))
	beside := f.grant(100, "c", overlap(protocol.OverlapAllow))
	f.ok("Renew", f.renew(beside))
	f.ask(protocol.Queued, f.of(101, "d", replace))
	f.replaced(f.renew(beside))
	f.replaced(f.renew(old))
}

func forgottenIsReplacedAllTheSame(f *fixture) {
	g := f.grant(100, "a")
	f.forgetAll()
	f.until(time.UnixMicro(g.Token))
	f.sync(protocol.Sync{Name: f.name, Watermark: 100})
	held := f.grant(101, "b")
	c := f.of(102, "c", replace)
	f.ask(protocol.Queued, c)
	for range 2 {
		f.replaced(f.renew(g))
	}
	f.ok("Settle", f.settle(g, protocol.OutcomeReplaced))
	f.replaced(f.renew(held))
	f.ok("Settle", f.settle(held, protocol.OutcomeReplaced))
	f.ask(protocol.Granted, c)
}
