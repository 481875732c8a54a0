package leasetest

import (
	"strings"
	"time"

	"github.com/solotick/solotick/internal/protocol"
)

func oneHolderAtATime(f *fixture) {
	g := f.grant(100, "a")
	for range 2 {
		a := f.ask(protocol.Held, f.of(100, "b"))
		f.equal("holder", a.Holder, "a")
		f.between("left", a.Remaining, 1, kept(long))
		f.ok("Renew", f.renew(g))
	}
	f.equal("watermark", f.record().Watermark, int64(100))
}

func repeatedClaimGetsTheSameGrant(f *fixture) {
	c := f.of(100, "a", takeovers(2))
	first := f.ask(protocol.Granted, c)
	f.equal("attempt", first.Attempt, 1)
	f.equal("takeovers", first.Takeovers, 2)
	f.between("left", first.Remaining, long-time.Second, kept(long))
	f.ask(protocol.Held, f.of(100, "b"))
	f.grant(200, "b")
	again := f.ask(protocol.Granted, c)
	f.equal("token", again.Token, first.Token)
	f.equal("attempt", again.Attempt, 1)
	f.equal("takeovers", again.Takeovers, 2)
	f.between("left", again.Remaining, 1, kept(first.Remaining))

	// A takeover is repeated as well as a first grant.
	g := f.expired(300, "a")
	c = f.of(300, "b")
	first = f.ask(protocol.Granted, c)
	again = f.ask(protocol.Granted, c)
	f.above("token", first.Token, g.Token)
	f.equal("token", again.Token, first.Token)
	f.equal("attempt", again.Attempt, 2)
	f.equal("takeovers", again.Takeovers, first.Takeovers)
}

func anotherRequestOfTheHolderIsAnotherClaim(f *fixture) {
	f.grant(100, "a")
	a := f.ask(protocol.Held, f.of(100, "a"))
	f.equal("holder", a.Holder, "a")

	// And the same request id of another holder is another's.
	g := f.grant(200, "a", request("same"))
	a = f.ask(protocol.Held, f.of(200, "b", request("same")))
	f.equal("holder", a.Holder, "a")
	f.ok("Settle", f.settle(g, "succeeded"))
}

func grantMovesTheWatermark(f *fixture) {
	f.equal("watermark", f.ask(protocol.Granted, f.of(100, "a")).Watermark, int64(100))
	f.equal("watermark", f.record().Watermark, int64(100))
	// What lies before is decided, whether or not anybody ever claimed it.
	f.equal("watermark", f.ask(protocol.Decided, f.of(99, "a")).Watermark, int64(100))
	f.equal("watermark", f.ask(protocol.Held, f.of(100, "b")).Watermark, int64(100))
	a := f.ask(protocol.Granted, f.of(101, "a"))
	f.equal("watermark", a.Watermark, int64(101))
	if len(a.Open) != 1 || a.Open[0].Tick != 100 || a.Open[0].Holder != "a" || a.Open[0].Attempt != 1 || a.Open[0].Remaining <= 0 {
		f.Fatalf("the other open ticks: %+v, want 100, held by a", a.Open)
	}
}

func tokensRiseStrictly(f *fixture) {
	var last int64
	rises := func(g protocol.Grant) protocol.Grant {
		f.Helper()
		f.above("token", g.Token, last)
		last = g.Token
		return g
	}
	rises(f.grant(100, "a"))
	rises(f.grant(101, "b"))
	g := rises(f.expired(102, "a"))
	g = rises(f.grant(g.Tick, "b"))
	f.ok("Release", f.release(g))
	rises(f.grant(g.Tick, "b"))
	for range 50 { // faster than a clock in microseconds is sure to advance
		f.ok("Release", f.release(rises(f.grant(0, "a"))))
	}
	rises(f.grant(103, "a"))
}

func tokensAreAtLeastTheStoresClock(f *fixture) {
	before := f.now()
	for _, tick := range []int64{100, 0} {
		g := f.grant(tick, "a")
		f.above("token", g.Token, before.UnixMicro()-1)
		f.above("2^53", 1<<53, g.Token)
	}
}

func earlyDecidesNothing(f *fixture) {
	c := f.of(100, "a", notBefore(f.now().Add(time.Hour)))
	a := f.ask(protocol.Early, c)
	f.between("left", a.Remaining, 59*time.Minute, time.Hour)
	f.equal("watermark", a.Watermark, int64(0))
	c.NotBefore = a.Now.Add(-time.Millisecond)
	f.ask(protocol.Granted, c)
	soon := f.of(101, "a", notBefore(f.now().Add(f.ttl)))
	f.until(soon.NotBefore)
	f.ask(protocol.Granted, soon)
}

func lateDecidesNothing(f *fixture) {
	a := f.ask(protocol.Late, f.of(100, "a", notAfter(f.now().Add(-2*time.Millisecond))))
	f.equal("watermark", a.Watermark, int64(0))
	f.ask(protocol.Granted, f.of(100, "b", notBefore(a.Now.Add(-time.Hour)), notAfter(a.Now.Add(time.Hour))))
}

