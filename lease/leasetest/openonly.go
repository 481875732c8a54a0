package leasetest

import (
	"time"

	"github.com/solotick/solotick/internal/protocol"
)

func onlyOpenDecidesNothing(f *fixture) {
	for range 2 {
		a := f.ask(protocol.Decided, f.of(100, "a", onlyOpen))
		f.equal("watermark", a.Watermark, int64(0))
		f.ask(protocol.Decided, f.of(0, "a", onlyOpen))
	}
	f.ask(protocol.Decided, f.of(100, "a", onlyOpen, overlap(protocol.OverlapSkip)))
	f.ask(protocol.Decided, f.of(100, "a", onlyOpen, notBefore(f.now().Add(time.Hour))))
	r := f.inspect(f.name)
	f.equal("record", r, protocol.Record{Name: f.name})
	f.grant(100, "b")
	f.ask(protocol.Unknown, f.of(100, "a", onlyOpen, named(f.other("x"))))
	f.equal("watermark", f.ask(protocol.Decided, f.of(150, "a", onlyOpen, known(200))).Watermark, int64(200))
}

func onlyOpenAsksForTheOpen(f *fixture) {
	for _, tick := range []int64{100, 0} {
		g := f.grant(tick, "a", request("first"))
		f.equal("holder", f.ask(protocol.Held, f.of(tick, "b", onlyOpen)).Holder, "a")
		again := f.ask(protocol.Granted, f.of(tick, "a", onlyOpen, request("first")))
		f.equal("token", again.Token, g.Token)
		f.ok("Settle", f.settle(g, "succeeded"))
		f.ask(protocol.Decided, f.of(tick, "a", onlyOpen, request("first")))
	}

	g := f.expired(101, "a", takeovers(1))
	next := f.grant(101, "b", onlyOpen)
	f.equal("attempt", next.Attempt, g.Attempt+1)
	f.ok("Release", f.release(next))
	next = f.grant(101, "c", onlyOpen)
	f.equal("attempt", next.Attempt, g.Attempt+2)

	c := f.of(102, "b", queue)
	f.ask(protocol.Queued, c)
	c.OnlyOpen = true
	f.ask(protocol.Queued, c)
	f.ok("Settle", f.settle(next, "succeeded"))
	f.ask(protocol.Granted, c)

	f.expired(103, "a", takeovers(0))
	f.ask(protocol.Lost, f.of(103, "b", onlyOpen))
	f.ask(protocol.Decided, f.of(103, "b", onlyOpen))
}
