package leasetest

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/solotick/solotick/lease"
)

// trigger triggers, with a request of its own if t has none, and wants an answer of the given status.
func (f *fixture) trigger(want lease.TriggerStatus, t lease.Trigger) lease.Triggered {
	f.Helper()
	a, err := f.controller().Trigger(f.ctx, f.filled(t))
	f.ok("Trigger", err)
	if a.Status != want {
		f.Fatalf("trigger: %s, want %s: %+v", a.Status, want, a)
	}
	return a
}

func (f *fixture) filled(t lease.Trigger) lease.Trigger {
	t.Name, t.By = f.name, "ops"
	if t.Request == "" {
		f.requests++
		t.Request = fmt.Sprintf("t%d", f.requests)
	}
	return t
}

// open triggers an occasion beside all others.
func (f *fixture) open() int64 {
	f.Helper()
	return f.trigger(lease.Opened, lease.Trigger{Beside: true}).Occasion
}

// granted claims what was triggered.
func (f *fixture) granted(occasion int64, changes ...change) lease.Grant {
	f.Helper()
	return f.grant(occasion, "a", append([]change{onlyOpen}, changes...)...)
}

// done claims what was triggered, and settles it.
func (f *fixture) done(occasion int64) {
	f.Helper()
	f.ok("Settle", f.settle(f.granted(occasion), "succeeded"))
}

func triggerOpensAnOccasion(f *fixture) {
	before := f.now()
	n := f.trigger(lease.Opened, lease.Trigger{}).Occasion
	if n < before.UnixMilli() || n > f.now().UnixMilli()+1 {
		f.Fatalf("occasion: %d, want now, %d, or a little more", n, before.UnixMilli())
	}
	r := f.record()
	f.equal("mark", r.Mark, int64(0))
	f.equal("open", r.Open, []lease.Open{{Occasion: n, Holder: "ops"}})

	c := f.of(n, "a", onlyOpen, takeovers(1))
	a := f.ask(lease.Granted, c)
	f.equal("attempt", a.Attempt, 1)
	f.equal("takeovers", a.Takeovers, 1)
	f.equal("mark", a.Mark, int64(0))
	f.equal("token", f.ask(lease.Granted, c).Token, a.Token)
	f.ask(lease.Held, f.of(n, "b", onlyOpen))
	f.ok("Renew", f.renew(grantOf(c, a)))
	f.ok("Release", f.release(grantOf(c, a)))
	g := f.granted(n, term(f.term))
	f.equal("attempt", g.Attempt, 2)
	f.until(f.now().Add(f.term))
	g = f.granted(n)
	f.equal("attempt", g.Attempt, 3)
	f.ok("Settle", f.settle(g, "succeeded"))
	f.ask(lease.Decided, f.of(n, "b", onlyOpen))
	f.equal("settled", f.settled(), []lease.Settled{{Occasion: n, Token: g.Token, Outcome: "succeeded"}})
}

func triggeredOccasionsRiseAndAreNoTicks(f *fixture) {
	last := int64(0)
	for range 30 { // faster than one in a millisecond
		n := f.open()
		f.above("occasion", n, last)
		if n%1000 == 0 {
			f.Fatalf("occasion: %d, a whole second", n)
		}
		f.done(n)
		last = n
	}
}