// A takeover is not late: the tick was begun in time.
func boundsAreOfTheFirstGrantOnly(f *fixture) {
	g := f.expired(100, "a")
	c := f.of(100, "b", notAfter(f.now().Add(-time.Minute)))
	f.equal("attempt", f.ask(protocol.Granted, c).Attempt, g.Attempt+1)
	f.ask(protocol.Granted, c)
	f.ask(protocol.Held, f.of(100, "c", notBefore(f.now().Add(time.Hour))))
}

func largestNumbersAreExact(f *fixture) {
	const n = protocol.MaxTick
	g := f.grant(n-1, "a")
	f.ok("Renew", f.renew(g))
	f.equal("watermark", f.record().Watermark, int64(n-1))
	a := f.ask(protocol.Granted, f.of(n, "b", known(n-1)))
	f.equal("watermark", a.Watermark, int64(n))
	if len(a.Open) != 1 || a.Open[0].Tick != n-1 || a.Open[0].Token != g.Token {
		f.Fatalf("the other open ticks: %+v, want %d with token %d", a.Open, int64(n-1), g.Token)
	}
	f.ask(protocol.Decided, f.of(n-2, "b"))
	f.ok("Settle", f.settle(g, "succeeded"))
	f.equal("settled", f.settled(), []protocol.Settled{{Tick: n - 1, Token: g.Token, Outcome: "succeeded"}})

	r := f.sync(protocol.Sync{Name: f.other("sync"), Watermark: n - 2, Known: n - 1})
	f.equal("watermark", r.Watermark, int64(n-1))
	f.name = r.Name
	watermark, passed := f.pass(n-1, n, "p")
	f.equal("passed", passed, true)
	f.equal("watermark", watermark, int64(n))
	f.ask(protocol.Decided, f.of(n, "a"))
}

func faultyRequestsAreRefused(f *fixture) {
	g := f.grant(100, "a")
	before := f.record()
	refused := func(what string, err error) {
		f.Helper()
		if err == nil {
			f.Errorf("%s was not refused", what)
		}
	}
	for what, c := range map[string]protocol.Claim{
		"a claim without a name":            f.of(101, "b", named("")),
		"a claim without a holder":          f.of(101, ""),
		"a claim with a space":              f.of(101, "a b"),
		"a claim with a line break":         f.of(101, "b", request("r\n1")),
		"a claim of a negative tick":        f.of(-1, "b"),
		"a claim of too great a tick":       f.of(protocol.MaxTick+1, "b"),
		"a claim without a term":            f.of(101, "b", ttl(0)),
		"a claim with negative takeovers":   f.of(101, "b", takeovers(-1)),
		"a claim with an unknown overlap":   f.of(101, "b", overlap(9)),
		"a claim with a negative watermark": f.of(101, "b", known(-1)),
	} {
		_, err := f.store.Claim(f.ctx, c)
		refused(what, err)
	}
	for what, outcome := range map[string]protocol.Outcome{"no outcome": "", "an outcome with a line break": "it\nfailed"} {
		refused("a settle with "+what, f.settle(g, outcome))
	}
	noted := g
	noted.Note = protocol.NoteExpired
	refused("a settle with the note of stores", f.settle(noted, "succeeded"))
	for what, p := range map[string]protocol.Skip{
		"a pass backwards":         {Name: f.name, From: 100, To: 100, Outcome: "missed", Request: "p", Holder: "a"},
		"a pass without a request": {Name: f.name, From: 100, To: 101, Outcome: "missed", Holder: "a"},
		"a pass without a name":    {From: 100, To: 101, Outcome: "missed", Request: "p", Holder: "a"},
		"a pass with a space":      {Name: f.name, From: 100, To: 101, Outcome: "mis sed", Request: "p", Holder: "a"},
		"a pass without a holder":  {Name: f.name, From: 100, To: 101, Outcome: "missed", Request: "p"},
	} {
		_, _, err := f.store.Skip(f.ctx, p)
		refused(what, err)
	}
	for what, y := range map[string]protocol.Sync{
		"a sync without a name":            {},
		"a sync with a negative watermark": {Name: f.name, Watermark: -1},
		"a sync with too great a known":    {Name: f.name, Known: protocol.MaxTick + 1},
		"a sync with a faulty revision":    {Name: f.name, Revision: "1 2"},
		"a sync with a faulty schedule":    {Name: f.name, Revision: "1", Schedule: "0 * * * *\n1"},
		"a sync with too long a schedule":  {Name: f.name, Revision: "1", Schedule: strings.Repeat("0", protocol.MaxSchedule+1)},
		"a sync with a faulty pause":       {Name: f.name, Paused: &protocol.Pause{By: "two words"}},
	} {
		_, err := f.store.Sync(f.ctx, []protocol.Sync{y})
		refused(what, err)
	}
	bad := g
	bad.Request = "r 1"
	refused("a renewal with a space", f.renew(bad))
	refused("a release with a space", f.release(bad))
	if f.Failed() {
		f.FailNow()
	}
	after := f.record()
	before.Open, after.Open = nil, nil
	f.equal("record", after, before)
	f.ok("Settle", f.settle(g, "succeeded"))
}
