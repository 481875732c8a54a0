package leasetest

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/solotick/solotick/internal/protocol"
)

func permits(n, limit int) lockChange {
	return func(c *protocol.LockClaim) { c.Permits, c.Limit = n, limit }
}

// mutex is a lock of one permit, and read and write are the shares of a lock that many may read.
var (
	mutex = permits(1, 1)
	read  = permits(1, protocol.MaxPermits)
	write = permits(protocol.MaxPermits, protocol.MaxPermits)
)

type lockChange func(*protocol.LockClaim)

func lockTerm(d time.Duration) lockChange { return func(c *protocol.LockClaim) { c.TTL = d } }

// ofLock makes a claim of the lock of the fixture's name, with a request of its own and a long
// TTL, but for the changes.
func (f *fixture) ofLock(holder string, changes ...lockChange) protocol.LockClaim {
	f.requests++
	c := protocol.LockClaim{Name: f.name, Holder: holder, Request: fmt.Sprintf("r%d", f.requests), TTL: long}
	for _, change := range changes {
		change(&c)
	}
	return c
}

// askLock claims and wants an answer of the given status.
func (f *fixture) askLock(want protocol.Status, c protocol.LockClaim) protocol.LockAnswer {
	f.Helper()
	a, err := f.store.ClaimLock(f.ctx, c)
	f.ok("ClaimLock", err)
	if a.Status != want {
		f.Fatalf("claim of lock %q by %s: %s, want %s: %+v", c.Name, c.Holder, a.Status, want, a)
	}
	return a
}

func (f *fixture) renewLock(g protocol.LockGrant) error {
	f.Helper()
	errs := f.store.RenewLocks(f.ctx, []protocol.LockGrant{g})
	if len(errs) != 1 {
		f.Fatalf("RenewLocks of one grant gave %d answers", len(errs))
	}
	return errs[0]
}

func (f *fixture) releaseLock(g protocol.LockGrant) error { return f.store.ReleaseLock(f.ctx, g) }

// lock claims the lock of the fixture's name and wants to be granted.
func (f *fixture) lock(holder string, changes ...lockChange) protocol.LockGrant {
	f.Helper()
	c := f.ofLock(holder, changes...)
	return c.Grant(f.askLock(protocol.Granted, c))
}

// lockExpired is granted for a short TTL and returns when the lease has run out.
func (f *fixture) lockExpired(holder string, changes ...lockChange) protocol.LockGrant {
	f.Helper()
	c := f.ofLock(holder, append([]lockChange{lockTerm(f.ttl)}, changes...)...)
	a := f.askLock(protocol.Granted, c)
	f.until(a.Now.Add(a.Remaining))
	return c.Grant(a)
}

// taken returns the tokens that a claim has taken away, and wants them to have the time.
func (f *fixture) taken(a protocol.LockAnswer) (tokens []int64) {
	f.Helper()
	for _, lost := range a.Lost {
		tokens = append(tokens, lost.Token)
		if lost.At.IsZero() || lost.At.After(a.Now) {
			f.Fatalf("lost at %s, but it is %s", lost.At, a.Now)
		}
	}
	return tokens
}

func lockIsHeldUpToItsLimit(f *fixture) {
	f.name = f.other("x") // it needs no record
	for _, of := range []struct {
		what            string
		limit           int
		granted, refuse []int
	}{
		{"mutex", 1, []int{1}, []int{1}},
		{"semaphore", 5, []int{1, 3, 1}, []int{1, 5}},
		{"semaphore that is not full", 5, []int{4}, []int{2, 5}},
		{"readers", protocol.MaxPermits, []int{1, 1, 1}, []int{protocol.MaxPermits}},
		{"writer", protocol.MaxPermits, []int{protocol.MaxPermits}, []int{1, protocol.MaxPermits}},
	} {
		f.name = f.other("x")
		var first protocol.LockGrant
		for i, n := range of.granted {
			g := f.lock("a", permits(n, of.limit))
			if i == 0 {
				first = g
			}
		}
		for _, n := range of.refuse {
			a := f.askLock(protocol.Held, f.ofLock("b", permits(n, of.limit)))
			f.equal("holder of "+of.what, a.Holder, "a")
			f.equal("token of "+of.what, a.Token, first.Token)
			f.between("left", a.Remaining, 1, kept(long))
		}
	}

	// Each claim minds its own limit.
	f.name = f.other("x")
	f.lock("a", permits(2, 3))
	f.askLock(protocol.Held, f.ofLock("b", permits(1, 2)))
	f.lock("b", permits(2, 4))
}

func repeatedLockClaimGetsTheSameGrant(f *fixture) {
	for _, limit := range []int{1, 5} {
		f.again()
		c := f.ofLock("a", permits(1, limit))
		a := f.askLock(protocol.Granted, c)
		for i := range 3 {
			again := f.askLock(protocol.Granted, c)
			f.equal("token", again.Token, a.Token)
			f.between("left", again.Remaining, 1, kept(long))
			if i == 0 && limit > 1 {
				f.lock("b", permits(limit-3, limit)) // there is room for another
			}
		}
		f.askLock(protocol.Held, f.ofLock("a", permits(limit, limit))) // another request is another claim
		f.ok("Release", f.releaseLock(c.Grant(a)))
		f.above("token", f.askLock(protocol.Granted, c).Token, a.Token)
	}
}

