package leasetest

import (
	"errors"
	"time"

	"github.com/solotick/solotick/internal/protocol"
)

// future is a tick an hour ahead of the store's clock.
func (f *fixture) future() int64 { return f.now().Add(time.Hour).UnixMilli() }

// repair repairs the record, and wants that to have changed it or not.
func (f *fixture) repair(changed bool) protocol.Repaired {
	f.Helper()
	before := f.now()
	a, err := f.store.Repair(f.ctx, protocol.Repair{Name: f.name})
	f.ok("Repair", err)
	f.equal("changed", a.Changed, changed)
	if changed && (a.Watermark < before.UnixMilli() || a.Watermark > f.now().UnixMilli()) {
		f.Fatalf("mark: %d, want the clock's %d or little more", a.Watermark, before.UnixMilli())
	}
	f.equal("watermark", f.record().Watermark, a.Watermark)
	return a
}

func repairBringsTheWatermarkBackToNow(f *fixture) {
	n := f.future()
	g := f.grant(n, "a")
	f.ok("Settle", f.settle(g, "succeeded"))
	f.equal("repaired", f.repair(true).Before, n)
	a := f.repair(false) // as after a lost answer
	f.equal("repaired", a, protocol.Repaired{Before: a.Watermark, Watermark: a.Watermark, Exceptions: 1})
	f.ask(protocol.Decided, f.of(a.Watermark, "a"))
	next := f.grant(a.Watermark+1, "a")
	f.above("token", next.Token, g.Token)
	f.ok("Settle", f.settle(next, "succeeded"))
	f.equal("watermark", f.record().Watermark, a.Watermark+1)
	f.ask(protocol.Granted, f.of(n-1, "a"))
}

func repairedDecidesWhatWasSettled(f *fixture) {
	n := f.future()
	for i := range int64(20) { // more than those of which a store knows a repeated request
		f.ok("Settle", f.settle(f.grant(n+2*i, "a"), "failed"))
	}
	last := n + 38
	_, passed := f.pass(last, last+100, "p")
	f.equal("passed", passed, true)
	f.equal("exceptions", f.repair(true).Exceptions, 20)
	f.ask(protocol.Early, f.of(n, "b", notBefore(f.now().Add(time.Minute)))) // its time has not come
	f.above("watermark", n, f.record().Watermark)
	a := f.ask(protocol.Decided, f.of(n, "b", overlap(protocol.OverlapSkip)))
	f.equal("watermark", a.Watermark, n)
	f.ask(protocol.Granted, f.of(n+1, "b"))
	f.ask(protocol.Decided, f.of(n+2, "b", onlyOpen))
	f.equal("watermark", f.ask(protocol.Decided, f.of(n+4, "b", notAfter(f.now().Add(-time.Hour)))).Watermark, n+4)
	f.equal("exceptions", f.repair(true).Exceptions, 21) // with those granted since
	f.ask(protocol.Decided, f.of(n+6, "b"))
	f.ask(protocol.Granted, f.of(last+100, "b")) // passed as one of a range
	f.ask(protocol.Decided, f.of(last, "b"))
}

func repairedHolderStillSettles(f *fixture) {
	n := f.future()
	held, free := f.grant(n, "a"), f.grant(n+1, "a")
	f.ok("Release", f.release(free))
	f.equal("exceptions", f.repair(true).Exceptions, 2)
	f.ask(protocol.Held, f.of(n, "b"))
	f.ok("Renew", f.renew(held))
	for range 2 {
		f.ok("Settle", f.settle(held, "succeeded"))
	}
	f.ask(protocol.Decided, f.of(n, "b"))
	next := f.grant(n+1, "b")
	f.equal("attempt", next.Attempt, 2)
	f.fenced("Settle", f.settle(free, "succeeded"))
	f.ok("Settle", f.settle(next, "succeeded"))
	f.ask(protocol.Decided, f.of(n+1, "c"))
}

func lateHolderReopensNothingRepaired(f *fixture) {
	n := f.future()
	first := f.grant(n, "a")
	f.ok("Settle", f.settle(first, "succeeded"))
	for i := range int64(protocol.Remembered) {
		f.ok("Settle", f.settle(f.grant(n+1+i, "a"), "succeeded"))
	}
	a := f.repair(true)
	f.fenced("Renew", f.renew(first))
	f.fenced("Release", f.release(first))
	f.fenced("Settle", f.settle(first, "failed"))
	f.equal("watermark", f.record().Watermark, a.Watermark)
	f.equal("open", len(f.record().Open), 0)
}

func repairBringsControlsBackToNow(f *fixture) {
	f.name = f.other("x")
	ahead := f.now().Add(time.Hour).Truncate(time.Microsecond)
	f.sync(protocol.Sync{
		Name: f.name, Watermark: ahead.UnixMilli(), Revision: "r", Schedule: "UTC @every 1s", Paused: &protocol.Pause{By: "ops", Reason: "w", Since: ahead},
	})
	f.policy(protocol.Policy{Every: time.Hour, Burst: 1, Beside: true})
	f.trigger(protocol.Opened, protocol.Trigger{})
	f.trigger(protocol.Limited, protocol.Trigger{})
	before := f.now().Truncate(time.Microsecond)
	f.repair(true)
	r, now := f.record(), f.now()
	f.equal("pause", *r.Paused, protocol.Pause{By: "ops", Reason: "w", Since: r.Paused.Since})
	f.equal("schedules", len(r.Schedules), 1)
	f.equal("schedule", r.Schedules[0].Text, "UTC @every 1s")
	for what, since := range map[string]time.Time{"pause": r.Paused.Since, "revision": r.Revised, "schedule": r.Schedules[0].Since} {
		f.between(what+" since", since.Sub(before), 0, now.Sub(before))
	}
	f.trigger(protocol.Opened, protocol.Trigger{})
}

func repairOfNothingAheadChangesNothing(f *fixture) {
	r := f.store
	g := f.grant(100, "a")
	before := f.record()
	for range 2 {
		f.equal("repaired", f.repair(false), protocol.Repaired{Before: 100, Watermark: 100})
	}
	f.equal("watermark", f.record().Watermark, before.Watermark)
	f.equal("open", len(f.record().Open), 1)
	f.ok("Renew", f.renew(g))

	ask := func(q protocol.Repair) error {
		_, err := r.Repair(f.ctx, q)
		return err
	}
	if err := ask(protocol.Repair{Name: f.other("unknown")}); !errors.Is(err, protocol.ErrUnknown) {
		f.Fatalf("Repair without a record: %v, want protocol.ErrUnknown", err)
	}
	f.refused("no name", ask(protocol.Repair{}))
	n, past := f.future(), f.now().Add(-time.Minute).Truncate(time.Millisecond)
	f.ok("Settle", f.settle(f.grant(n, "a"), "succeeded"))
	f.outOfBounds("Repair", ask(protocol.Repair{Name: f.name, Until: past}), past)
	f.equal("watermark", f.record().Watermark, n)
	f.ok("Repair", ask(protocol.Repair{Name: f.name, Until: f.now().Add(time.Hour)}))
	f.above("watermark", n, f.record().Watermark)
}

func watchNotifiesOfRepairs(f *fixture) {
	f.grant(f.future(), "a")
	woken := f.watch()
	f.repair(true)
	f.awaits(woken, f.name, protocol.PauseChanged)
}
