package leasetest

import (
	"fmt"
	"time"

	"github.com/solotick/solotick/internal/protocol"
)

// trigger triggers, with a request of its own if t has none, and wants an answer of the given
// status.
func (f *fixture) trigger(want protocol.TriggerStatus, t protocol.Trigger) protocol.Triggered {
	f.Helper()
	a, err := f.store.Trigger(f.ctx, f.filled(t))
	f.ok("Trigger", err)
	if a.Status != want {
		f.Fatalf("trigger: %s, want %s: %+v", a.Status, want, a)
	}
	return a
}

func (f *fixture) filled(t protocol.Trigger) protocol.Trigger {
	t.Name, t.By = f.name, "ops"
	if t.Request == "" {
		f.requests++
		t.Request = fmt.Sprintf("t%d", f.requests)
	}
	return t
}

// open triggers a tick beside all others.
func (f *fixture) open() int64 {
	f.Helper()
	if p := f.policies[f.name]; !p.Beside {
		p.Beside = true
		f.policy(p)
	}
	return f.trigger(protocol.Opened, protocol.Trigger{}).Tick
}

// granted claims the triggered tick.
func (f *fixture) granted(tick int64, changes ...change) protocol.Grant {
	f.Helper()
	return f.grant(tick, "a", append([]change{onlyOpen}, changes...)...)
}

// done claims the triggered tick, and settles it.
func (f *fixture) done(tick int64) {
	f.Helper()
	f.ok("Settle", f.settle(f.granted(tick), "succeeded"))
}

func triggerOpensATick(f *fixture) {
	before := f.now()
	n := f.trigger(protocol.Opened, protocol.Trigger{}).Tick
	if n < before.UnixMilli() || n > f.now().UnixMilli()+1 {
		f.Fatalf("tick: %d, want now, %d, or a little more", n, before.UnixMilli())
	}
	r := f.record()
	f.equal("watermark", r.Watermark, int64(0))
	f.equal("open", r.Open, []protocol.Open{{Tick: n, Holder: "ops"}})

	c := f.of(n, "a", onlyOpen, takeovers(1))
	a := f.ask(protocol.Granted, c)
	f.equal("attempt", a.Attempt, 1)
	f.equal("takeovers", a.Takeovers, 1)
	f.equal("watermark", a.Watermark, int64(0))
	f.equal("token", f.ask(protocol.Granted, c).Token, a.Token)
	f.ask(protocol.Held, f.of(n, "b", onlyOpen))
	f.ok("Renew", f.renew(grantOf(c, a)))
	f.ok("Release", f.release(grantOf(c, a)))
	g := f.granted(n, ttl(f.ttl))
	f.equal("attempt", g.Attempt, 2)
	f.until(f.now().Add(f.ttl))
	g = f.granted(n)
	f.equal("attempt", g.Attempt, 3)
	f.ok("Settle", f.settle(g, "succeeded"))
	f.ask(protocol.Decided, f.of(n, "b", onlyOpen))
	f.equal("settled", f.settled(), []protocol.Settled{{Tick: n, Token: g.Token, Outcome: "succeeded"}})
}

func triggeredTicksRiseAndAreNotScheduled(f *fixture) {
	last := int64(0)
	for range 30 { // faster than one in a millisecond
		n := f.open()
		f.above("tick", n, last)
		if n%1000 == 0 {
			f.Fatalf("tick: %d, a whole second", n)
		}
		f.done(n)
		last = n
	}
}

func triggeredTicksAreNew(f *fixture) {
	for range 3 {
		now, used := f.now().UnixMilli(), map[int64]bool{}
		for n := now + 1; n < now+7; n++ { // some are open, others settled
			g := f.grant(n, "a", overlap(protocol.OverlapAllow))
			if n%2 == 0 {
				f.ok("Settle", f.settle(g, "succeeded"))
			}
			used[n] = true
		}
		for n := int64(0); n < now+7; {
			if n = f.open(); used[n] {
				f.Fatalf("%d was opened a second time", n)
			}
			used[n] = true
		}
		f.until(time.UnixMilli(now + 30))
	}
}

