package leasetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/solotick/solotick/internal/protocol"
)

func namesAreIndependent(f *fixture) {
	x := f.other("x")
	f.sync(protocol.Sync{Name: x})
	one, other := f.grant(100, "a"), f.grant(100, "b", named(x))
	f.ok("Settle", f.settle(one, "succeeded"))
	f.ask(protocol.Decided, f.of(100, "c"))
	f.equal("holder", f.ask(protocol.Held, f.of(100, "c", named(x))).Holder, "b")
	f.ask(protocol.Unknown, f.of(100, "c", named(f.other("y"))))
	wrong := other
	wrong.Name = f.name
	f.fenced("Renew under another name", f.renew(wrong))
	f.ok("Renew", f.renew(other))
	f.equal("watermark", f.sync(protocol.Sync{Name: x}).Watermark, int64(100))
	f.grant(101, "a")
	f.equal("watermark", f.sync(protocol.Sync{Name: x}).Watermark, int64(100))
}

func ctxEndsCall(f *fixture) {
	g := f.grant(100, "a")
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(f.ctx)
	cancel(cause)
	calls := map[string]func() error{
		"Claim":   func() error { _, err := f.store.Claim(ctx, f.of(101, "a")); return err },
		"Renew":   func() error { return f.store.Renew(ctx, []protocol.Grant{g})[0] },
		"Settle":  func() error { return f.store.Settle(ctx, g, "succeeded") },
		"Release": func() error { return f.store.Release(ctx, g) },
		"Pass": func() error {
			_, _, err := f.store.Skip(ctx, protocol.Skip{Name: f.name, From: 100, To: 200, Outcome: "missed", Request: "p", Holder: "a"})
			return err
		},
		"Sync": func() error { _, err := f.store.Sync(ctx, []protocol.Sync{{Name: f.other("x")}}); return err },
		"Time": func() error { _, _, err := f.store.Time(ctx); return err },
	}
	calls["Watch"] = func() error { return f.store.Watch(ctx, func(string, int64) {}) }
	calls["Inspect"] = func() error { _, err := f.store.Inspect(ctx, f.name); return err }
	f.addOptional(ctx, calls)
	for verb, call := range calls {
		err := call()
		if !errors.Is(err, cause) && !errors.Is(err, context.Canceled) {
			f.Errorf("%s under a context that has ended: %v, want the reason why it has", verb, err)
		}
		if errors.Is(err, protocol.ErrFenced) {
			f.Errorf("%s under a context that has ended shows the grant: %v", verb, err)
		}
	}
}

// addOptional adds the calls of what a store may be besides.
func (f *fixture) addOptional(ctx context.Context, calls map[string]func() error) {
	calls["Pause"] = func() error { _, err := f.store.Pause(ctx, f.name, protocol.Pause{By: "a"}); return err }
	calls["Resume"] = func() error { _, err := f.store.Resume(ctx, f.name, protocol.Resume{By: "a"}); return err }
	calls["Trigger"] = func() error {
		_, err := f.store.Trigger(ctx, protocol.Trigger{Name: f.name, By: "a", Request: "t"})
		return err
	}
	calls["Announce"] = func() error { return f.store.SendHeartbeat(ctx, f.name, nil, long) }
	calls["Members"] = func() error { _, err := f.store.Members(ctx); return err }
}

// claimAtOnce lets many holders ask at the same time, and returns their answers.
func (f *fixture) claimAtOnce(tick int64) []protocol.Answer {
	f.Helper()
	const n = 64
	claims := make([]protocol.Claim, n)
	for i := range claims {
		claims[i] = f.of(tick, fmt.Sprintf("h%d", i))
	}
	answers, errs := make([]protocol.Answer, n), make([]error, n)
	start := make(chan struct{})
	var all sync.WaitGroup
	for i, c := range claims {
		all.Go(func() {
			<-start
			answers[i], errs[i] = f.store.Claim(f.ctx, c)
		})
	}
	close(start)
	all.Wait()
	f.ok("Claim", errors.Join(errs...))
	return answers
}

// onlyOne wants exactly one grant, which the other answers name.
func (f *fixture) onlyOne(answers []protocol.Answer) protocol.Answer {
	f.Helper()
	winner := -1
	for i, a := range answers {
		switch {
		case a.Status == protocol.Granted && winner >= 0:
			f.Fatalf("granted to h%d and h%d: %+v and %+v", winner, i, answers[winner], a)
		case a.Status == protocol.Granted:
			winner = i
		case a.Status != protocol.Held:
			f.Fatalf("answer to h%d: %+v", i, a)
		}
	}
	if winner < 0 {
		f.Fatal("granted to nobody")
	}
	for i, a := range answers {
		if i != winner {
			f.equal("holder", a.Holder, fmt.Sprintf("h%d", winner))
		}
	}
	return answers[winner]
}

func manyAtOnce(f *fixture) {
	var last int64
	for n := range int64(10) {
		a := f.onlyOne(f.claimAtOnce(100 + n))
		f.equal("attempt", a.Attempt, 1)
		f.above("token", a.Token, last)
		last = a.Token
	}
	f.onlyOne(f.claimAtOnce(0))
}

func manyTakeoversAtOnce(f *fixture) {
	g := f.expired(100, "a", takeovers(2))
	a := f.onlyOne(f.claimAtOnce(100))
	f.equal("attempt", a.Attempt, 2)
	f.equal("takeovers", a.Takeovers, 1)
	f.above("token", a.Token, g.Token)

	f.expired(200, "a", takeovers(0))
	lost := 0
	for _, a := range f.claimAtOnce(200) {
		switch a.Status {
		case protocol.Lost:
			lost++
		case protocol.Decided:
		default:
			f.Fatalf("answer: %+v", a)
		}
	}
	f.equal("answers that it was settled as lost", lost, 1)
}

