package leasetest

import (
	"errors"
	"strings"
	"time"

	"github.com/solotick/solotick/lease/protocol"
)

func permits(n, limit int) change { return func(c *protocol.Claim) { c.Permits, c.Limit = n, limit } }

// mutex is a lock of one permit, and read and write are the shares of a lock that many may read.
var (
	mutex = permits(1, 1)
	read  = permits(1, protocol.MaxPermits)
	write = permits(protocol.MaxPermits, protocol.MaxPermits)
)

func lockGrantOf(c protocol.Claim, a protocol.Answer) protocol.Grant {
	g := grantOf(c, a)
	g.Permits, g.Limit, g.Tell = c.Permits, c.Limit, c.Tell
	return g
}

// lock claims the lock of the fixture's name and wants to be granted.
func (f *fixture) lock(holder string, changes ...change) protocol.Grant {
	f.Helper()
	c := f.of(0, holder, changes...)
	return lockGrantOf(c, f.ask(protocol.Granted, c))
}

// lockExpired is granted for a short term and returns when the lease has run out.
func (f *fixture) lockExpired(holder string, changes ...change) protocol.Grant {
	f.Helper()
	c := f.of(0, holder, append([]change{term(f.term)}, changes...)...)
	a := f.ask(protocol.Granted, c)
	f.until(a.Now.Add(a.Left))
	return lockGrantOf(c, a)
}

// taken returns the tokens that a claim has taken away, and wants them described as lost.
func (f *fixture) taken(a protocol.Answer) (tokens []int64) {
	f.Helper()
	for _, s := range a.Settled {
		tokens = append(tokens, s.Token)
		if s.At.After(a.Now) {
			f.Fatalf("lost at %s, after %s", s.At, a.Now)
		}
		s.Token, s.Holder, s.At = 0, "", a.Now
		f.equal("what was taken away", s, protocol.Settled{Attempt: 1, Outcome: protocol.OutcomeLost, At: a.Now, Note: protocol.NoteExpired})
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
		var first protocol.Grant
		for i, n := range of.granted {
			g := f.lock("a", permits(n, of.limit))
			if i == 0 {
				first = g
			}
		}
		for _, n := range of.refuse {
			a := f.ask(protocol.Held, f.of(0, "b", permits(n, of.limit)))
			f.equal("holder of "+of.what, a.Holder, "a")
			f.equal("token of "+of.what, a.Token, first.Token)
			f.between("left", a.Left, 1, kept(long))
		}
	}

	// Each claim minds its own limit.
	f.name = f.other("x")
	f.lock("a", permits(2, 3))
	f.ask(protocol.Held, f.of(0, "b", permits(1, 2)))
	f.lock("b", permits(2, 4))
}

func repeatedLockClaimGetsTheSameGrant(f *fixture) {
	for _, limit := range []int{1, 5} {
		f.anew()
		c := f.of(0, "a", permits(1, limit), takeovers(2))
		a := f.ask(protocol.Granted, c)
		f.equal("attempt", a.Attempt, 1)
		f.equal("takeovers", a.Takeovers, 2)
		for i := range 3 {
			again := f.ask(protocol.Granted, c)
			f.equal("token", again.Token, a.Token)
			f.equal("attempt", again.Attempt, 1)
			f.equal("takeovers", again.Takeovers, 2)
			f.between("left", again.Left, 1, kept(long))
			if i == 0 && limit > 1 {
				f.lock("b", permits(limit-3, limit)) // there is room for another
			}
		}
		f.ask(protocol.Held, f.of(0, "a", permits(limit, limit))) // another request is another claim
		f.ok("Release", f.release(lockGrantOf(c, a)))
		f.above("token", f.ask(protocol.Granted, c).Token, a.Token)
	}
}

func lockTokensRise(f *fixture) {
	var last int64
	for i := range 5 {
		g := f.lock("a", permits(1, 3))
		f.above("token", g.Token, last)
		last = g.Token
		if i > 1 {
			f.ok("Release", f.release(g))
		}
	}
	f.until(time.UnixMicro(last))
	now := f.now()
	f.above("token", f.lock("b", permits(2, 4)).Token, now.UnixMicro()-1)
}

func expiredLockIsTakenByWhoNeedsIt(f *fixture) {
	for _, limit := range []int{1, 3} {
		f.anew()
		old := f.lockExpired("a", permits(limit, limit))
		c := f.of(0, "b", permits(1, limit))
		a := f.ask(protocol.Granted, c)
		f.equal("taken", f.taken(a), []int64{old.Token})
		f.equal("holder", a.Settled[0].Holder, "a")
		f.above("token", a.Token, old.Token)
		f.equal("told once", len(f.ask(protocol.Granted, c).Settled), 0)
		f.fenced("Renew", f.renew(old))
		f.fenced("Release", f.release(old))
		f.fenced("Settle", f.settle(old, "succeeded"))
		f.ok("Renew", f.renew(lockGrantOf(c, a)))
	}

	// Also when it is not enough.
	f.anew()
	live, old := f.lock("a", permits(1, 3)), f.lockExpired("b", permits(2, 3))
	a := f.ask(protocol.Held, f.of(0, "c", permits(3, 3)))
	f.equal("taken", f.taken(a), []int64{old.Token})
	f.equal("token", a.Token, live.Token)
	f.fenced("Renew", f.renew(old))
	f.lock("d", permits(2, 3))
}