func triggeredAndScheduledAreIndependent(f *fixture) {
	g := f.grant(100, "a")
	n := f.open()
	f.equal("watermark", f.record().Watermark, int64(100))
	f.ask(protocol.Queued, f.of(n, "b", onlyOpen, overlap(protocol.OverlapSkip)))
	f.ok("Settle", f.settle(g, "succeeded"))
	triggered := f.granted(n)
	f.equal("watermark", f.record().Watermark, int64(100))
	f.grant(101, "b")                                      // below
	f.equal("watermark", f.record().Watermark, int64(101)) //
	f.ask(protocol.Granted, f.of(n+5000, "c"))             // above
	f.equal("watermark", f.record().Watermark, n+5000)     //
	f.ask(protocol.Held, f.of(n, "b", onlyOpen))           // whatever the watermark
	f.ok("Settle", f.settle(triggered, "failed"))          //
	f.ask(protocol.Decided, f.of(n, "b", onlyOpen))        //
	f.ask(protocol.Decided, f.of(n, "b"))                  //
	f.ask(protocol.Decided, f.of(n+5000-1, "b"))           //
	f.above("a later trigger", f.open(), n)                // though the watermark lies ahead of it
	f.equal("watermark", f.record().Watermark, n+5000)     //
	f.ask(protocol.Granted, f.of(n+6000, "c"))             //
	f.equal("open", len(f.record().Open), 101-100+3)       // 101, n+5000, n+6000 and the later one
}

func repeatedTriggerSaysTheSame(f *fixture) {
	f.policy(protocol.Policy{Beside: true, Every: time.Hour, Burst: 1})
	t := protocol.Trigger{Request: "once", Key: "k", Window: time.Hour}
	first := f.trigger(protocol.Opened, t)
	again := func() {
		f.Helper()
		f.equal("tick", f.trigger(protocol.Opened, t).Tick, first.Tick)
	}
	again()
	f.policy(protocol.Policy{Beside: true})
	f.open()
	again()
	g := f.granted(first.Tick, overlap(protocol.OverlapAllow))
	again()
	f.open()
	again()
	f.equal("open", len(f.record().Open), 3)
	f.ok("Settle", f.settle(g, "succeeded"))

	// However many others come, as long as it waits.
	t = protocol.Trigger{Request: "other"}
	first = f.trigger(protocol.Opened, t)
	for range protocol.Remembered + 2 {
		f.open()
	}
	again()

	// And as long as it may come again, when others have come and gone.
	f.done(first.Tick)
	for range protocol.Remembered + 2 {
		f.done(f.open())
	}
	again()
}

func whatWaitsServesOthersToo(f *fixture) {
	n := f.trigger(protocol.Opened, protocol.Trigger{}).Tick
	for range 3 {
		f.equal("tick", f.trigger(protocol.Waiting, protocol.Trigger{}).Tick, n)
	}
	f.equal("open", len(f.record().Open), 1)
	g := f.granted(n)
	next := f.trigger(protocol.Opened, protocol.Trigger{}).Tick // for what has begun does not
	f.above("tick", next, n)
	f.equal("tick", f.trigger(protocol.Waiting, protocol.Trigger{}).Tick, next)
	beside := f.open()
	f.policy(protocol.Policy{})
	f.equal("the oldest waits for longest", f.trigger(protocol.Waiting, protocol.Trigger{}).Tick, next)
	f.ok("Settle", f.settle(g, "succeeded"))
	f.done(beside)
	f.done(next)
}

