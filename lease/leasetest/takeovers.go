package leasetest

import (
	"time"

	"github.com/solotick/solotick/internal/protocol"
)

func expiredTickIsTakenOver(f *fixture) {
	first := f.expired(100, "a", takeovers(2))
	f.equal("takeovers", first.Takeovers, 2)
	second := f.grant(100, "b")
	f.above("token", second.Token, first.Token)
	f.equal("attempt", second.Attempt, 2)
	f.equal("takeovers", second.Takeovers, 1)
	f.equal("holder", f.ask(protocol.Held, f.of(100, "c")).Holder, "b")

	// Later ticks do not stand in the way.
	g := f.expired(200, "a")
	f.grant(300, "b")
	f.equal("attempt", f.grant(200, "c").Attempt, 2)
	f.fenced("Settle by who was taken over", f.settle(g, "succeeded"))
	f.equal("watermark", f.record().Watermark, int64(300))
}

func takeoversOfTheFirstGrantStayInForce(f *fixture) {
	f.expired(100, "a", takeovers(1))
	g := f.expired(100, "b", takeovers(9))
	f.equal("takeovers", g.Takeovers, 0)
	f.ask(protocol.Lost, f.of(100, "c", takeovers(9)))

	// Whatever the holder says of them.
	g = f.grant(101, "a", takeovers(1))
	g.Takeovers = 9
	f.ok("Renew", f.renew(g))
	f.ok("Release", f.release(g))
	f.equal("takeovers", f.grant(101, "b", takeovers(9)).Takeovers, 1)
}

func takeoverLimitSettlesAsLost(f *fixture) {
	first := f.expired(100, "a", takeovers(1))
	second := f.expired(100, "b")
	f.equal("attempt", second.Attempt, 2)
	f.ask(protocol.Lost, f.of(100, "c"))
	f.ask(protocol.Decided, f.of(100, "d"))
	f.equal("settled", f.settled(), []protocol.Settled{{Tick: 100, Token: second.Token, Outcome: protocol.OutcomeLost}})
	for _, g := range []protocol.Grant{first, second} {
		f.fenced("Renew", f.renew(g))
		f.fenced("Release", f.release(g))
		f.fenced("Settle", f.settle(g, "succeeded"))
	}
	f.ask(protocol.Decided, f.of(100, "c"))
}

func atMostOnceIsNeverGrantedTwice(f *fixture) {
	for i, again := range []struct {
		holder, request string
	}{{"b", "other"}, {"a", "other"}, {"a", "first"}} {
		n := int64(100 + i)
		f.expired(n, "a", takeovers(0), request("first"))
		f.ask(protocol.Lost, f.of(n, again.holder, request(again.request)))
		f.ask(protocol.Decided, f.of(n, "c"))
	}

	// A settle may come late, but before anybody asked: then it is not lost.
	g := f.expired(200, "a", takeovers(0))
	f.ok("Settle", f.settle(g, "succeeded"))
	f.ask(protocol.Decided, f.of(200, "b"))
}

func otherLostTicksAreSettledOnTheWay(f *fixture) {
	once := f.expired(100, "a", takeovers(0))
	c := f.of(101, "a", ttl(f.ttl), takeovers(1))
	a := f.ask(protocol.Granted, c)
	f.equal("lost on the way", lostOf(a), []int64{100})
	f.equal("other open ticks", len(a.Open), 0)
	f.until(a.Now.Add(a.Remaining))
	f.fenced("Settle", f.settle(once, "succeeded"))
	f.equal("settled", f.settled(), []protocol.Settled{{Tick: 100, Token: once.Token, Outcome: protocol.OutcomeLost}})

	// A tick that may be granted again is not lost, and only the claim that settled a lost one
	// reports it.
	a = f.ask(protocol.Granted, f.of(102, "b"))
	f.equal("lost on the way", len(a.Settled), 0)
	if len(a.Open) != 1 || a.Open[0].Tick != 101 || a.Open[0].Remaining > 0 {
		f.Fatalf("the other open ticks: %+v, want 101, free", a.Open)
	}

	// A claim with skip or wait reports it, too, and neither skips nor waits for it.
	for i, o := range []protocol.Overlap{protocol.OverlapSkip, protocol.OverlapWait} {
		f.name = f.other("x")
		f.sync(protocol.Sync{Name: f.name})
		n := int64(200 + 10*i)
		f.expired(n, "a", takeovers(0))
		a := f.ask(protocol.Granted, f.of(n+1, "b", overlap(o)))
		f.equal("lost on the way", lostOf(a), []int64{n})
	}
}

