package leasetest

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/solotick/solotick/internal/protocol"
)

func onlySoManyWait(f *fixture) {
	first := f.open()
	for range protocol.MaxWaiting - 1 {
		f.open()
	}
	for range 2 {
		a := f.trigger(protocol.Limited, protocol.Trigger{})
		f.above("wait", int64(a.Wait), 0)
		f.equal("limit", a.Limit, protocol.LimitWaiting)
	}
	f.equal("open", len(f.record().Open), protocol.MaxWaiting)
	f.policy(protocol.Policy{})
	f.equal("tick", f.trigger(protocol.Waiting, protocol.Trigger{}).Tick, first)
	g := f.granted(first)
	f.open()
	f.trigger(protocol.Limited, protocol.Trigger{})
	f.ok("Settle", f.settle(g, "succeeded"))
	f.trigger(protocol.Limited, protocol.Trigger{})
}

func triggersWithAKeyAreOne(f *fixture) {
	one := protocol.Trigger{Key: "one", Window: time.Hour}
	n := f.trigger(protocol.Opened, one).Tick
	f.equal("tick", f.trigger(protocol.Repeated, one).Tick, n)
	f.done(n)
	f.equal("tick", f.trigger(protocol.Repeated, one).Tick, n)
	other := f.trigger(protocol.Opened, protocol.Trigger{Key: "two", Window: time.Hour}).Tick
	f.equal("tick", f.trigger(protocol.Repeated, protocol.Trigger{Key: "two", Window: time.Hour}).Tick, other)
	f.equal("tick", f.trigger(protocol.Repeated, one).Tick, n)
	f.equal("tick", f.trigger(protocol.Waiting, protocol.Trigger{}).Tick, other)

	// A trigger that one that waits serves is remembered as that; a refused one is not.
	f.trigger(protocol.Waiting, protocol.Trigger{Key: "three", Window: time.Hour})
	f.done(other)
	f.equal("tick", f.trigger(protocol.Repeated, protocol.Trigger{Key: "three", Window: time.Hour}).Tick, other)

	f.again() // the keys of names are apart
	f.trigger(protocol.Opened, one)
}

func windowsOfKeysEnd(f *fixture) {
	for d := 4 * f.ttl; ; d *= 2 { // however slow the machine
		f.policy(protocol.Policy{Beside: true})
		t := protocol.Trigger{Key: "k", Window: d}
		before := f.now()
		n := f.trigger(protocol.Opened, t).Tick
		opened := f.now()
		longer := t
		longer.Window = time.Hour // the first one's is in force
		a, err := f.store.Trigger(f.ctx, f.filled(longer))
		f.ok("Trigger", err)
		if a.Status == protocol.Opened && f.now().Sub(before) >= d && d < long {
			f.again()
			continue
		}
		f.equal("answer", a, protocol.Triggered{Status: protocol.Repeated, Tick: n})
		f.until(opened.Add(d + time.Millisecond))
		f.above("tick", f.trigger(protocol.Opened, t).Tick, n)
		return
	}
}

func triggersAreLimitedExactly(f *fixture) {
	const every, burst = time.Hour, 3
	p := protocol.Policy{Every: every, Burst: burst, Beside: true}
	f.policy(p)
	before := f.now()
	f.trigger(protocol.Opened, protocol.Trigger{})
	after := f.now()
	for range burst - 1 {
		f.trigger(protocol.Opened, protocol.Trigger{})
	}
	for range 2 { // and a refused trigger does not count
		asked := f.now()
		a := f.trigger(protocol.Limited, protocol.Trigger{})
		f.equal("tick", a.Tick, int64(0))
		f.equal("limit", a.Limit, protocol.LimitRate)
		f.equal("policy", a.Policy, p)
		// It may come when every has passed since the first. A store that estimates its clock is off by
		// about a round trip, which takes long on a busy machine.
		const off = time.Second
		f.between("when the next may come", asked.Add(a.Wait).Sub(before.Add(every)), -f.now().Sub(asked)-off, after.Sub(before)+off)
	}
	f.equal("open", len(f.record().Open), burst)

	f.again() // the limits of names are apart
	f.policy(p)
	f.trigger(protocol.Opened, protocol.Trigger{})

	// What opens nothing needs no leave, and takes none.
	f.again()
	f.policy(protocol.Policy{Every: every, Burst: 2})
	one := protocol.Trigger{Key: "k", Window: time.Hour}
	f.trigger(protocol.Opened, one)
	f.trigger(protocol.Repeated, one)
	f.trigger(protocol.Waiting, protocol.Trigger{})
	f.policy(protocol.Policy{Every: every, Burst: 2, Beside: true})
	f.trigger(protocol.Opened, protocol.Trigger{})
	f.trigger(protocol.Limited, protocol.Trigger{})
	f.trigger(protocol.Repeated, one)

	// The widest limit there is.
	f.again()
	f.policy(protocol.Policy{Every: 365 * 24 * time.Hour, Burst: 1_000_000, Beside: true})
	for range 4 {
		f.trigger(protocol.Opened, protocol.Trigger{})
	}
}

