package leasetest

import (
	"errors"
	"time"

	"github.com/solotick/solotick/internal/protocol"
)

func until(at time.Time) change { return func(c *protocol.Claim) { c.Until = at } }

func takeoverUntil(at time.Time) change { return func(c *protocol.Claim) { c.TakeoverUntil = at } }

// outOfBounds wants err to say that the store's clock is past the bound.
func (f *fixture) outOfBounds(verb string, err error, bound time.Time) {
	f.Helper()
	b := new(protocol.BoundsError)
	if !errors.As(err, &b) || !errors.Is(err, protocol.ErrOutOfBounds) {
		f.Fatalf("%s past its bound: %v, want a *protocol.BoundsError", verb, err)
	}
	f.equal("bound", b.Until, bound)
	f.between(verb+": the store's clock", f.now().Sub(b.Now), 0, time.Minute)
}

func pastItsBoundNothingIsClaimed(f *fixture) {
	past, ahead := f.now().Add(-time.Minute), f.now().Add(time.Hour)
	a := f.ask(protocol.OutOfBounds, f.of(100, "a", until(past)))
	f.between("the store's clock", f.now().Sub(a.Now), 0, time.Minute)
	f.equal("watermark", f.record().Watermark, int64(0))
	f.ask(protocol.OutOfBounds, f.of(0, "a", until(past)))
	f.equal("open", len(f.record().Open), 0)

	c := f.of(100, "a", until(ahead))
	f.ask(protocol.Granted, c)
	c.Until = past
	f.ask(protocol.OutOfBounds, c) // the grant that it has
	f.ask(protocol.OutOfBounds, f.of(50, "a", until(past)))
	f.ask(protocol.OutOfBounds, f.of(200, "a", until(past), known(150)))
	f.equal("watermark", f.record().Watermark, int64(100))

	g := f.expired(200, "a", overlap(protocol.OverlapAllow))
	f.ask(protocol.OutOfBounds, f.of(200, "b", until(past), onlyOpen))
	g.TTL = time.Minute // enough of it remains on a busy machine
	f.ok("Renew of what nobody could take over", f.renew(g))
	f.ask(protocol.Held, f.of(200, "b", until(ahead), onlyOpen))
}

func pastItsBoundNothingIsTakenOver(f *fixture) {
	past, ahead := takeoverUntil(f.now().Add(-time.Minute)), takeoverUntil(f.now().Add(time.Hour))
	for _, tick := range []int64{0, 100} {
		g := f.expired(tick, "a")
		for _, claim := range []protocol.Claim{f.of(tick, "b", past), f.of(tick, "b", past, onlyOpen)} {
			a := f.ask(protocol.Held, claim)
			f.equal("holder", a.Holder, "a")
			f.equal("token", a.Token, g.Token)
			f.equal("remaining", a.Remaining, time.Duration(0))
		}
		g.TTL = time.Minute // enough of it remains on a busy machine
		f.ok("Renew of what nobody took over", f.renew(g))
		f.equal("held", f.ask(protocol.Held, f.of(tick, "b", ahead)).Holder, "a")
		f.ok("Release", f.release(g))
		f.equal("token rises", f.grant(tick, "b", past).Token > g.Token, true)
	}
	f.again()
	g := f.expired(100, "a")
	f.equal("attempt", f.ask(protocol.Granted, f.of(100, "b", ahead)).Attempt, g.Attempt+1)
}

func leftForTooLongIsMissed(f *fixture) {
	within := func(d time.Duration) change { return func(c *protocol.Claim) { c.TakeoverWithin = d } }
	g := f.expired(100, "a")
	again := f.grant(100, "b", within(time.Hour), onlyOpen)
	f.equal("attempt", again.Attempt, g.Attempt+1)
	f.ok("Release", f.release(again))
	f.equal("attempt", f.grant(100, "c", within(time.Millisecond), onlyOpen).Attempt, again.Attempt+1)

	f.again()
	g = f.expired(100, "a")
	missed := protocol.Settled{
		Tick: 100, Token: g.Token, Attempt: g.Attempt, Outcome: protocol.OutcomeMissed, Holder: "a", Note: protocol.NoteTooOld,
	}
	late := f.of(100, "b", within(time.Millisecond), onlyOpen)
	f.settledToo(f.ask(protocol.Decided, late), missed)
	f.ask(protocol.Decided, late)
	f.fenced("Settle", f.settle(g, "succeeded"))
	f.equal("settled", f.settled(), []protocol.Settled{{Tick: 100, Token: g.Token, Outcome: protocol.OutcomeMissed}})

	f.again()
	f.expired(100, "a", takeovers(0))
	f.ask(protocol.Lost, f.of(100, "b", within(time.Millisecond), onlyOpen))
}

