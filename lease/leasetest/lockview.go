package leasetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/solotick/solotick/internal/protocol"
)

func lockShowsHoldsAndLine(f *fixture) {
	l := f.store
	show := func() protocol.Lock {
		f.Helper()
		v, err := l.Lock(f.ctx, f.name)
		f.ok("Lock", err)
		return v
	}
	f.equal("nothing", show(), protocol.Lock{Name: f.name})
	began := f.now().Truncate(time.Microsecond)
	one, two := f.lock("a", permits(1, 3)), f.lock("b", permits(2, 3), lockTerm(long/2))
	w1, w2 := f.queue("c", permits(3, 3), arrival), f.queue("d", permits(1, 3), arrival, ticket(long/2))
	big := f.queue("e", permits(2, 3), largest)
	f.ok("Renew", f.renewLock(one))
	v := show()
	f.equal("name", v.Name, f.name)
	f.equal("token", v.Token, two.Token)
	f.equal("holds", len(v.Holds), 2)
	for i, want := range []protocol.LockGrant{one, two} { // oldest grant first, although it ends later
		h := v.Holds[i]
		f.between("left", h.Remaining, want.TTL/2, kept(want.TTL))
		if h.Since.Before(began) || h.Since.After(f.now()) {
			f.Fatalf("held since %s, before %s or after %s", h.Since, began, f.now())
		}
		h.Since, h.Remaining = time.Time{}, 0
		f.equal("hold", h, protocol.Hold{Holder: want.Holder, Request: want.Request, Token: want.Token, Permits: want.Permits})
	}
	f.equal("waiters", v.Waiters, 3)
	f.equal("line", len(v.Queue), 3)
	for i, want := range []protocol.LockClaim{w1, w2, big} {
		w := v.Queue[i]
		f.between("left", w.Remaining, want.WaiterTTL/2, want.WaiterTTL)
		if w.Since.Before(began) || w.Since.After(f.now()) {
			f.Fatalf("waits since %s, before %s or after %s", w.Since, began, f.now())
		}
		w.Since, w.Remaining = time.Time{}, 0
		f.equal("waiter", w, protocol.Waiter{Holder: want.Holder, Request: want.Request, Permits: want.Permits})
	}

	// A hold that has run out is shown until somebody needs its permits; a waiter whose TTL has passed
	// is not.
	one.TTL, two.TTL = f.ttl, f.ttl
	f.ok("Renew", errors.Join(l.RenewLocks(f.ctx, []protocol.LockGrant{one, two})...))
	w1.WaiterTTL = f.ttl
	f.askLock(protocol.Queued, w1)
	f.until(f.now().Add(f.ttl))
	v = show()
	f.equal("holds", len(v.Holds), 2)
	f.equal("left", v.Holds[0].Remaining+v.Holds[1].Remaining, time.Duration(0))
	f.equal("waiters", v.Waiters, 2)
	f.equal("first", v.Queue[0].Request, w2.Request)
	f.equal("nothing changed", show().Token, v.Token)

	for _, g := range []protocol.LockGrant{one, two} {
		f.ok("Release", f.releaseLock(g))
	}
	for _, c := range []protocol.LockClaim{w2, big} {
		f.ok("Release", f.releaseLock(f.grantedNow(c)))
	}
	f.equal("nothing any more", show(), protocol.Lock{Name: f.name})
	_, err := l.Lock(f.ctx, "no name")
	f.refused("a faulty name", err)
}

func lockShowsTheFirstOfALongLine(f *fixture) {
	f.lock("a", mutex)
	var line []string
	for range protocol.MaxQueue + 20 {
		line = append(line, f.queue("b", mutex, arrival).Request)
	}
	v, err := f.store.Lock(f.ctx, f.name)
	f.ok("Lock", err)
	f.equal("waiters", v.Waiters, protocol.MaxQueue+20)
	var shown []string
	for _, w := range v.Queue {
		shown = append(shown, w.Request)
	}
	f.equal("line", shown, line[:protocol.MaxQueue])
}

