package leasetest

import (
	"time"

	"github.com/solotick/solotick/internal/protocol"
)

func overlapAllowGrantsAllTheSame(f *fixture) {
	first := f.grant(100, "a")
	second := f.grant(101, "b", overlap(protocol.OverlapAllow))
	f.equal("attempt", second.Attempt, 1)
	for _, g := range []protocol.Grant{first, second} {
		f.ok("Renew", f.renew(g))
		f.ok("Settle", f.settle(g, "succeeded"))
	}
}

func overlapSkipSettlesAsSkipped(f *fixture) {
	g := f.grant(100, "a")
	a := f.ask(protocol.Skipped, f.of(101, "b", overlap(protocol.OverlapSkip)))
	f.equal("watermark", a.Watermark, int64(101))
	if len(a.Open) != 1 || a.Open[0].Tick != 100 || a.Open[0].Holder != "a" || a.Open[0].Token != g.Token {
		f.Fatalf("the other open ticks: %+v, want 100, held by a", a.Open)
	}
	f.ask(protocol.Decided, f.of(101, "c"))
	f.equal("settled", f.settled(), []protocol.Settled{{Tick: 101, Outcome: protocol.OutcomeSkipped}})
	f.ok("Settle", f.settle(g, "succeeded"))
	f.ask(protocol.Decided, f.of(101, "c", overlap(protocol.OverlapAllow)))
	f.grant(102, "b", overlap(protocol.OverlapSkip))
}

func repeatedSkipSaysSkipped(f *fixture) {
	g := f.grant(100, "a")
	c := f.of(101, "b", overlap(protocol.OverlapSkip))
	f.ask(protocol.Skipped, c)
	f.ask(protocol.Skipped, c)
	f.ok("Settle", f.settle(g, "succeeded"))
	f.ask(protocol.Skipped, c)
	for i := range protocol.Remembered - 2 {
		f.ok("Settle", f.settle(f.grant(int64(200+i), "a"), "succeeded"))
	}
	f.ask(protocol.Skipped, c)
	f.equal("settled", len(f.settled()), protocol.Remembered)
}

func overlapWaitDecidesNothing(f *fixture) {
	f.grant(50, "z", ttl(long/2))
	g := f.grant(100, "a")
	c := f.of(101, "b", overlap(protocol.OverlapWait))
	a := f.ask(protocol.Busy, c)
	f.equal("watermark", a.Watermark, int64(100))
	f.equal("holder", a.Holder, "a") // the oldest holder
	f.between("left", a.Remaining, long/2+time.Second, kept(long))
	f.ask(protocol.Busy, c)
	f.ok("Settle", f.settle(g, "succeeded"))
	f.equal("holder", f.ask(protocol.Busy, c).Holder, "z")
	f.equal("watermark", f.record().Watermark, int64(100))
	f.ask(protocol.Granted, f.of(101, "c"))
}

func overlapMindsWhatMayBeTakenOver(f *fixture) {
	free := map[string]func() protocol.Grant{
		"expired": func() protocol.Grant { return f.expired(100, "a") },
		"released": func() protocol.Grant {
			g := f.grant(100, "a", takeovers(0))
			f.ok("Release", f.release(g))
			return g
		},
	}
	for how, freeing := range free {
		f.name = f.other(how)
		f.sync(protocol.Sync{Name: f.name})
		g := freeing()
		a := f.ask(protocol.Busy, f.of(101, "b", overlap(protocol.OverlapWait)))
		f.equal("left", a.Remaining, time.Duration(0))
		f.ask(protocol.Skipped, f.of(101, "b", overlap(protocol.OverlapSkip)))
		f.equal("attempt", f.grant(100, "b", overlap(protocol.OverlapSkip)).Attempt, 2)
		f.fenced("Settle", f.settle(g, "succeeded"))
	}
}

func overlapDoesNotMindPlainLocks(f *fixture) {
	f.grant(0, "a")
	f.grant(100, "b", overlap(protocol.OverlapSkip))
	f.ask(protocol.Held, f.of(0, "c", overlap(protocol.OverlapSkip)))
}
