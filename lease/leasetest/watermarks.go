package leasetest

import (
	"fmt"

	"github.com/solotick/solotick/internal/protocol"
)

func unknownUntilSynced(f *fixture) {
	f.name = f.other("x")
	for range 2 {
		a := f.ask(protocol.Unknown, f.of(100, "a", known(7)))
		f.equal("watermark", a.Watermark, int64(7))
	}
	watermark, passed := f.pass(0, 5, "p")
	f.equal("passed", passed, false)
	f.equal("watermark", watermark, int64(0))
	// A plain lock has no memory, so it shows nothing of decided ticks.
	f.grant(0, "a")
	f.ask(protocol.Unknown, f.of(100, "a"))
	r := f.sync(protocol.Sync{Name: f.name, Watermark: 50})
	f.equal("made", r.Made, true)
	f.equal("watermark", r.Watermark, int64(50))
	f.ask(protocol.Decided, f.of(50, "a"))
	f.grant(51, "a")
}

func syncKeepsTheWatermark(f *fixture) {
	name := f.other("x")
	for i, y := range []protocol.Sync{{Watermark: 50}, {Watermark: 60}, {Watermark: 40}, {Watermark: 70, Known: 45}} {
		y.Name = name
		r := f.sync(y)
		f.equal("made", r.Made, i == 0)
		f.equal("watermark", r.Watermark, int64(50))
	}
	g := f.grant(55, "a", named(name))
	r := f.sync(protocol.Sync{Name: name, Watermark: 99})
	f.equal("watermark", r.Watermark, int64(55))
	f.equal("token", r.Token, g.Token)
	if len(r.Open) != 1 || r.Open[0].Tick != 55 || r.Open[0].Token != g.Token || r.Open[0].Holder != "a" || r.Open[0].Attempt != 1 {
		f.Fatalf("open: %+v, want %+v", r.Open, g)
	}
	f.between("left", r.Open[0].Remaining, 1, kept(long))
}

func syncAnswersForEachName(f *fixture) {
	syncs := make([]protocol.Sync, 600)
	for i := range syncs {
		syncs[i] = protocol.Sync{Name: f.other(fmt.Sprint(i)), Watermark: int64(i)}
	}
	for round := range 2 {
		records, err := f.store.Sync(f.ctx, syncs)
		f.ok("Sync", err)
		f.equal("records", len(records), len(syncs))
		for i, r := range records {
			f.equal("record", r, protocol.Record{Name: syncs[i].Name, Watermark: syncs[i].Watermark, Made: round == 0})
		}
	}
	records, err := f.store.Sync(f.ctx, nil)
	f.ok("Sync", err)
	f.equal("records of nothing", len(records), 0)
}

func staleRecordTakesKnownWatermark(f *fixture) {
	f.grant(100, "a")
	a := f.ask(protocol.Decided, f.of(150, "b", known(150)))
	f.equal("watermark", a.Watermark, int64(150))
	f.equal("watermark", f.record().Watermark, int64(150))
	// It is taken whatever the answer is.
	f.equal("watermark", f.ask(protocol.Held, f.of(100, "b", known(160))).Watermark, int64(160))
	a = f.ask(protocol.Early, f.of(180, "b", known(170), notBefore(f.now().Add(long))))
	f.equal("watermark", a.Watermark, int64(170))
	f.equal("watermark", f.record().Watermark, int64(170))
	f.equal("watermark", f.ask(protocol.Granted, f.of(180, "b", known(175))).Watermark, int64(180))

	// An older one changes nothing.
	f.equal("watermark", f.ask(protocol.Granted, f.of(181, "b", known(5))).Watermark, int64(181))

	r := f.sync(protocol.Sync{Name: f.name, Known: 200})
	f.equal("watermark", r.Watermark, int64(200))
	f.equal("made", r.Made, false)
	f.ask(protocol.Decided, f.of(200, "b"))
	r = f.sync(protocol.Sync{Name: f.other("x"), Watermark: 10, Known: 20})
	f.equal("watermark", r.Watermark, int64(20))
}

func skipMovesTheWatermarkOnlyFromWhereItIs(f *fixture) {
	watermark, passed := f.pass(0, 100, "p1")
	f.equal("passed", passed, true)
	f.equal("watermark", watermark, int64(100))
	for _, n := range []int64{1, 99, 100} {
		f.ask(protocol.Decided, f.of(n, "a"))
	}
	for _, from := range []int64{0, 99, 101} {
		watermark, passed = f.pass(from, 200, fmt.Sprintf("p2-%d", from))
		f.equal("passed", passed, false)
		f.equal("watermark", watermark, int64(100))
	}
	g := f.grant(101, "a")
	watermark, passed = f.pass(100, 200, "p3")
	f.equal("passed", passed, false)
	f.equal("watermark", watermark, int64(101))
	_, passed = f.pass(101, 200, "p4")
	f.equal("passed", passed, true)
	f.equal("settled", f.settled(), []protocol.Settled{{Tick: 100, Outcome: "missed"}, {Tick: 200, Outcome: "missed"}})
	f.ok("Settle", f.settle(g, "succeeded"))
}

func passLeavesTheOpenAlone(f *fixture) {
	held, free := f.grant(100, "a"), f.grant(101, "a")
	f.ok("Release", f.release(free))
	_, passed := f.pass(101, 200, "p")
	f.equal("passed", passed, true)
	f.ok("Renew", f.renew(held))
	f.ok("Settle", f.settle(held, "succeeded"))
	f.equal("attempt", f.grant(101, "b").Attempt, 2)
}

func repeatedPassSaysPassed(f *fixture) {
	_, passed := f.pass(0, 100, "p1")
	f.equal("passed", passed, true)
	watermark, passed := f.pass(0, 100, "p1")
	f.equal("passed", passed, true)
	f.equal("watermark", watermark, int64(100))
	// Another's pass to the same tick did not do it.
	watermark, passed = f.pass(0, 100, "p2")
	f.equal("passed", passed, false)
	f.equal("watermark", watermark, int64(100))
	for i := range protocol.Remembered - 1 {
		f.ok("Settle", f.settle(f.grant(int64(200+i), "a"), "succeeded"))
	}
	watermark, passed = f.pass(0, 100, "p1")
	f.equal("passed", passed, true)
	f.equal("watermark", watermark, int64(200+protocol.Remembered-2))
}

// Requests and holders may look like numbers.
func requestsAreNoTokens(f *fixture) {
	g := f.grant(100, "7", request("8"))
	token := fmt.Sprint(g.Token)
	f.ok("Settle", f.settle(g, "succeeded"))
	f.ask(protocol.Decided, f.of(100, "a", request(token)))
	watermark, passed := f.pass(0, 100, token)
	f.equal("passed", passed, false)
	f.equal("watermark", watermark, int64(100))
	_, passed = f.pass(100, 101, "9")
	f.equal("passed", passed, true)
	f.equal("settled", f.settled(), []protocol.Settled{
		{Tick: 100, Token: g.Token, Outcome: "succeeded"},
		{Tick: 101, Outcome: "missed"},
	})
	g.Tick, g.Token = 101, 9
	f.fenced("Settle", f.settle(g, "missed"))
}