func settledTriggerIsNeverGrantedAgain(f *fixture) {
	f.grant(100, "a")
	n := f.open()
	old := f.granted(n, overlap(protocol.OverlapAllow), ttl(f.ttl))
	f.until(f.now().Add(f.ttl))
	current := f.granted(n, overlap(protocol.OverlapAllow))
	f.ok("Settle", f.settle(current, "succeeded"))
	refused := func() {
		f.Helper()
		for range 2 {
			f.ask(protocol.Decided, f.of(n, "a", onlyOpen))
			f.fenced("Renew", f.renew(current))
			f.fenced("Renew by who was taken over", f.renew(old))
			f.fenced("Release by who was taken over", f.release(old))
			f.fenced("Settle by who was taken over", f.settle(old, "failed"))
		}
	}
	refused()
	for i := range protocol.Remembered + 2 { // long after the store has stopped to remember it one by one
		if i%2 == 0 {
			f.ok("Settle", f.settle(f.grant(101+int64(i), "b", overlap(protocol.OverlapAllow)), "succeeded"))
		} else {
			beside := f.open()
			f.ok("Settle", f.settle(f.granted(beside, overlap(protocol.OverlapAllow)), "succeeded"))
		}
		refused()
	}
	f.fenced("Settle", f.settle(current, "succeeded"))
	f.equal("watermark", f.record().Watermark, int64(101+protocol.Remembered))
}

func lostTriggerIsLost(f *fixture) {
	n := f.open()
	g := f.granted(n, takeovers(0), ttl(f.ttl))
	f.until(f.now().Add(f.ttl))
	f.ask(protocol.Lost, f.of(n, "b", onlyOpen))
	f.ask(protocol.Decided, f.of(n, "b", onlyOpen))
	f.fenced("Settle", f.settle(g, "succeeded"))
}

func forgottenTriggerIsWrittenBack(f *fixture) {
	n := f.open()
	g := f.granted(n)
	f.forgetAll()
	f.sync(protocol.Sync{Name: f.name, Watermark: 90})
	f.ask(protocol.Decided, f.of(n, "b", onlyOpen))
	f.ok("Renew", f.renew(g))
	f.ask(protocol.Held, f.of(n, "b", onlyOpen))
	f.ok("Settle", f.settle(g, "succeeded"))
	f.ask(protocol.Decided, f.of(n, "b"))
	f.fenced("Renew", f.renew(g))
	f.above("tick", f.open(), n)
}

// many is how many trigger at the same time.
const many = 200

func watchNotifiesThatWhatWaitsMayBegin(f *fixture) {
	woken := f.watch()
	g := f.grant(100, "a")
	f.awaits(woken, f.name, f.open())
	f.ok("Settle", f.settle(g, "succeeded"))
	f.awaits(woken, f.name, 0)
}

func watchNotifiesOfTriggers(f *fixture) {
	woken := f.watch()
	f.awaits(woken, f.name, f.open())
}

func faultyTriggersAreRefused(f *fixture) {
	c := f.store
	good := protocol.Trigger{Name: f.name, By: "ops", Request: "t"}
	for what, change := range map[string]func(t *protocol.Trigger){
		"without a name":         func(t *protocol.Trigger) { t.Name = "" },
		"by nobody":              func(t *protocol.Trigger) { t.By = "" },
		"by two":                 func(t *protocol.Trigger) { t.By = "a b" },
		"without a request":      func(t *protocol.Trigger) { t.Request = "" },
		"with a line break":      func(t *protocol.Trigger) { t.Request = "a\nb" },
		"with a faulty key":      func(t *protocol.Trigger) { t.Key, t.Window = "a:b", time.Hour },
		"with a key for no time": func(t *protocol.Trigger) { t.Key = "k" },
		"with a key for ever":    func(t *protocol.Trigger) { t.Key, t.Window = "k", 31*24*time.Hour },
	} {
		t := good
		change(&t)
		_, err := c.Trigger(f.ctx, t)
		f.refused("a trigger "+what, err)
	}
	f.equal("open", len(f.record().Open), 0)
}