func lockTokensRise(f *fixture) {
	var last int64
	for i := range 5 {
		g := f.lock("a", permits(1, 3))
		f.above("token", g.Token, last)
		last = g.Token
		if i > 1 {
			f.ok("Release", f.releaseLock(g))
		}
	}
	f.until(time.UnixMicro(last))
	now := f.now()
	f.above("token", f.lock("b", permits(2, 4)).Token, now.UnixMicro()-1)
}

func knownToken(token int64) lockChange { return func(c *protocol.LockClaim) { c.Known = token } }

func lockTokensAreAboveWhatIsKnown(f *fixture) {
	first := f.lock("a", permits(1, 4))
	ahead := f.now().Add(time.Hour).UnixMicro()
	second := f.lock("b", permits(1, 4), knownToken(ahead))
	f.above("token", second.Token, ahead)
	f.above("token", f.lock("c", permits(1, 4)).Token, second.Token)
	f.ok("Renew", f.renewLock(first))
	f.ok("Renew", f.renewLock(second))

	// The same holds for a lock that does not exist. A claim that only waits raises nothing.
	f.name = f.other("x")
	f.above("token", f.lock("a", mutex, knownToken(ahead)).Token, ahead)
	f.name = f.other("x")
	f.lock("a", mutex)
	f.askLock(protocol.Queued, f.ofLock("b", mutex, arrival, knownToken(ahead)))
	v, err := f.store.Lock(f.ctx, f.name)
	f.ok("Lock", err)
	if v.Token >= ahead {
		f.Fatalf("token %d of nobody's grant, where %d is known", v.Token, ahead)
	}
}

func forgottenLockBesideANewTokenIsWrittenBack(f *fixture) {
	g := f.lock("a", permits(1, 2), knownToken(f.now().Add(time.Hour).UnixMicro()))
	f.forgetAll()
	next := f.lock("b", permits(1, 2), knownToken(g.Token))
	f.above("token", next.Token, g.Token)
	f.ok("Renew of what is held beside it", f.renewLock(g))
	f.ok("Renew", f.renewLock(next))
	f.askLock(protocol.Held, f.ofLock("c", permits(1, 2)))
}

func expiredLockIsTakenByWhoNeedsIt(f *fixture) {
	for _, limit := range []int{1, 3} {
		f.again()
		old := f.lockExpired("a", permits(limit, limit))
		c := f.ofLock("b", permits(1, limit))
		a := f.askLock(protocol.Granted, c)
		f.equal("taken", f.taken(a), []int64{old.Token})
		f.equal("holder", a.Lost[0].Holder, "a")
		f.above("token", a.Token, old.Token)
		f.equal("returned once", len(f.askLock(protocol.Granted, c).Lost), 0)
		f.fenced("Renew", f.renewLock(old))
		f.fenced("Release", f.releaseLock(old))
		f.ok("Renew", f.renewLock(c.Grant(a)))
	}

	// Also when it is not enough.
	f.again()
	live, old := f.lock("a", permits(1, 3)), f.lockExpired("b", permits(2, 3))
	a := f.askLock(protocol.Held, f.ofLock("c", permits(3, 3)))
	f.equal("taken", f.taken(a), []int64{old.Token})
	f.equal("token", a.Token, live.Token)
	f.fenced("Renew", f.renewLock(old))
	f.lock("d", permits(2, 3))
}

func ownExpiredLockIsGrantedAgain(f *fixture) {
	for _, limit := range []int{1, 2, 4} {
		f.again()
		if limit > 1 {
			f.lock("b", permits(1, limit))
		}
		c := f.ofLock("a", permits(1, limit), lockTerm(f.ttl))
		first := f.askLock(protocol.Granted, c)
		f.until(first.Now.Add(first.Remaining))
		c.TTL = long
		second := f.askLock(protocol.Granted, c)
		f.equal("taken", f.taken(second), []int64{first.Token})
		f.above("token", second.Token, first.Token)
		f.fenced("Renew", f.renewLock(c.Grant(first)))
		f.fenced("Release", f.releaseLock(c.Grant(first)))
		f.ok("Renew", f.renewLock(c.Grant(second)))
		f.equal("token", f.askLock(protocol.Granted, c).Token, second.Token)
		if limit > 2 { // it counts once
			f.lock("c", permits(limit-2, limit))
		}
	}
}

func expiredLockThatNobodyNeedsCanBeRenewed(f *fixture) {
	one := f.lockExpired("a", mutex)
	one.TTL = long // from now on
	f.ok("Renew", f.renewLock(one))
	f.equal("holder", f.askLock(protocol.Held, f.ofLock("b", mutex)).Holder, "a")

	f.again()
	g := f.lockExpired("a", permits(1, 2))
	g.TTL = long
	other := f.lock("b", permits(1, 2)) // there is room beside it
	f.ok("Renew", f.renewLock(g))
	f.askLock(protocol.Held, f.ofLock("c", permits(1, 2)))
	f.ok("Release", f.releaseLock(other))
	f.ok("Renew", f.renewLock(g))
	f.ok("Release", f.releaseLock(g))
	f.lock("c", permits(2, 2))
}