func whoWaitsForTheLimitIsAccepted(f *fixture) {
	p := protocol.Policy{Every: 2 * f.ttl, Burst: 2, Beside: true}
	f.policy(p)
	f.trigger(protocol.Opened, protocol.Trigger{})
	f.trigger(protocol.Opened, protocol.Trigger{})
	accepted, limited := f.now(), 0
	for range 4 {
		a, err := f.store.Trigger(f.ctx, f.filled(protocol.Trigger{}))
		f.ok("Trigger", err)
		if a.Status == protocol.Limited {
			limited++
			f.between("wait", a.Wait, 1, p.Every)
			f.until(f.now().Add(a.Wait))
			f.trigger(protocol.Opened, protocol.Trigger{})
		}
	}
	if f.now().Sub(accepted) < 2*p.Every && limited == 0 {
		f.Fatal("six were accepted at once")
	}

	// After a rest as many at once as at first.
	f.until(f.now().Add(2 * p.Every))
	f.trigger(protocol.Opened, protocol.Trigger{})
	f.trigger(protocol.Opened, protocol.Trigger{})
}

func keysAreNeverForgottenWithinTheirWindows(f *fixture) {
	f.policy(protocol.Policy{})
	key := func(i int, window time.Duration) protocol.Trigger {
		return protocol.Trigger{Key: fmt.Sprint("k", i), Window: window}
	}
	n := f.trigger(protocol.Opened, key(0, time.Hour)).Tick
	for i := 1; i < protocol.MaxKeys-1; i++ {
		f.trigger(protocol.Waiting, key(i, 2*time.Hour))
	}
	f.trigger(protocol.Waiting, key(protocol.MaxKeys, f.ttl))
	f.until(f.now().Add(f.ttl)) // one whose window ends makes room
	f.trigger(protocol.Waiting, key(protocol.MaxKeys-1, 2*time.Hour))
	a := f.trigger(protocol.Limited, key(protocol.MaxKeys, time.Hour))
	f.equal("limit", a.Limit, protocol.LimitKeys)
	f.between("wait", a.Wait, 1, time.Hour)
	for _, i := range []int{0, 1, protocol.MaxKeys - 1} {
		f.equal("tick", f.trigger(protocol.Repeated, key(i, time.Hour)).Tick, n)
	}
	f.equal("tick", f.trigger(protocol.Waiting, protocol.Trigger{}).Tick, n)
}

// triggerAtOnce lets them trigger, and returns the ticks by status.
func (f *fixture) triggerAtOnce(t protocol.Trigger) map[protocol.TriggerStatus][]int64 {
	f.Helper()
	c := f.store
	answers, errs := make([]protocol.Triggered, many), make([]error, many)
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
	by := make(map[protocol.TriggerStatus][]int64)
	for _, a := range answers {
		by[a.Status] = append(by[a.Status], a.Tick)
	}
	return by
}

func manyTriggersAtOnce(f *fixture) {
	const burst = 5
	by := f.triggerAtOnce(protocol.Trigger{Key: "k", Window: time.Hour})
	f.equal("opened", len(by[protocol.Opened]), 1)
	f.equal("repeated", len(by[protocol.Repeated]), many-1)
	for _, n := range by[protocol.Repeated] {
		f.equal("tick", n, by[protocol.Opened][0])
	}
	f.equal("open", len(f.record().Open), 1)

	f.again()
	by = f.triggerAtOnce(protocol.Trigger{})
	f.equal("opened", len(by[protocol.Opened]), 1)
	f.equal("waiting", len(by[protocol.Waiting]), many-1)

	f.again()
	f.policy(protocol.Policy{Every: time.Hour, Burst: burst, Beside: true})
	by = f.triggerAtOnce(protocol.Trigger{})
	f.equal("opened", len(by[protocol.Opened]), burst)
	f.equal("limited", len(by[protocol.Limited]), many-burst)
	f.equal("open", len(f.record().Open), burst)

	f.again()
	f.policy(protocol.Policy{Beside: true})
	by = f.triggerAtOnce(protocol.Trigger{Request: "same"})
	f.equal("opened", len(by[protocol.Opened]), many)
	f.equal("open", len(f.record().Open), 1)
}
