package leasetest

import (
	"time"

	"github.com/solotick/solotick/internal/protocol"
)

var (
	queue   = overlap(protocol.OverlapQueue)
	replace = overlap(protocol.OverlapReplace)
)

// skippedAs is how a tick that never was granted was settled.
func skippedAs(tick int64, outcome protocol.Outcome, holder, note string) protocol.Settled {
	return protocol.Settled{Tick: tick, Outcome: outcome, Holder: holder, Note: note}
}

// settledToo wants that the claim has settled nothing besides but want.
func (f *fixture) settledToo(a protocol.Answer, want ...protocol.Settled) {
	f.Helper()
	var got []protocol.Settled
	for _, s := range a.Settled {
		f.between("settled since", a.Now.Sub(s.At), 0, time.Second) // a round trip, where the rules are applied before it
		s.At = time.Time{}
		got = append(got, s)
	}
	f.equal("what the claim has settled besides", got, want)
}

func overlapQueueWaits(f *fixture) {
	g := f.grant(100, "a")
	c := f.of(101, "b", queue)
	for range 2 {
		a := f.ask(protocol.Queued, c)
		f.equal("watermark", a.Watermark, int64(101))
		f.equal("holder", a.Holder, "a")
		f.between("left", a.Remaining, 1, kept(long))
		f.equal("other open ticks", len(a.Open), 1)
		f.settledToo(a)
	}
	f.ask(protocol.Queued, f.of(101, "c", queue)) // it is still b's
	open := f.record().Open
	f.equal("open", len(open), 2)
	f.equal("what waits", open[1], protocol.Open{Tick: 101, Holder: "b"})
	f.ok("Renew", f.renew(g))
	f.ok("Settle", f.settle(g, "succeeded"))

	// The first claim is granted it.
	next := f.grant(101, "c", queue, takeovers(2))
	f.equal("attempt", next.Attempt, 1)
	f.equal("takeovers", next.Takeovers, 2)
	f.above("token", next.Token, g.Token)
	f.equal("holder", f.ask(protocol.Held, c).Holder, "c")
	f.ok("Settle", f.settle(next, "succeeded"))
	f.ask(protocol.Decided, c)
}

func newestInTheQueueWins(f *fixture) {
	g := f.grant(100, "a")
	first, second := f.of(101, "b", queue), f.of(102, "c", queue)
	f.ask(protocol.Queued, first)
	skipped := skippedAs(101, protocol.OutcomeSkipped, "b", protocol.NoteNewer)
	f.settledToo(f.ask(protocol.Queued, second), skipped)
	f.settledToo(f.ask(protocol.Queued, second)) // only the claim that settled it reports it
	f.ask(protocol.Decided, first)
	f.equal("open", len(f.record().Open), 2)

	f.ok("Settle", f.settle(g, "succeeded"))
	f.ask(protocol.Granted, second)
	f.equal("settled", f.settled(), []protocol.Settled{
		{Tick: 101, Outcome: protocol.OutcomeSkipped}, {Tick: 100, Token: g.Token, Outcome: "succeeded"},
	})
}

func queueTakesThePlaceOfWhatOnlyWaits(f *fixture) {
	g := f.grant(100, "a")
	f.ask(protocol.Queued, f.of(101, "b", queue))
	f.ok("Settle", f.settle(g, "succeeded"))
	a := f.ask(protocol.Granted, f.of(102, "c", queue))
	f.equal("attempt", a.Attempt, 1)
	f.settledToo(a, skippedAs(101, protocol.OutcomeSkipped, "b", protocol.NoteNewer))
	f.equal("other open ticks", len(a.Open), 0)
}

