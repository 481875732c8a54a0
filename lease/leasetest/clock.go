package leasetest

import (
	"time"

	"github.com/solotick/solotick/internal/protocol"
)

// stepClock moves the store's clock by d.
func (f *fixture) stepClock(d time.Duration) {
	f.Helper()
	if f.step == nil {
		f.Skip("the suite cannot step this store's clock: see WithClockStep")
	}
	f.step(f.T, f.store, d)
}

// renewedAhead grants a tick, and renews it while the store's clock is ahead for a moment.
func (f *fixture) renewedAhead(tick int64, ahead time.Duration) protocol.Grant {
	f.Helper()
	g := f.grant(tick, "a")
	f.stepClock(ahead)
	f.ok("Renew", f.renew(g))
	f.stepClock(-ahead)
	return g
}

func leaseRenewedAheadRestartsWithAClaim(f *fixture) {
	g := f.renewedAhead(100, time.Hour)
	a := f.ask(protocol.Held, f.of(100, "b", onlyOpen))
	f.between("remaining", a.Remaining, time.Millisecond, kept(long))
	f.ok("Renew", f.renew(g))
	f.ok("Settle", f.settle(g, "succeeded"))

	c := f.of(200, "a")
	f.stepClock(time.Hour)
	f.ask(protocol.Granted, c)
	f.stepClock(-time.Hour)
	f.between("remaining of the claim that is repeated", f.ask(protocol.Granted, c).Remaining, time.Millisecond, kept(long))
}

func leaseRenewedAheadRestartsWithASync(f *fixture) {
	g := f.renewedAhead(100, time.Hour)
	f.between("remaining", f.record().Open[0].Remaining, time.Millisecond, kept(long))
	f.ok("Renew", f.renew(g))
}

func leaseOfAClockThatWentBackALittleGoesOn(f *fixture) {
	g := f.renewedAhead(100, 500*time.Millisecond)
	f.between("remaining", f.record().Open[0].Remaining, time.Millisecond, kept(long)+500*time.Millisecond)
	f.ok("Renew", f.renew(g))
}
