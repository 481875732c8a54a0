package leasetest

import (
	"time"

	"github.com/solotick/solotick/internal/protocol"
)

func tokensRiseWhenTheRecordWasLost(f *fixture) {
	g, lock := f.grant(100, "a"), f.grant(0, "a")
	last := max(g.Token, lock.Token)
	f.forgetAll()
	f.until(time.UnixMicro(last)) // tokens run ahead of a clock that stands still
	f.sync(protocol.Sync{Name: f.name, Known: 100})
	for n := range int64(3) {
		g := f.grant(101+n, "a")
		f.above("token", g.Token, last)
		last = g.Token
	}
	f.above("token", f.grant(0, "b").Token, last)
}

func forgottenGrantIsWrittenBackByRenew(f *fixture) {
	f.expired(100, "a", takeovers(2))
	g := f.grant(100, "b")
	g.Attempt = 4
	f.forgetAll()
	f.ok("Renew", f.renew(g))
	f.ok("Renew", f.renew(g))
	f.ask(protocol.Unknown, f.of(101, "c")) // what else was decided is still unknown
	r := f.sync(protocol.Sync{Name: f.name, Watermark: 90})
	f.equal("made", r.Made, true)
	f.equal("watermark", r.Watermark, int64(100)) // since 100 was decided
	f.equal("token", r.Token, g.Token)
	a := f.ask(protocol.Held, f.of(100, "c"))
	f.equal("holder", a.Holder, "b")
	f.between("left", a.Remaining, 1, kept(long))

	// Nothing of it is lost.
	g.TTL = f.ttl
	f.ok("Renew", f.renew(g))
	f.until(f.now().Add(f.ttl))
	next := f.grant(100, "c")
	f.equal("attempt", next.Attempt, 5)
	f.equal("takeovers", next.Takeovers, 0)
	f.above("token", next.Token, g.Token)
	f.fenced("Renew", f.renew(g))
}

func forgottenGrantIsWrittenBackBySettle(f *fixture) {
	g := f.grant(100, "a")
	f.forgetAll()
	f.ok("Settle", f.settle(g, "succeeded"))
	f.ok("Settle again", f.settle(g, "succeeded"))
	r := f.sync(protocol.Sync{Name: f.name, Watermark: 90}) // by someone who does not know of 100
	f.equal("watermark", r.Watermark, int64(100))
	f.equal("settled", f.settled(), []protocol.Settled{{Tick: 100, Token: g.Token, Outcome: "succeeded"}})
	f.ask(protocol.Decided, f.of(100, "b"))
	f.fenced("Renew", f.renew(g))
	f.above("token", f.grant(101, "b").Token, g.Token)
}

func forgottenGrantIsWrittenBackByRelease(f *fixture) {
	g := f.grant(100, "a", takeovers(0))
	f.forgetAll()
	f.sync(protocol.Sync{Name: f.name, Watermark: 100})
	f.ok("Release", f.release(g))
	f.ok("Release again", f.release(g))
	f.fenced("Renew", f.renew(g))
	next := f.grant(100, "b")
	f.equal("attempt", next.Attempt, 2)
	f.above("token", next.Token, g.Token)
	f.fenced("Release", f.release(g))
}

func forgottenPlainLockIsWrittenBack(f *fixture) {
	g := f.grant(0, "a")
	f.forgetAll()
	f.ok("Renew", f.renew(g))
	f.equal("holder", f.ask(protocol.Held, f.of(0, "b")).Holder, "a")
	f.ok("Release", f.release(g))
	f.fenced("Renew", f.renew(g))

	g = f.grant(0, "a")
	f.forgetAll()
	f.ok("Release", f.release(g))
	f.fenced("Renew", f.renew(g))
	f.above("token", f.grant(0, "b").Token, g.Token)

	// The holder that was granted it since the store forgot keeps it.
	g = f.grant(0, "a", named(f.other("x")))
	f.forgetAll()
	f.until(time.UnixMicro(g.Token))
	next := f.grant(0, "b", named(g.Name))
	f.fenced("Renew", f.renew(g))
	f.fenced("Release", f.release(g))
	f.ok("Renew", f.renew(next))
}

func forgottenGrantsAreWrittenBackInAnyOrder(f *fixture) {
	var grants []protocol.Grant
	for n := range int64(5) {
		grants = append(grants, f.grant(100+n, "a"))
	}
	f.forgetAll()
	f.sync(protocol.Sync{Name: f.name, Watermark: 100})
	for i, n := range []int{2, 1, 4, 0, 3} {
		f.ok("Renew", f.renew(grants[n]))
		f.equal("open", len(f.record().Open), i+1)
	}
	f.equal("watermark", f.record().Watermark, int64(104))
	f.equal("token", f.record().Token, grants[4].Token)
	for _, g := range grants {
		f.ask(protocol.Held, f.of(g.Tick, "b"))
		f.ok("Settle", f.settle(g, "succeeded"))
	}
}