func queueWaitsForWhatMayBeTakenOver(f *fixture) {
	for _, free := range []func() protocol.Grant{
		func() protocol.Grant { return f.expired(100, "a") },
		func() protocol.Grant {
			g := f.grant(100, "a", takeovers(0))
			f.ok("Release", f.release(g))
			return g
		},
	} {
		free()
		c := f.of(101, "b", queue)
		for range 2 {
			a := f.ask(protocol.Queued, c)
			f.equal("holder", a.Holder, "a")
			f.equal("left", a.Remaining, time.Duration(0))
		}
		g := f.grant(100, "c", queue)
		f.equal("attempt", g.Attempt, 2)
		f.equal("holder", f.ask(protocol.Queued, c).Holder, "c")
		f.ok("Settle", f.settle(g, "succeeded"))
		f.ask(protocol.Granted, c)
		f.again()
	}

	// But not for what may not.
	g := f.expired(100, "a", takeovers(0))
	f.settledToo(f.ask(protocol.Granted, f.of(101, "b", queue)), protocol.Settled{
		Tick: 100, Token: g.Token, Attempt: 1, Outcome: protocol.OutcomeLost, Holder: "a", Note: protocol.NoteExpired,
	})

	// Nor when the one that waits is claimed again.
	f.again()
	held := f.grant(99, "a")
	f.grant(100, "a", ttl(f.ttl), takeovers(0), request("once"))
	c := f.of(101, "b", queue)
	f.ask(protocol.Queued, c)
	f.until(f.now().Add(f.ttl))
	f.ok("Settle", f.settle(held, "succeeded"))
	f.ask(protocol.Granted, c)
	f.ask(protocol.Decided, f.of(100, "c"))
}

func waitingIsGrantedAtOnceWithAllow(f *fixture) {
	g := f.grant(100, "a")
	f.ask(protocol.Queued, f.of(101, "b", queue))
	for _, o := range []protocol.Overlap{protocol.OverlapSkip, protocol.OverlapWait} {
		f.ask(protocol.Queued, f.of(101, "c", overlap(o)))
	}
	next := f.grant(101, "c", overlap(protocol.OverlapAllow))
	f.ok("Renew", f.renew(g))
	f.ok("Renew", f.renew(next))
	f.ask(protocol.Held, f.of(101, "b", queue))
}

func othersMindWhatWaits(f *fixture) {
	g := f.grant(100, "a")
	f.ask(protocol.Queued, f.of(101, "b", queue))
	f.ok("Settle", f.settle(g, "succeeded"))
	f.ask(protocol.Skipped, f.of(102, "c", overlap(protocol.OverlapSkip)))
	a := f.ask(protocol.Busy, f.of(103, "c", overlap(protocol.OverlapWait)))
	f.equal("holder", a.Holder, "b")
	f.equal("left", a.Remaining, time.Duration(0))
	g = f.grant(104, "c", overlap(protocol.OverlapAllow))
	f.equal("holder", f.ask(protocol.Queued, f.of(101, "b", queue)).Holder, "c")
	f.ok("Settle", f.settle(g, "succeeded"))
	f.grant(101, "b", queue)
}

func queueDoesNotMindPlainLocks(f *fixture) {
	f.grant(0, "a")
	g := f.grant(100, "b", queue)
	f.ask(protocol.Held, f.of(0, "c", queue))
	f.ask(protocol.Queued, f.of(101, "b", queue))
	f.ok("Settle", f.settle(g, "succeeded"))
	f.grant(101, "b", queue)
}

// Nobody has a grant of what waits, whatever it says.
func waitingCannotBeRenewedOrSettled(f *fixture) {
	g := f.grant(100, "a")
	c := f.of(101, "b", queue)
	f.ask(protocol.Queued, c)
	forged := grantOf(c, protocol.Answer{Token: g.Token, Attempt: 1})
	f.fenced("Renew", f.renew(forged))
	f.fenced("Release", f.release(forged))
	f.fenced("Settle", f.settle(forged, "succeeded"))
	f.ask(protocol.Queued, c)
}

func watchNotifiesWhoQueues(f *fixture) {
	woken := f.watch()
	g := f.grant(100, "a")
	c := f.of(101, "b", queue)
	f.ask(protocol.Queued, c)
	f.ok("Settle", f.settle(g, "succeeded"))
	f.awaits(woken, f.name, 0)
	f.ask(protocol.Granted, c)
}