func heldIsNotLostOnTheWay(f *fixture) {
	once, lock := f.grant(100, "a", takeovers(0)), f.expired(0, "a", takeovers(0))
	for i, o := range []protocol.Overlap{protocol.OverlapWait, protocol.OverlapSkip, protocol.OverlapAllow} {
		want := []protocol.Status{protocol.Busy, protocol.Skipped, protocol.Granted}[i]
		a := f.ask(want, f.of(int64(200+i), "b", overlap(o)))
		f.equal("lost on the way", len(a.Settled), 0)
		f.equal("other open ticks", len(a.Open), 2)
	}
	f.ok("Renew", f.renew(once))
	f.ok("Settle", f.settle(once, "succeeded"))
	f.ok("Release", f.release(lock))

	// A claim that has to wait for another reports the lost one all the same, once.
	f.grant(300, "a")
	f.expired(301, "a", takeovers(0))
	c := f.of(302, "b", overlap(protocol.OverlapWait))
	f.equal("lost on the way", lostOf(f.ask(protocol.Busy, c)), []int64{301})
	f.equal("lost on the way", len(f.ask(protocol.Busy, c).Settled), 0)
	f.ask(protocol.Decided, f.of(301, "a"))
	f.expired(303, "a", takeovers(0))
	c = f.of(304, "b", overlap(protocol.OverlapSkip))
	f.equal("lost on the way", lostOf(f.ask(protocol.Skipped, c)), []int64{303})
	f.ask(protocol.Decided, f.of(303, "a"))
}

func releasedIsGrantedAtOnceAndDoesNotCount(f *fixture) {
	g := f.grant(100, "a", takeovers(0))
	for attempt := 2; attempt < 5; attempt++ {
		f.ok("Release", f.release(g))
		next := f.grant(100, "b")
		f.equal("attempt", next.Attempt, attempt)
		f.equal("takeovers", next.Takeovers, 0)
		f.above("token", next.Token, g.Token)
		g = next
	}
	// Also when the lease had run out before it was released.
	g = f.expired(101, "a", takeovers(0))
	f.ok("Release", f.release(g))
	f.grant(101, "b")
}

// This is the one answer that a repeated claim does not get again. A store does not remember which
// claim it was that settled a tick as lost. It only decides which claim reports it.
func repeatedLostSaysDecided(f *fixture) {
	f.expired(100, "a", takeovers(0))
	c := f.of(100, "b")
	f.ask(protocol.Lost, c)
	f.ask(protocol.Decided, c)
}

func takeoverNamesTheFormerHolder(f *fixture) {
	held := f.grant(99, "a")
	f.equal("while it is held", f.ask(protocol.Held, f.of(99, "b")).Former, (*protocol.Former)(nil))
	f.ok("Settle", f.settle(held, "succeeded"))
	for _, tick := range []int64{100, 0} {
		first := f.grant(tick, "a", ttl(f.ttl))
		f.until(f.now().Add(f.ttl))
		c := f.of(tick, "b")
		a := f.ask(protocol.Granted, c)
		if a.Former == nil {
			f.Fatal("the former holder is not named")
		}
		f.equal("former holder", []any{a.Former.Holder, a.Former.Token, a.Former.Attempt}, []any{"a", first.Token, 1})
		f.between("its lease", a.Former.Ended.Sub(time.UnixMicro(first.Token)), f.ttl/2, time.Hour)
		if a.Former.Ended.After(a.Now) {
			f.Fatalf("its lease ended at %s, and was taken over at %s", a.Former.Ended, a.Now)
		}
		f.equal("the same again", f.ask(protocol.Granted, c).Token, a.Token)
		if tick != 0 {
			f.ok("Release", f.release(grantOf(c, a)))
			again := f.ask(protocol.Granted, f.of(tick, "c"))
			f.equal("after a release", again.Former, &protocol.Former{Holder: "b", Token: a.Token, Attempt: 2})
		}
	}
	f.equal("a first grant", f.ask(protocol.Granted, f.of(101, "a")).Former, (*protocol.Former)(nil))
}