func renewalExtendsTheLockFromNow(f *fixture) {
	for _, limit := range []int{1, 2} {
		f.again()
		c := f.ofLock("a", permits(1, limit), lockTerm(f.ttl))
		g := c.Grant(f.askLock(protocol.Granted, c))
		if limit > 1 {
			f.lock("b", permits(1, limit))
		}
		g.TTL = long
		f.ok("Renew", f.renewLock(g))
		f.until(f.now().Add(f.ttl))
		a := f.askLock(protocol.Held, f.ofLock("c", permits(1, limit)))
		f.between("left", a.Remaining, long/2, kept(long))
		wrong := g
		wrong.Token++
		f.fenced("Renew with another token", f.renewLock(wrong))
		wrong = g
		wrong.Request = "other"
		f.fenced("Renew of another request", f.renewLock(wrong))
	}
}

func locksAreApartFromTicks(f *fixture) {
	g := f.lock("b", mutex)
	f.grant(100, "a")
	plain := f.grant(0, "a")
	f.equal("watermark", f.record().Watermark, int64(100))
	f.equal("open", len(f.record().Open), 2)
	f.ask(protocol.Held, f.of(0, "c"))
	f.ok("Release", f.release(plain))
	f.equal("holder", f.askLock(protocol.Held, f.ofLock("c", mutex)).Holder, "b")
	f.ok("ReleaseLock", f.releaseLock(g))
	f.equal("open", len(f.record().Open), 1)
}

func renewalOfLocksAnswersForEachGrant(f *fixture) {
	old := f.lock("a", mutex)
	f.ok("ReleaseLock", f.releaseLock(old))
	one := f.lock("b", mutex)
	f.name = f.other("x")
	two, three := f.lock("a", permits(1, 3)), f.lock("b", permits(1, 3))
	bad := two
	bad.Name = "a b"
	errs := f.store.RenewLocks(f.ctx, []protocol.LockGrant{two, bad, one, old, three})
	f.equal("answers", len(errs), 5)
	f.ok("RenewLocks", errors.Join(errs[0], errs[2], errs[4]))
	f.refused("a faulty grant", errs[1])
	f.fenced("RenewLocks", errs[3])
	f.equal("answers to none", len(f.store.RenewLocks(f.ctx, nil)), 0)
}

func faultyLocksAreRefused(f *fixture) {
	faults := map[string]struct {
		lockChange
		says string
	}{
		"of no permits":                  {permits(0, 1), "permits"},
		"of more than the limit":         {permits(2, 1), "permits"},
		"of a negative number":           {permits(-1, 3), "permits"},
		"with a negative limit":          {permits(1, -1), "limit"},
		"with permits only":              {permits(1, 0), "limit"},
		"with an unknown order":          {func(c *protocol.LockClaim) { c.Order = 3 }, "order"},
		"with a waiter ttl for no time":  {func(c *protocol.LockClaim) { c.WaiterTTL = 1 }, "waiter ttl"},
		"with a waiter ttl for too long": {func(c *protocol.LockClaim) { c.WaiterTTL = protocol.MaxWaiterTTL + 1 }, "waiter ttl"},
		"without a holder":               {func(c *protocol.LockClaim) { c.Holder = "" }, "holder"},
	}
	for what, fault := range faults {
		_, err := f.store.ClaimLock(f.ctx, f.ofLock("a", mutex, fault.lockChange))
		f.refused("a claim "+what, err)
		if !strings.Contains(err.Error(), fault.says) {
			f.Errorf("a claim %s is refused without naming %q: %v", what, fault.says, err)
		}
	}
	_, err := f.store.ClaimLock(f.ctx, f.ofLock("", permits(2, 1), func(c *protocol.LockClaim) { c.Order, c.WaiterTTL = -1, -1 }))
	f.refused("a claim of many faults", err)
	for _, says := range []string{"holder", "permits", "order", "waiter ttl"} {
		if !strings.Contains(err.Error(), says) {
			f.Errorf("not all faults are named: %v lacks %q", err, says)
		}
	}
	g := f.lock("a", mutex)
	for what, change := range map[string]func(*protocol.LockGrant){
		"of no permits":          func(g *protocol.LockGrant) { g.Permits = 0 },
		"of more than the limit": func(g *protocol.LockGrant) { g.Permits = 2 },
		"without a token":        func(g *protocol.LockGrant) { g.Token = 0 },
	} {
		bad := g
		change(&bad)
		f.refused("a renewal "+what, f.renewLock(bad))
		if bad.Token != 0 {
			f.refused("a release "+what, f.releaseLock(bad))
		}
	}
	f.ok("Renew", f.renewLock(g))
}
