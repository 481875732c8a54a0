package leasetest

import (
	"errors"
	"time"

	"github.com/solotick/solotick/lease"
)

func until(at time.Time) change { return func(c *lease.Claim) { c.Until = at } }

func takeoverUntil(at time.Time) change { return func(c *lease.Claim) { c.TakeoverUntil = at } }

// outOfBounds wants err to say that the store's clock is past the bound.
func (f *fixture) outOfBounds(verb string, err error, bound time.Time) {
	f.Helper()
	b := new(lease.BoundsError)
	if !errors.As(err, &b) || !errors.Is(err, lease.ErrOutOfBounds) {
		f.Fatalf("%s past its bound: %v, want a *lease.BoundsError", verb, err)
	}
	f.equal("bound", b.Until, bound)
	f.between(verb+": the store's clock", f.now().Sub(b.Now), 0, time.Minute)
}

func pastItsBoundNothingIsClaimed(f *fixture) {
	past, ahead := f.now().Add(-time.Minute), f.now().Add(time.Hour)
	a := f.ask(lease.OutOfBounds, f.of(100, "a", until(past)))
	f.between("the store's clock", f.now().Sub(a.Now), 0, time.Minute)
	f.equal("mark", f.record().Mark, int64(0))
	f.ask(lease.OutOfBounds, f.of(0, "a", until(past)))
	f.equal("open", len(f.record().Open), 0)

	c := f.of(100, "a", until(ahead))
	f.ask(lease.Granted, c)
	c.Until = past
	f.ask(lease.OutOfBounds, c) // the grant that it has
	f.ask(lease.OutOfBounds, f.of(50, "a", until(past)))
	f.ask(lease.OutOfBounds, f.of(200, "a", until(past), known(150)))
	f.equal("mark", f.record().Mark, int64(100))

	g := f.expired(200, "a", overlap(lease.OverlapAllow))
	f.ask(lease.OutOfBounds, f.of(200, "b", until(past), onlyOpen))
	f.ok("Renew of what nobody could take over", f.renew(g))
	f.ask(lease.Held, f.of(200, "b", until(ahead), onlyOpen))
}

func pastItsBoundNothingIsTakenOver(f *fixture) {
	past, ahead := takeoverUntil(f.now().Add(-time.Minute)), takeoverUntil(f.now().Add(time.Hour))
	for _, occasion := range []int64{0, 100} {
		g := f.expired(occasion, "a")
		for _, claim := range []lease.Claim{f.of(occasion, "b", past), f.of(occasion, "b", past, onlyOpen)} {
			a := f.ask(lease.Held, claim)
			f.equal("holder", a.Holder, "a")
			f.equal("token", a.Token, g.Token)
			f.equal("remaining", a.Left, time.Duration(0))
		}
		g.Term = time.Minute // enough of it remains on a busy machine
		f.ok("Renew of what nobody took over", f.renew(g))
		f.equal("held", f.ask(lease.Held, f.of(occasion, "b", ahead)).Holder, "a")
		f.ok("Release", f.release(g))
		f.equal("token rises", f.grant(occasion, "b", past).Token > g.Token, true)
	}
	f.anew()
	g := f.expired(100, "a")
	f.equal("attempt", f.ask(lease.Granted, f.of(100, "b", ahead)).Attempt, g.Attempt+1)
}

func pastItsBoundNothingIsSettledOnTheWay(f *fixture) {
	past, ahead := takeoverUntil(f.now().Add(-time.Minute)), takeoverUntil(f.now().Add(time.Hour))
	g := f.expired(100, "a", takeovers(0))
	f.ask(lease.Held, f.of(100, "b", past))
	a := f.ask(lease.Skipped, f.of(200, "b", overlap(lease.OverlapSkip), past))
	f.equal("settled", len(a.Settled), 0)
	f.ask(lease.Busy, f.of(300, "b", overlap(lease.OverlapWait), past))
	waits := f.of(300, "b", overlap(lease.OverlapReplace), past)
	a = f.ask(lease.Queued, waits)
	f.equal("settled", len(a.Settled), 0)
	f.ok("Settle of what nobody has settled", f.settle(g, "succeeded"))
	f.ask(lease.Granted, waits)

	f.anew()
	f.expired(100, "a", takeovers(0))
	a = f.ask(lease.Granted, f.of(200, "b", overlap(lease.OverlapSkip), ahead))
	f.equal("settled", len(a.Settled), 1)
	f.equal("outcome", a.Settled[0].Outcome, lease.OutcomeLost)
}

func pastItsBoundNothingIsPassedOrMade(f *fixture) {
	past, ahead := f.now().Add(-time.Minute).Truncate(time.Millisecond), f.now().Add(time.Hour)
	p := lease.Pass{Name: f.name, From: 0, To: 100, Outcome: "missed", Request: "p", Holder: "a", Until: past}
	_, _, err := f.store.Pass(f.ctx, p)
	f.outOfBounds("Pass", err, past)
	f.equal("mark", f.record().Mark, int64(0))
	p.Until = ahead
	_, passed, err := f.store.Pass(f.ctx, p)
	f.ok("Pass", err)
	f.equal("passed", passed, true)

	_, err = f.store.Sync(f.ctx, []lease.Sync{{Name: f.other("new"), Mark: 100, Until: past}})
	f.outOfBounds("Sync", err, past)
	_, err = f.store.Sync(f.ctx, []lease.Sync{{Name: f.name, Known: 1000, Revision: "r", Until: past}})
	f.outOfBounds("Sync", err, past)
	f.ask(lease.Unknown, f.of(200, "a", named(f.other("new"))))
	r := f.record()
	f.equal("mark", r.Mark, int64(100))
	f.equal("revision", r.Revision, "")
	_, err = f.store.Sync(f.ctx, []lease.Sync{{Name: f.other("new"), Mark: 100, Until: ahead}})
	f.ok("Sync", err)
	f.ask(lease.Granted, f.of(200, "a", named(f.other("new"))))
}

func pastItsBoundNothingIsPausedOrTriggered(f *fixture) {
	past, ahead := f.now().Add(-time.Minute).Truncate(time.Millisecond), f.now().Add(time.Hour)
	c := f.controller()
	_, err := c.Pause(f.ctx, f.name, lease.Pause{By: "ops", Until: past})
	f.outOfBounds("Pause", err, past)
	f.equal("pause", f.record().Paused, (*lease.Pause)(nil))
	p, err := c.Pause(f.ctx, f.name, lease.Pause{By: "ops", Until: ahead})
	f.ok("Pause", err)
	f.equal("pause", f.record().Paused, &p)
	_, err = c.Resume(f.ctx, f.name, lease.Resume{By: "ops", Until: past})
	f.outOfBounds("Resume", err, past)
	f.equal("pause", f.record().Paused, &p)
	was, err := c.Resume(f.ctx, f.name, lease.Resume{By: "ops", Until: ahead})
	f.ok("Resume", err)
	f.equal("ended", was, &p)

	t := lease.Trigger{Name: f.name, By: "ops", Request: "t", Every: time.Hour, Burst: 1, Until: past}
	_, err = c.Trigger(f.ctx, t)
	f.outOfBounds("Trigger", err, past)
	f.equal("open", len(f.record().Open), 0)
	t.Until = ahead
	a, err := c.Trigger(f.ctx, t)
	f.ok("Trigger", err)
	f.equal("status", a.Status, lease.Opened) // the one before took nothing of the rate
}
