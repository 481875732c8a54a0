package leasetest

import "github.com/solotick/solotick/internal/protocol"

func plainLockHasNoMemory(f *fixture) {
	f.name = f.other("x") // nor does it need a record
	var last int64
	for range 3 {
		g := f.grant(0, "a")
		f.equal("attempt", g.Attempt, 1)
		f.above("token", g.Token, last)
		last = g.Token
		f.ok("Release", f.release(g))
	}
	g := f.grant(0, "a")
	f.ok("Settle", f.settle(g, "succeeded"))
	f.ok("Settle again", f.settle(g, "succeeded"))
	f.ok("Release what is settled", f.release(g))
	for _, n := range []int{0, 3} { // takeovers do not matter
		f.equal("attempt", f.expired(0, "a", takeovers(n)).Attempt, 1)
		f.equal("attempt", f.expired(0, "b", takeovers(n)).Attempt, 1)
	}
}

func plainLockIsHeldByOne(f *fixture) {
	f.name = f.other("x")
	c := f.of(0, "a")
	a := f.ask(protocol.Granted, c)
	f.equal("holder", f.ask(protocol.Held, f.of(0, "b")).Holder, "a")
	f.ask(protocol.Held, f.of(0, "a")) // another request is another claim
	f.equal("token", f.ask(protocol.Granted, c).Token, a.Token)
	f.ok("Renew", f.renew(grantOf(c, a)))
	f.ok("Release", f.release(grantOf(c, a)))

	old := f.expired(0, "a")
	g := f.grant(0, "b")
	f.fenced("Renew", f.renew(old))
	f.fenced("Release", f.release(old))
	f.ok("Renew", f.renew(g))
	f.equal("holder", f.ask(protocol.Held, f.of(0, "c")).Holder, "b")

	// It does not stop being held because others come and go.
	f.ok("Release", f.release(g))
	old = f.expired(0, "a")
	old.TTL = long
	f.ok("Renew of what nobody has taken since", f.renew(old))
	f.ask(protocol.Held, f.of(0, "b"))
}

func plainLockLeavesTheWatermarkAlone(f *fixture) {
	f.grant(100, "a")
	lock := f.grant(0, "b", known(500))
	f.equal("watermark", f.record().Watermark, int64(100))
	g := f.grant(101, "a")
	f.above("token", g.Token, lock.Token)
	f.ok("Release", f.release(lock))
	f.equal("watermark", f.record().Watermark, int64(101))
}