func triggeredOccasionsAreNew(f *fixture) {
	for range 3 {
		now, used := f.now().UnixMilli(), map[int64]bool{}
		for n := now + 1; n < now+7; n++ { // some are open, others settled
			g := f.grant(n, "a", overlap(lease.OverlapAllow))
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
	f.equal("mark", f.record().Mark, int64(100))
	f.ask(lease.Queued, f.of(n, "b", onlyOpen, overlap(lease.OverlapSkip)))
	f.ok("Settle", f.settle(g, "succeeded"))
	triggered := f.granted(n)
	f.equal("mark", f.record().Mark, int64(100))
	f.grant(101, "b")                                // below
	f.equal("mark", f.record().Mark, int64(101))     //
	f.ask(lease.Granted, f.of(n+5000, "c"))          // above
	f.equal("mark", f.record().Mark, n+5000)         //
	f.ask(lease.Held, f.of(n, "b", onlyOpen))        // whatever the mark
	f.ok("Settle", f.settle(triggered, "failed"))    //
	f.ask(lease.Decided, f.of(n, "b", onlyOpen))     //
	f.ask(lease.Decided, f.of(n, "b"))               //
	f.ask(lease.Decided, f.of(n+5000-1, "b"))        //
	f.above("a later trigger", f.open(), n)          // though the mark lies ahead of it
	f.equal("mark", f.record().Mark, n+5000)         //
	f.ask(lease.Granted, f.of(n+6000, "c"))          //
	f.equal("open", len(f.record().Open), 101-100+3) // 101, n+5000, n+6000 and the later one
}

func repeatedTriggerSaysTheSame(f *fixture) {
	t := lease.Trigger{Request: "once", Beside: true, Key: "k", Window: time.Hour, Every: time.Hour, Burst: 1}
	first := f.trigger(lease.Opened, t)
	again := func() {
		f.Helper()
		f.equal("occasion", f.trigger(lease.Opened, t).Occasion, first.Occasion)
	}
	again()
	f.open()
	again()
	g := f.granted(first.Occasion, overlap(lease.OverlapAllow))
	again()
	f.open()
	again()
	f.equal("open", len(f.record().Open), 3)
	f.ok("Settle", f.settle(g, "succeeded"))

	// However many others come, as long as it waits.
	t = lease.Trigger{Request: "other", Beside: true}
	first = f.trigger(lease.Opened, t)
	for range lease.Remembered + 2 {
		f.open()
	}
	again()
}

func whatWaitsServesOthersToo(f *fixture) {
	n := f.trigger(lease.Opened, lease.Trigger{}).Occasion
	for range 3 {
		f.equal("occasion", f.trigger(lease.Waiting, lease.Trigger{}).Occasion, n)
	}
	f.equal("open", len(f.record().Open), 1)
	g := f.granted(n)
	next := f.trigger(lease.Opened, lease.Trigger{}).Occasion // for what has begun does not
	f.above("occasion", next, n)
	f.equal("occasion", f.trigger(lease.Waiting, lease.Trigger{}).Occasion, next)
	beside := f.open()
	f.equal("the oldest waits for longest", f.trigger(lease.Waiting, lease.Trigger{}).Occasion, next)
	f.ok("Settle", f.settle(g, "succeeded"))
	f.done(beside)
	f.done(next)
}

func onlySoManyWait(f *fixture) {
	first := f.open()
	for range lease.MaxWaiting - 1 {
		f.open()
	}
	for range 2 {
		f.above("wait", int64(f.trigger(lease.Limited, lease.Trigger{Beside: true}).Wait), 0)
	}
	f.equal("open", len(f.record().Open), lease.MaxWaiting)
	f.equal("occasion", f.trigger(lease.Waiting, lease.Trigger{}).Occasion, first)
	g := f.granted(first)
	f.open()
	f.trigger(lease.Limited, lease.Trigger{Beside: true})
	f.ok("Settle", f.settle(g, "succeeded"))
	f.trigger(lease.Limited, lease.Trigger{Beside: true})
}

func triggersWithAKeyAreOne(f *fixture) {
	one := lease.Trigger{Key: "one", Window: time.Hour}
	n := f.trigger(lease.Opened, one).Occasion
	f.equal("occasion", f.trigger(lease.Repeated, one).Occasion, n)
	f.done(n)
	one.Beside = true
	f.equal("occasion", f.trigger(lease.Repeated, one).Occasion, n)
	other := f.trigger(lease.Opened, lease.Trigger{Key: "two", Window: time.Hour}).Occasion
	f.equal("occasion", f.trigger(lease.Repeated, lease.Trigger{Key: "two", Window: time.Hour}).Occasion, other)
	f.equal("occasion", f.trigger(lease.Repeated, one).Occasion, n)
	f.equal("occasion", f.trigger(lease.Waiting, lease.Trigger{}).Occasion, other)

	// What opened nothing, but is served by one that waits, is remembered as that; what was refused is not.
	f.trigger(lease.Waiting, lease.Trigger{Key: "three", Window: time.Hour})
	f.done(other)
	f.equal("occasion", f.trigger(lease.Repeated, lease.Trigger{Key: "three", Window: time.Hour}).Occasion, other)

	f.anew() // the keys of names are apart
	f.trigger(lease.Opened, one)
}

func windowsOfKeysEnd(f *fixture) {
	for d := 4 * f.term; ; d *= 2 { // however slow the machine
		t := lease.Trigger{Key: "k", Window: d, Beside: true}
		before := f.now()
		n := f.trigger(lease.Opened, t).Occasion
		opened := f.now()
		longer := t
		longer.Window = time.Hour // the first one's is in force
		a, err := f.controller().Trigger(f.ctx, f.filled(longer))
		f.ok("Trigger", err)
		if a.Status == lease.Opened && f.now().Sub(before) >= d && d < long {
			f.anew()
			continue
		}
		f.equal("answer", a, lease.Triggered{Status: lease.Repeated, Occasion: n})
		f.until(opened.Add(d + time.Millisecond))
		f.above("occasion", f.trigger(lease.Opened, t).Occasion, n)
		return
	}
}

func triggersAreLimitedExactly(f *fixture) {
	const every, burst = time.Hour, 3
	t := lease.Trigger{Every: every, Burst: burst, Beside: true}
	before := f.now()
	f.trigger(lease.Opened, t)
	after := f.now()
	for range burst - 1 {
		f.trigger(lease.Opened, t)
	}
	for range 2 { // and what was refused does not count
		asked := f.now()
		a := f.trigger(lease.Limited, t)
		f.equal("occasion", a.Occasion, int64(0))
		// It may come when every has passed since the first.
		f.between("when the next may come", asked.Add(a.Wait).Sub(before.Add(every)), -f.now().Sub(asked)-time.Microsecond, after.Sub(before)+time.Microsecond)
	}
	f.equal("open", len(f.record().Open), burst)
	f.open() // without a limit

	f.anew() // the limits of names are apart
	f.trigger(lease.Opened, t)

	// What opens nothing needs no leave, and takes none.
	f.anew()
	one := lease.Trigger{Every: every, Burst: 2, Key: "k", Window: time.Hour}
	f.trigger(lease.Opened, one)
	f.trigger(lease.Repeated, one)
	f.trigger(lease.Waiting, lease.Trigger{Every: every, Burst: 2})
	f.trigger(lease.Opened, lease.Trigger{Every: every, Burst: 2, Beside: true})
	f.trigger(lease.Limited, lease.Trigger{Every: every, Burst: 2, Beside: true})
	f.trigger(lease.Repeated, one)

	// The widest limit there is.
	f.anew()
	for range 4 {
		f.trigger(lease.Opened, lease.Trigger{Every: 365 * 24 * time.Hour, Burst: 1_000_000, Beside: true})
	}
}

func whoWaitsForTheLimitIsAccepted(f *fixture) {
	t := lease.Trigger{Every: 2 * f.term, Burst: 2, Beside: true}
	f.trigger(lease.Opened, t)
	f.trigger(lease.Opened, t)
	accepted, limited := f.now(), 0
	for range 4 {
		a, err := f.controller().Trigger(f.ctx, f.filled(t))
		f.ok("Trigger", err)
		if a.Status == lease.Limited {
			limited++
			f.between("wait", a.Wait, 1, t.Every)
			f.until(f.now().Add(a.Wait))
			f.trigger(lease.Opened, t)
		}
	}
	if f.now().Sub(accepted) < 2*t.Every && limited == 0 {
		f.Fatal("six were accepted at once")
	}

	// After a rest as many at once as at first.
	f.until(f.now().Add(2 * t.Every))
	f.trigger(lease.Opened, t)
	f.trigger(lease.Opened, t)
}

func settledTriggerIsNeverGrantedAgain(f *fixture) {
	f.grant(100, "a")
	n := f.open()
	old := f.granted(n, overlap(lease.OverlapAllow), term(f.term))
	f.until(f.now().Add(f.term))
	current := f.granted(n, overlap(lease.OverlapAllow))
	f.ok("Settle", f.settle(current, "succeeded"))
	refused := func() {
		f.Helper()
		for range 2 {
			f.ask(lease.Decided, f.of(n, "a", onlyOpen))
			f.fenced("Renew", f.renew(current))
			f.fenced("Renew by who was taken over", f.renew(old))
			f.fenced("Release by who was taken over", f.release(old))
			f.fenced("Settle by who was taken over", f.settle(old, "failed"))
		}
	}
	refused()
	for i := range lease.Remembered + 2 { // long after the store has stopped to remember it one by one
		if i%2 == 0 {
			f.ok("Settle", f.settle(f.grant(101+int64(i), "b", overlap(lease.OverlapAllow)), "succeeded"))
		} else {
			beside := f.open()
			f.ok("Settle", f.settle(f.granted(beside, overlap(lease.OverlapAllow)), "succeeded"))
		}
		refused()
	}
	f.fenced("Settle", f.settle(current, "succeeded"))
	f.equal("mark", f.record().Mark, int64(101+lease.Remembered))
}

func lostTriggerIsLost(f *fixture) {
	n := f.open()
	g := f.granted(n, takeovers(0), term(f.term))
	f.until(f.now().Add(f.term))
	f.ask(lease.Lost, f.of(n, "b", onlyOpen))
	f.ask(lease.Decided, f.of(n, "b", onlyOpen))
	f.fenced("Settle", f.settle(g, "succeeded"))
}

func forgottenTriggerIsWrittenAnew(f *fixture) {
	n := f.open()
	g := f.granted(n)
	f.forgetAll()
	f.sync(lease.Sync{Name: f.name, Mark: 90})
	f.ask(lease.Decided, f.of(n, "b", onlyOpen))
	f.ok("Renew", f.renew(g))
	f.ask(lease.Held, f.of(n, "b", onlyOpen))
	f.ok("Settle", f.settle(g, "succeeded"))
	f.ask(lease.Decided, f.of(n, "b"))
	f.fenced("Renew", f.renew(g))
	f.above("occasion", f.open(), n)
}

// many is how many trigger at the same time.
const many = 200

// triggerAtOnce lets them trigger, and returns the occasions by status.
func (f *fixture) triggerAtOnce(t lease.Trigger) map[lease.TriggerStatus][]int64 {
	f.Helper()
	c := f.controller()
	answers, errs := make([]lease.Triggered, many), make([]error, many)
	start := make(chan struct{})
	var all sync.WaitGroup
	for i := range many {
		t := f.filled(t)
		all.Go(func() {
			<-start
			answers[i], errs[i] = c.Trigger(f.ctx, t)
		})
	}
	close(start)
	all.Wait()
	f.ok("Trigger", errors.Join(errs...))
	by := make(map[lease.TriggerStatus][]int64)
	for _, a := range answers {
		by[a.Status] = append(by[a.Status], a.Occasion)
	}
	return by
}

func manyTriggersAtOnce(f *fixture) {
	const burst = 5
	by := f.triggerAtOnce(lease.Trigger{Key: "k", Window: time.Hour})
	f.equal("opened", len(by[lease.Opened]), 1)
	f.equal("repeated", len(by[lease.Repeated]), many-1)
	for _, n := range by[lease.Repeated] {
		f.equal("occasion", n, by[lease.Opened][0])
	}
	f.equal("open", len(f.record().Open), 1)

	f.anew()
	by = f.triggerAtOnce(lease.Trigger{})
	f.equal("opened", len(by[lease.Opened]), 1)
	f.equal("waiting", len(by[lease.Waiting]), many-1)

	f.anew()
	by = f.triggerAtOnce(lease.Trigger{Every: time.Hour, Burst: burst, Beside: true})
	f.equal("opened", len(by[lease.Opened]), burst)
	f.equal("limited", len(by[lease.Limited]), many-burst)
	f.equal("open", len(f.record().Open), burst)

	f.anew()
	by = f.triggerAtOnce(lease.Trigger{Request: "same", Beside: true})
	f.equal("opened", len(by[lease.Opened]), many)
	f.equal("open", len(f.record().Open), 1)
}

func watchTellsThatWhatWaitsMayBegin(f *fixture) {
	woken := f.watch()
	g := f.grant(100, "a")
	f.awaits(woken, f.name, f.open())
	f.ok("Settle", f.settle(g, "succeeded"))
	f.awaits(woken, f.name, 0)
}

func watchTellsOfTriggers(f *fixture) {
	woken := f.watch()
	f.awaits(woken, f.name, f.open())
}

func faultyTriggersAreRefused(f *fixture) {
	c := f.controller()
	good := lease.Trigger{Name: f.name, By: "ops", Request: "t"}
	for what, change := range map[string]func(t *lease.Trigger){
		"without a name":           func(t *lease.Trigger) { t.Name = "" },
		"by nobody":                func(t *lease.Trigger) { t.By = "" },
		"by two":                   func(t *lease.Trigger) { t.By = "a b" },
		"without a request":        func(t *lease.Trigger) { t.Request = "" },
		"with a line break":        func(t *lease.Trigger) { t.Request = "a\nb" },
		"with a faulty key":        func(t *lease.Trigger) { t.Key, t.Window = "a:b", time.Hour },
		"with a key for no time":   func(t *lease.Trigger) { t.Key = "k" },
		"with a key for ever":      func(t *lease.Trigger) { t.Key, t.Window = "k", 31*24*time.Hour },
		"with a negative limit":    func(t *lease.Trigger) { t.Every, t.Burst = -time.Hour, 1 },
		"with too rare a limit":    func(t *lease.Trigger) { t.Every, t.Burst = 366*24*time.Hour, 1 },
		"with a limit of nothing":  func(t *lease.Trigger) { t.Every = time.Hour },
		"with too great a burst":   func(t *lease.Trigger) { t.Every, t.Burst = time.Hour, 1_000_001 },
		"with a limit of too many": func(t *lease.Trigger) { t.Every, t.Burst = time.Microsecond, 1 },
	} {
		t := good
		change(&t)
		_, err := c.Trigger(f.ctx, t)
		f.refused("a trigger "+what, err)
	}
	f.equal("open", len(f.record().Open), 0)
}