func ownExpiredLockIsGrantedAnew(f *fixture) {
	for _, limit := range []int{1, 2, 4} {
		f.anew()
		if limit > 1 {
			f.lock("b", permits(1, limit))
		}
		c := f.of(0, "a", permits(1, limit), term(f.term))
		first := f.ask(protocol.Granted, c)
		f.until(first.Now.Add(first.Left))
		c.Term = long
		second := f.ask(protocol.Granted, c)
		f.equal("taken", f.taken(second), []int64{first.Token})
		f.above("token", second.Token, first.Token)
		f.fenced("Renew", f.renew(lockGrantOf(c, first)))
		f.fenced("Release", f.release(lockGrantOf(c, first)))
		f.ok("Renew", f.renew(lockGrantOf(c, second)))
		f.equal("token", f.ask(protocol.Granted, c).Token, second.Token)
		if limit > 2 { // it counts once
			f.lock("c", permits(limit-2, limit))
		}
	}
}

func expiredLockThatNobodyNeedsCanBeRenewed(f *fixture) {
	one := f.lockExpired("a", mutex)
	f.ok("Renew", f.renew(one))
	f.equal("holder", f.ask(protocol.Held, f.of(0, "b", mutex)).Holder, "a")

	f.anew()
	g := f.lockExpired("a", permits(1, 2))
	other := f.lock("b", permits(1, 2)) // there is room beside it
	f.ok("Renew", f.renew(g))
	f.ask(protocol.Held, f.of(0, "c", permits(1, 2)))
	f.ok("Release", f.release(other))
	f.ok("Renew", f.renew(g))
	f.ok("Release", f.release(g))
	f.lock("c", permits(2, 2))
}

func renewalExtendsTheLockFromNow(f *fixture) {
	for _, limit := range []int{1, 2} {
		f.anew()
		c := f.of(0, "a", permits(1, limit), term(f.term))
		g := lockGrantOf(c, f.ask(protocol.Granted, c))
		if limit > 1 {
			f.lock("b", permits(1, limit))
		}
		g.Term = long
		f.ok("Renew", f.renew(g))
		f.until(f.now().Add(f.term))
		a := f.ask(protocol.Held, f.of(0, "c", permits(1, limit)))
		f.between("left", a.Left, long/2, kept(long))
		wrong := g
		wrong.Token++
		f.fenced("Renew with another token", f.renew(wrong))
		wrong = g
		wrong.Request = "other"
		f.fenced("Renew of another request", f.renew(wrong))
	}
}

func locksAreApartFromOccasions(f *fixture) {
	f.grant(100, "a")
	plain := f.grant(0, "a")
	g := f.lock("b", mutex)
	f.equal("mark", f.record().Mark, int64(100))
	f.equal("open", len(f.record().Open), 2)
	f.ask(protocol.Held, f.of(0, "c"))
	f.ok("Release", f.release(plain))
	f.equal("holder", f.ask(protocol.Held, f.of(0, "c", mutex)).Holder, "b")
	f.ok("Release", f.release(g))
	f.equal("open", len(f.record().Open), 1)
	errs := f.store.Renew(f.ctx, []protocol.Grant{f.grant(0, "a"), f.lock("b", mutex), f.grant(101, "a"), g})
	f.equal("answers", len(errs), 4)
	f.ok("Renew", errors.Join(errs[:3]...))
	f.fenced("Renew", errs[3])
}

func faultyLocksAreRefused(f *fixture) {
	faults := map[string]struct {
		change
		says string
	}{
		"of no permits":              {permits(0, 1), "permits"},
		"of more than the limit":     {permits(2, 1), "permits"},
		"of a negative number":       {permits(-1, 3), "permits"},
		"with a negative limit":      {permits(1, -1), "limit"},
		"with permits only":          {permits(1, 0), "permits"},
		"of an occasion":             {func(c *protocol.Claim) { c.Occasion = 1 }, "occasion"},
		"of what is open only":       {onlyOpen, "only open"},
		"with an unknown turn":       {func(c *protocol.Claim) { c.Turn = 3 }, "turn"},
		"with a ticket for no time":  {func(c *protocol.Claim) { c.Ticket = 1 }, "ticket"},
		"with a ticket for too long": {func(c *protocol.Claim) { c.Ticket = protocol.MaxTicket + 1 }, "ticket"},
		"without a holder":           {func(c *protocol.Claim) { c.Holder = "" }, "holder"},
	}
	for what, fault := range faults {
		_, err := f.store.Claim(f.ctx, f.of(0, "a", mutex, fault.change))
		f.refused("a claim "+what, err)
		if !strings.Contains(err.Error(), fault.says) {
			f.Errorf("a claim %s is refused without naming %q: %v", what, fault.says, err)
		}
	}
	_, err := f.store.Claim(f.ctx, f.of(0, "", permits(2, 1), func(c *protocol.Claim) { c.Turn, c.Ticket = -1, -1 }))
	f.refused("a claim of many faults", err)
	for _, says := range []string{"holder", "permits", "turn", "ticket"} {
		if !strings.Contains(err.Error(), says) {
			f.Errorf("not all faults are named: %v lacks %q", err, says)
		}
	}
	g := f.lock("a", mutex)
	for what, change := range map[string]func(*protocol.Grant){
		"of no permits":          func(g *protocol.Grant) { g.Permits = 0 },
		"of more than the limit": func(g *protocol.Grant) { g.Permits = 2 },
		"of an occasion":         func(g *protocol.Grant) { g.Occasion = 1 },
		"without a token":        func(g *protocol.Grant) { g.Token = 0 },
	} {
		bad := g
		change(&bad)
		f.refused("a renewal "+what, f.renew(bad))
		f.refused("a settlement "+what, f.settle(bad, "succeeded"))
		if bad.Token != 0 {
			f.refused("a release "+what, f.release(bad))
		}
	}
	f.ok("Renew", f.renew(g))
}