// A tick that was written back and settled is as finally settled as any.
func forgottenAndSettledIsNotRevived(f *fixture) {
	old := f.expired(100, "a")
	current := f.grant(100, "b")
	f.forgetAll()
	f.sync(protocol.Sync{Name: f.name, Watermark: 100})
	f.ok("Settle", f.settle(current, "succeeded"))
	refused := func() {
		f.Helper()
		f.fenced("Renew", f.renew(current))
		f.fenced("Renew by who was taken over", f.renew(old))
		f.fenced("Settle by who was taken over", f.settle(old, "failed"))
		f.fenced("Release by who was taken over", f.release(old))
	}
	refused()
	for i := range protocol.Remembered + 1 {
		f.ok("Settle", f.settle(f.grant(int64(200+i), "b"), "succeeded"))
		refused()
	}
	f.ask(protocol.Decided, f.of(100, "b"))

	// The same before anybody has said what else was decided.
	f.name = f.other("x")
	f.sync(protocol.Sync{Name: f.name})
	var grants []protocol.Grant
	for n := range int64(protocol.Remembered + 2) {
		grants = append(grants, f.grant(100+n, "a"))
	}
	grants[0], grants[1] = grants[1], grants[0] // in whatever order
	f.forgetAll()
	for _, g := range grants {
		f.ok("Settle", f.settle(g, "succeeded"))
		f.fenced("Renew", f.renew(grants[0]))
	}
	f.sync(protocol.Sync{Name: f.name})
	for _, g := range grants {
		f.fenced("Renew", f.renew(g))
		f.ask(protocol.Decided, f.of(g.Tick, "b"))
	}
}

// The holder that was taken over may be the first to come back: the higher token decides.
func forgottenTakeoverFencesWhoIsBack(f *fixture) {
	renew := func(g protocol.Grant) error { return f.renew(g) }
	settle := func(g protocol.Grant) error { return f.settle(g, "succeeded") }
	for verb, first := range map[string]func(protocol.Grant) error{"Renew": renew, "Settle": settle, "Release": f.release} {
		for _, tick := range []int64{100, 0} {
			old := f.expired(tick, "a")
			current := f.grant(tick, "b")
			f.forgetAll()
			f.ok("Renew by who was taken over", f.renew(old)) // nothing here shows better
			f.ok(verb, first(current))
			f.fenced("Renew", f.renew(old))
			f.fenced("Settle", f.settle(old, "failed"))
			f.fenced("Release", f.release(old))
			if verb != "Settle" {
				f.ok("Release", f.release(current))
			}
			f.fenced("Settle", f.settle(old, "failed"))
			r := f.record()
			f.equal("watermark", r.Watermark, tick)
			f.equal("token", r.Token, current.Token)
			f.name = f.other("x")
			f.sync(protocol.Sync{Name: f.name})
		}
	}
}

// A claimer's newer watermark shows that the record has lost writes; the holders of lost ticks may
// still come.
func whatWasRaisedByAnotherCanBeWrittenBack(f *fixture) {
	first, second := f.grant(100, "a"), f.grant(101, "a")
	f.forgetAll()
	f.sync(protocol.Sync{Name: f.name, Watermark: 50})
	f.ok("Settle", f.settle(f.grant(60, "c"), "succeeded"))
	f.ask(protocol.Decided, f.of(101, "b", known(101)))
	f.ok("Renew", f.renew(second))
	f.ok("Settle", f.settle(first, "succeeded"))
	f.ask(protocol.Held, f.of(101, "b"))
	f.ask(protocol.Decided, f.of(100, "b"))

	// But not what this record itself has seen decided.
	first.Tick = 55
	f.fenced("Renew", f.renew(first))
	_, passed := f.pass(101, 110, "p")
	f.equal("passed", passed, true)
	first.Tick = 105
	f.fenced("Renew", f.renew(first))
	f.ask(protocol.Decided, f.of(120, "b", known(120)))
	f.fenced("Renew", f.renew(first))
}

func timeSaysThatTheStoreForgot(f *fixture) {
	_, since, err := f.store.Time(f.ctx)
	f.ok("Time", err)
	time.Sleep(2 * f.ttl)
	now, again, err := f.store.Time(f.ctx)
	f.ok("Time", err)
	f.equal("since", again, since)
	f.forgetAll()
	_, later, err := f.store.Time(f.ctx)
	f.ok("Time", err)
	if later.Before(now) || !later.After(since) {
		f.Fatalf("since when the store remembers: %s, want %s or later", later, now)
	}
}
