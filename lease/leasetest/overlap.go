package leasetest

import (
	"time"

	"github.com/solotick/solotick/lease"
)

func overlapAllowGrantsAllTheSame(f *fixture) {
	first := f.grant(100, "a")
	second := f.grant(101, "b", overlap(lease.OverlapAllow))
	f.equal("attempt", second.Attempt, 1)
	for _, g := range []lease.Grant{first, second} {
		f.ok("Renew", f.renew(g))
		f.ok("Settle", f.settle(g, "succeeded"))
	}
}

func overlapSkipSettlesAsSkipped(f *fixture) {
	g := f.grant(100, "a")
	a := f.ask(lease.Skipped, f.of(101, "b", overlap(lease.OverlapSkip)))
	f.equal("mark", a.Mark, int64(101))
	if len(a.Open) != 1 || a.Open[0].Occasion != 100 || a.Open[0].Holder != "a" || a.Open[0].Token != g.Token {
		f.Fatalf("the other open occasions: %+v, want 100, held by a", a.Open)
	}
	f.ask(lease.Decided, f.of(101, "c"))
	f.equal("settled", f.settled(), []lease.Settled{{Occasion: 101, Outcome: lease.OutcomeSkipped}})
	f.ok("Settle", f.settle(g, "succeeded"))
	f.ask(lease.Decided, f.of(101, "c", overlap(lease.OverlapAllow)))
	f.grant(102, "b", overlap(lease.OverlapSkip))
}

func repeatedSkipSaysSkipped(f *fixture) {
	g := f.grant(100, "a")
	c := f.of(101, "b", overlap(lease.OverlapSkip))
	f.ask(lease.Skipped, c)
	f.ask(lease.Skipped, c)
	f.ok("Settle", f.settle(g, "succeeded"))
	f.ask(lease.Skipped, c)
	for i := range lease.Remembered - 2 {
		f.ok("Settle", f.settle(f.grant(int64(200+i), "a"), "succeeded"))
	}
	f.ask(lease.Skipped, c)
	f.equal("settled", len(f.settled()), lease.Remembered)
}

func overlapWaitDecidesNothing(f *fixture) {
	f.grant(50, "z", term(long/2))
	g := f.grant(100, "a")
	c := f.of(101, "b", overlap(lease.OverlapWait))
	a := f.ask(lease.Busy, c)
	f.equal("mark", a.Mark, int64(100))
	f.equal("holder", a.Holder, "a") // who has it for longest
	f.between("left", a.Left, long/2+time.Second, kept(long))
	f.ask(lease.Busy, c)
	f.ok("Settle", f.settle(g, "succeeded"))
	f.equal("holder", f.ask(lease.Busy, c).Holder, "z")
	f.equal("mark", f.record().Mark, int64(100))
	f.ask(lease.Granted, f.of(101, "c"))
}

func overlapMindsWhatMayBeTakenOver(f *fixture) {
	free := map[string]func() lease.Grant{
		"expired": func() lease.Grant { return f.expired(100, "a") },
		"released": func() lease.Grant {
			g := f.grant(100, "a", takeovers(0))
			f.ok("Release", f.release(g))
			return g
		},
	}
	for how, freeing := range free {
		f.name = f.other(how)
		f.sync(lease.Sync{Name: f.name})
		g := freeing()
		a := f.ask(lease.Busy, f.of(101, "b", overlap(lease.OverlapWait)))
		f.equal("left", a.Left, time.Duration(0))
		f.ask(lease.Skipped, f.of(101, "b", overlap(lease.OverlapSkip)))
		f.equal("attempt", f.grant(100, "b", overlap(lease.OverlapSkip)).Attempt, 2)
		f.fenced("Settle", f.settle(g, "succeeded"))
	}
}

func overlapDoesNotMindPlainLocks(f *fixture) {
	f.grant(0, "a")
	f.grant(100, "b", overlap(lease.OverlapSkip))
	f.ask(lease.Held, f.of(0, "c", overlap(lease.OverlapSkip)))
}