func pastItsBoundNothingIsSettledOnTheWay(f *fixture) {
	past, ahead := takeoverUntil(f.now().Add(-time.Minute)), takeoverUntil(f.now().Add(time.Hour))
	g := f.expired(100, "a", takeovers(0))
	f.ask(protocol.Held, f.of(100, "b", past))
	a := f.ask(protocol.Skipped, f.of(200, "b", overlap(protocol.OverlapSkip), past))
	f.equal("settled", len(a.Settled), 0)
	f.ask(protocol.Busy, f.of(300, "b", overlap(protocol.OverlapWait), past))
	waits := f.of(300, "b", overlap(protocol.OverlapReplace), past)
	a = f.ask(protocol.Queued, waits)
	f.equal("settled", len(a.Settled), 0)
	f.ok("Settle of what nobody has settled", f.settle(g, "succeeded"))
	f.ask(protocol.Granted, waits)

	f.again()
	f.expired(100, "a", takeovers(0))
	a = f.ask(protocol.Granted, f.of(200, "b", overlap(protocol.OverlapSkip), ahead))
	f.equal("settled", len(a.Settled), 1)
	f.equal("outcome", a.Settled[0].Outcome, protocol.OutcomeLost)
}

func pastItsBoundNothingIsPassedOrMade(f *fixture) {
	past, ahead := f.now().Add(-time.Minute).Truncate(time.Millisecond), f.now().Add(time.Hour)
	p := protocol.Skip{Name: f.name, From: 0, To: 100, Outcome: "missed", Request: "p", Holder: "a", Until: past}
	_, _, err := f.store.Skip(f.ctx, p)
	f.outOfBounds("Pass", err, past)
	f.equal("watermark", f.record().Watermark, int64(0))
	p.Until = ahead
	_, passed, err := f.store.Skip(f.ctx, p)
	f.ok("Pass", err)
	f.equal("passed", passed, true)

	_, err = f.store.Sync(f.ctx, []protocol.Sync{{Name: f.other("new"), Watermark: 100, Until: past}})
	f.outOfBounds("Sync", err, past)
	_, err = f.store.Sync(f.ctx, []protocol.Sync{{Name: f.name, Known: 1000, Revision: "r", Until: past}})
	f.outOfBounds("Sync", err, past)
	f.ask(protocol.Unknown, f.of(200, "a", named(f.other("new"))))
	r := f.record()
	f.equal("watermark", r.Watermark, int64(100))
	f.equal("revision", r.Revision, "")
	_, err = f.store.Sync(f.ctx, []protocol.Sync{{Name: f.other("new"), Watermark: 100, Until: ahead}})
	f.ok("Sync", err)
	f.ask(protocol.Granted, f.of(200, "a", named(f.other("new"))))
}

func pastItsBoundNothingIsPausedOrTriggered(f *fixture) {
	past, ahead := f.now().Add(-time.Minute).Truncate(time.Millisecond), f.now().Add(time.Hour)
	c := f.store
	_, err := c.Pause(f.ctx, f.name, protocol.Pause{By: "ops", Until: past})
	f.outOfBounds("Pause", err, past)
	f.equal("pause", f.record().Paused, (*protocol.Pause)(nil))
	p, err := c.Pause(f.ctx, f.name, protocol.Pause{By: "ops", Until: ahead})
	f.ok("Pause", err)
	f.equal("pause", f.record().Paused, &p)
	_, err = c.Resume(f.ctx, f.name, protocol.Resume{By: "ops", Until: past})
	f.outOfBounds("Resume", err, past)
	f.equal("pause", f.record().Paused, &p)
	was, err := c.Resume(f.ctx, f.name, protocol.Resume{By: "ops", Until: ahead})
	f.ok("Resume", err)
	f.equal("ended", was, &p)

	f.policy(protocol.Policy{Every: time.Hour, Burst: 1})
	t := protocol.Trigger{Name: f.name, By: "ops", Request: "t", Until: past}
	_, err = c.Trigger(f.ctx, t)
	f.outOfBounds("Trigger", err, past)
	f.equal("open", len(f.record().Open), 0)
	t.Until = ahead
	a, err := c.Trigger(f.ctx, t)
	f.ok("Trigger", err)
	f.equal("status", a.Status, protocol.Opened) // the one before took nothing of the rate
}