func locksListsWhatIsHeldOrWaitedFor(f *fixture) {
	l := f.store
	base := f.name
	list := func(prefix string, count int) (names []string) {
		f.Helper()
		cursor, pages := "", 0
		for {
			locks, next, err := l.Locks(f.ctx, prefix, cursor, count)
			f.ok("Locks", err)
			for _, v := range locks {
				one, err := l.Lock(f.ctx, v.Name)
				f.ok("Lock", err)
				f.equal("holds", len(v.Holds), len(one.Holds))
				f.equal("waiters", v.Waiters, one.Waiters)
				names = append(names, v.Name)
			}
			if cursor, pages = next, pages+1; cursor == "" {
				slices.Sort(names)
				return slices.Compact(names)
			}
			if pages > 100_000 {
				f.Fatal("Locks comes to no end")
			}
		}
	}
	var want []string
	for i := range 30 {
		f.name = fmt.Sprintf("%s.%02d", base, i)
		g := f.lock("a", permits(1+i%2, 2))
		switch i % 3 {
		case 0:
			f.ok("Release", f.releaseLock(g))
			continue
		case 1:
			f.queue("b", permits(2, 2), arrival)
		}
		want = append(want, f.name)
	}
	f.grant(0, "a", named(base+".plain"))
	for _, count := range []int{0, 1, 7, 1000} {
		f.equal(fmt.Sprintf("locks, %d at a time", count), list(base+".", count), want)
	}
	f.equal("locks of a prefix", list(base+".1", 5), slices.DeleteFunc(slices.Clone(want), func(name string) bool {
		return !strings.HasPrefix(name, base+".1")
	}))
	for _, strange := range []string{base + "?", base[:len(base)-1] + "*", "[a-z]", "\\", "}"} {
		f.equal("locks of a prefix of no name", len(list(strange, 1000)), 0)
	}
}

func ctxEndsCallAboutLocks(f *fixture) {
	l := f.store
	g := f.lock("a", mutex)
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(f.ctx)
	cancel(cause)
	for verb, call := range map[string]func() error{
		"ClaimLock":    func() error { _, err := l.ClaimLock(ctx, f.ofLock("b", mutex)); return err },
		"RenewLocks":   func() error { return l.RenewLocks(ctx, []protocol.LockGrant{g})[0] },
		"ReleaseLock":  func() error { return l.ReleaseLock(ctx, g) },
		"Lock":         func() error { _, err := l.Lock(ctx, f.name); return err },
		"Locks":        func() error { _, _, err := l.Locks(ctx, f.name, "", 10); return err },
		"ForceRelease": func() error { _, err := l.ForceRelease(ctx, f.name, g.Token); return err },
		"Listen":       func() error { return l.Listen(ctx, func(string, []string) {}) },
	} {
		if err := call(); !errors.Is(err, cause) && !errors.Is(err, context.Canceled) {
			f.Errorf("%s under a context that has ended: %v, want the reason why it has", verb, err)
		}
	}
	f.equal("holder", f.askLock(protocol.Held, f.ofLock("b", mutex)).Holder, "a")
}

func manyLocksAtOnce(f *fixture) {
	for _, kind := range []struct {
		limit int
		turn  protocol.Order
	}{{1, protocol.OrderArrival}, {4, protocol.OrderArrival}, {4, protocol.OrderAny}, {protocol.MaxPermits, protocol.OrderLargest}} {
		f.again()
		f.contend(kind.limit, kind.turn)
	}
}

// contend lets many claim, wait, hold and give back at the same time, and wants never more than the
// limit to be held.
func (f *fixture) contend(limit int, turn protocol.Order) {
	f.Helper()
	const clients, rounds = 16, 4
	var mu sync.Mutex
	held := 0
	errs := make([]error, clients)
	hold := func(n int) error {
		mu.Lock()
		defer mu.Unlock()
		if held += n; held > limit {
			return fmt.Errorf("%d permits of %d are held", held, limit)
		}
		return nil
	}
	client := func(id int, r *rand.Rand) error {
		for round := range rounds {
			n := min(limit, 1+r.IntN(4))
			if limit == protocol.MaxPermits && r.IntN(4) == 0 {
				n = limit
			}
			c := protocol.LockClaim{
				Name: f.name, Holder: fmt.Sprintf("h%d", id), Request: fmt.Sprintf("h%d-%d", id, round), TTL: long,
				Permits: n, Limit: limit, Order: turn, WaiterTTL: long,
			}
			for {
				a, err := f.store.ClaimLock(f.ctx, c)
				if err != nil {
					return err
				}
				if a.Status == protocol.Granted {
					if err := hold(n); err != nil {
						return err
					}
					time.Sleep(time.Duration(r.IntN(1000)) * time.Microsecond)
					if err := hold(-n); err != nil {
						return err
					}
					if err := f.store.ReleaseLock(f.ctx, c.Grant(a)); err != nil {
						return err
					}
					break
				}
				time.Sleep(time.Duration(2000+r.IntN(4000)) * time.Microsecond)
			}
		}
		return nil
	}
	var all sync.WaitGroup
	for id := range clients {
		all.Go(func() { errs[id] = client(id, rand.New(rand.NewPCG(rand.Uint64(), 0))) })
	}
	all.Wait()
	f.ok(fmt.Sprintf("lock of %d, turn %d", limit, turn), errors.Join(errs...))
	v, err := f.store.Lock(f.ctx, f.name)
	f.ok("Lock", err)
	f.equal("what is left", v, protocol.Lock{Name: f.name})
}