func timeGoesOn(f *fixture) {
	last, since, err := f.store.Time(f.ctx)
	f.ok("Time", err)
	if since.After(last) {
		f.Fatalf("the store remembers since %s, but it is %s", since, last)
	}
	for range 20 {
		now := f.now()
		if now.Before(last) {
			f.Fatalf("the store's clock went from %s to %s", last, now)
		}
		a := f.ask(protocol.Held, f.heldBySomeone())
		if a.Now.Before(now) {
			f.Fatalf("an answer's clock says %s after %s", a.Now, now)
		}
		last = a.Now
	}
	time.Sleep(2 * f.ttl)
	f.between("the clock's progress", f.now().Sub(last), 2*f.ttl-time.Millisecond, long)
}

func (f *fixture) heldBySomeone() protocol.Claim {
	if _, err := f.store.Claim(f.ctx, f.of(0, "someone", request("always"))); err != nil {
		f.Fatalf("Claim: %v", err)
	}
	return f.of(0, "other")
}

// call has the arguments of one call of a watcher.
type call struct {
	name string
	tick int64
}

// watch watches until the case ends, and returns what it is woken with.
func (f *fixture) watch() <-chan call {
	f.Helper()
	ctx, cancel := context.WithCancel(f.ctx)
	woken, ended := make(chan call, 1024), make(chan error, 1)
	go func() { ended <- f.store.Watch(ctx, func(name string, tick int64) { woken <- call{name, tick} }) }()
	f.Cleanup(func() {
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			f.Errorf("Watch ended with: %v", err)
		}
	})
	f.awaits(woken, "", 0)
	return woken
}

// awaits returns when woken brings name with tick. Wakes get lost, but not without a reason.
func (f *fixture) awaits(woken <-chan call, name string, tick int64) {
	f.Helper()
	bound := time.NewTimer(20 * time.Second)
	defer bound.Stop()
	for {
		select {
		case got := <-woken:
			if got == (call{name, tick}) {
				return
			}
		case <-bound.C:
			f.Fatalf("not woken with %q, %d", name, tick)
		}
	}
}

func watchNotifiesOfReleases(f *fixture) {
	woken := f.watch()
	g := f.grant(100, "a")
	f.ok("Release", f.release(g))
	f.awaits(woken, f.name, 0)
	for _, end := range []func(protocol.Grant) error{
		f.release,
		func(g protocol.Grant) error { return f.settle(g, "succeeded") },
	} {
		lock := f.other("x")
		f.ok("end of a plain lock", end(f.grant(0, "a", named(lock))))
		f.awaits(woken, lock, 0)
	}
}

func watchNotifiesWhoWaits(f *fixture) {
	woken := f.watch()
	g := f.grant(100, "a")
	c := f.of(101, "b", overlap(protocol.OverlapWait))
	f.ask(protocol.Busy, c)
	f.ok("Settle", f.settle(g, "succeeded"))
	f.awaits(woken, f.name, 0)
	f.ask(protocol.Granted, c)
}

func (f *fixture) inspect(name string) protocol.Record {
	f.Helper()
	r, err := f.store.Inspect(f.ctx, name)
	f.ok("Inspect", err)
	return r
}

func inspectShowsTheRecord(f *fixture) {
	settled := f.grant(100, "a")
	settled.Note = "well done"
	f.ok("Settle", f.settle(settled, "succeeded"))
	held := f.grant(101, "b")
	r := f.inspect(f.name)
	f.equal("open", len(r.Open), 1)
	f.between("left", r.Open[0].Remaining, 1, kept(long))
	r.Open[0].Remaining = 0
	f.equal("settled", len(r.Settled), 1)
	f.between("settled since", f.now().Sub(r.Settled[0].At), 0, long)
	r.Settled[0].At = time.Time{}
	f.equal("record", r, protocol.Record{
		Name: f.name, Watermark: 101, Token: held.Token,
		Open:    []protocol.Open{{Tick: 101, Token: held.Token, Attempt: 1, Holder: "b"}},
		Settled: []protocol.Settled{{Tick: 100, Token: settled.Token, Attempt: 1, Outcome: "succeeded", Holder: "a", Note: "well done"}},
	})
	f.ok("Release", f.release(held))
	f.equal("left of what is released", f.inspect(f.name).Open[0].Remaining, time.Duration(0))
}

// settled returns the settled ticks, with the fields that are the same on every store.
func (f *fixture) settled() (list []protocol.Settled) {
	f.Helper()
	for _, s := range f.inspect(f.name).Settled {
		list = append(list, protocol.Settled{Tick: s.Tick, Token: s.Token, Outcome: s.Outcome})
	}
	return list
}

// lostOf returns what the claim has settled as lost besides.
func lostOf(a protocol.Answer) (lost []int64) {
	for _, s := range a.Settled {
		if s.Outcome == protocol.OutcomeLost {
			lost = append(lost, s.Tick)
		}
	}
	return lost
}

func inspectChangesNothing(f *fixture) {
	name := f.other("x")
	f.equal("record of nothing", f.inspect(name), protocol.Record{Name: name})
	f.ask(protocol.Unknown, f.of(1, "a", named(name)))
	f.equal("made", f.sync(protocol.Sync{Name: name, Watermark: 5}).Made, true)
	f.equal("record", f.inspect(name), protocol.Record{Name: name, Watermark: 5})
	f.ask(protocol.Decided, f.of(5, "a", named(name)))
}
