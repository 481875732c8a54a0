package leasetest

import (
	"fmt"

	"github.com/solotick/solotick/internal/protocol"
)

func settledIsNeverGrantedAgain(f *fixture) {
	c := f.of(100, "a")
	g := grantOf(c, f.ask(protocol.Granted, c))
	f.ok("Settle", f.settle(g, "failed"))
	f.ask(protocol.Decided, c)
	for range protocol.Remembered + 2 { // long after the store has stopped to remember it one by one
		g := f.grant(f.record().Watermark+1, "b")
		f.ok("Settle", f.settle(g, "succeeded"))
		f.ask(protocol.Decided, f.of(g.Tick, "a"))
		f.ask(protocol.Decided, f.of(100, "b"))
	}
	f.ask(protocol.Decided, c)
	settled := f.settled()
	if len(settled) < protocol.Remembered {
		f.Fatalf("%d settled ticks are remembered, want at least %d", len(settled), protocol.Remembered)
	}
	for i, s := range settled[1:] {
		f.above("newest last: settled", s.Tick, settled[i].Tick)
	}
}

func settledOnlyOnce(f *fixture) {
	g := f.grant(100, "a")
	f.ok("Settle", f.settle(g, "failed"))
	f.fenced("Settle with another outcome", f.settle(g, "succeeded"))
	f.fenced("Renew", f.renew(g))
	f.fenced("Release", f.release(g))
	f.equal("settled", f.settled(), []protocol.Settled{{Tick: 100, Token: g.Token, Outcome: "failed"}})
	f.equal("open", len(f.record().Open), 0)
}

func repeatedSettleSaysDone(f *fixture) {
	g := f.grant(100, "a")
	f.ok("Settle", f.settle(g, "failed"))
	for i := range protocol.Remembered {
		f.ok("Settle again", f.settle(g, "failed"))
		if i < protocol.Remembered-1 {
			f.ok("Settle", f.settle(f.grant(int64(200+i), "b"), "succeeded"))
		}
	}
}

func repeatedReleaseSaysDone(f *fixture) {
	for _, tick := range []int64{100, 0} {
		g := f.grant(tick, "a")
		f.ok("Release", f.release(g))
		f.ok("Release again", f.release(g))
		next := f.grant(tick, "b")
		f.fenced("Release of what another has taken since", f.release(g))
		f.ask(protocol.Held, f.of(tick, "c"))
		f.ok("Release", f.release(next))
	}
}

func releasedCanStillSettle(f *fixture) {
	g := f.grant(100, "a")
	f.ok("Release", f.release(g))
	f.ok("Settle", f.settle(g, "succeeded"))
	f.ask(protocol.Decided, f.of(100, "b"))
}

func expiredButNotTakenOverCanSettle(f *fixture) {
	g := f.expired(100, "a")
	f.ok("Settle", f.settle(g, "succeeded"))
	f.ask(protocol.Decided, f.of(100, "b"))

	g = f.expired(101, "a")
	f.ok("Release", f.release(g))
	f.equal("takeovers", f.grant(101, "b").Takeovers, g.Takeovers)
}

func fencedHolderCannotSettleRenewRelease(f *fixture) {
	old := f.expired(100, "a")
	current := f.grant(100, "b")
	refused := func(when string) {
		f.Helper()
		f.fenced("Renew "+when, f.renew(old))
		f.fenced("Release "+when, f.release(old))
		f.fenced("Settle "+when, f.settle(old, "succeeded"))
	}
	refused("while another holds it")
	f.equal("holder", f.ask(protocol.Held, f.of(100, "c")).Holder, "b")
	f.ok("Renew", f.renew(current))
	f.ok("Settle", f.settle(current, "failed"))
	refused("after another has settled it")
	for i := range protocol.Remembered + 1 {
		f.ok("Settle", f.settle(f.grant(int64(200+i), "b"), "succeeded"))
	}
	refused(fmt.Sprintf("after another has settled it and %d others", protocol.Remembered+1))

	// Not even the same holder under the same request.
	c := f.of(300, "a", ttl(f.ttl))
	a := f.ask(protocol.Granted, c)
	f.until(a.Now.Add(a.Remaining + f.ttl)) // when it is also over for a store that is not sure of its own clock
	old = grantOf(c, a)
	c.TTL = long
	current = grantOf(c, f.ask(protocol.Granted, c))
	f.above("token", current.Token, old.Token)
	refused("while itself holds it again")
	f.ok("Settle", f.settle(current, "succeeded"))
}

func lostHolderCannotSettle(f *fixture) {
	g := f.expired(100, "a", takeovers(0))
	f.ask(protocol.Lost, f.of(100, "b"))
	f.fenced("Settle of what was settled as lost", f.settle(g, "succeeded"))

	g = f.expired(200, "a", takeovers(0))
	f.grant(201, "b")
	f.fenced("Settle of what was settled as lost on the way", f.settle(g, "succeeded"))
	f.fenced("Renew of what was settled as lost on the way", f.renew(g))
	for _, s := range f.settled() {
		f.equal("outcome", s.Outcome, protocol.OutcomeLost)
	}
}
