package leasetest

import (
	"time"

	"github.com/solotick/solotick/internal/protocol"
)

func lockGivenBackIsFree(f *fixture) {
	for _, limit := range []int{1, 3} {
		f.again()
		other := f.lock("b", permits(max(1, limit-1), limit+1))
		f.ok("Release", f.releaseLock(other))
		g := f.lock("a", permits(limit, limit))
		f.ok("Release", f.releaseLock(g))
		f.fenced("Renew of what was given back", f.renewLock(g))
		next := f.lock("b", permits(limit, limit))
		f.above("token", next.Token, g.Token)
		f.ok("Release again", f.releaseLock(g))
		f.ok("Renew", f.renewLock(next))
		f.askLock(protocol.Held, f.ofLock("c", permits(1, limit)))
		f.ok("Release", f.releaseLock(next))
	}

	// Each gives back its own only.
	f.again()
	one, two := f.lock("a", permits(1, 3)), f.lock("b", permits(2, 3))
	f.ok("Release", f.releaseLock(one))
	f.askLock(protocol.Held, f.ofLock("c", permits(2, 3)))
	f.ok("Renew", f.renewLock(two))
	f.lock("c", permits(1, 3))
}

// A claim of which the reply was lost: the caller that gives up need not know its grant.
func whatWasClaimedCanBeWithdrawn(f *fixture) {
	withdraw := func(c protocol.LockClaim) {
		f.Helper()
		for range 2 {
			f.ok("Release", f.releaseLock(protocol.LockGrant{
				Name: c.Name, Holder: c.Holder, Request: c.Request, TTL: c.TTL, Permits: c.Permits, Limit: c.Limit,
			}))
		}
	}
	for _, limit := range []int{1, 2} {
		f.again()
		if limit > 1 {
			f.lock("z", permits(1, limit))
		}
		granted := f.ofLock("a", permits(1, limit))
		a := f.askLock(protocol.Granted, granted)
		queued := f.ofLock("b", permits(1, limit), arrival)
		f.askLock(protocol.Queued, queued)
		withdraw(f.ofLock("a", permits(1, limit))) // another request of the holder
		f.ok("Renew", f.renewLock(granted.Grant(a)))
		f.askLock(protocol.Queued, f.ofLock("c", permits(1, limit), arrival))
		withdraw(granted)
		f.fenced("Renew", f.renewLock(granted.Grant(a)))
		f.askLock(protocol.Queued, f.ofLock("d", permits(1, limit), arrival)) // behind b
		withdraw(queued)
		f.askLock(protocol.Queued, queued) // a newcomer, behind c
	}
}

func forceReleaseFencesTheHolder(f *fixture) {
	l := f.store
	for _, limit := range []int{1, 3} {
		f.again()
		g := f.lock("a", permits(1, limit))
		var other protocol.LockGrant
		if limit > 1 {
			other = f.lock("b", permits(2, limit))
		}
		for i, want := range []bool{true, false} {
			held, err := l.ForceRelease(f.ctx, f.name, g.Token)
			f.ok("ForceRelease", err)
			f.equal("held", held, want)
			f.fenced("Renew", f.renewLock(g))
			f.fenced("Release", f.releaseLock(g))
			if i == 0 {
				f.above("token", f.lock("c", permits(1, limit)).Token, g.Token)
			}
		}
		if limit > 1 {
			f.ok("Renew", f.renewLock(other))
		}
	}
	for _, token := range []int64{0, 1, -1} {
		held, err := l.ForceRelease(f.ctx, f.name, token)
		f.ok("ForceRelease", err)
		f.equal("held", held, false)
	}
	held, err := l.ForceRelease(f.ctx, f.other("none"), 1)
	f.ok("ForceRelease", err)
	f.equal("held", held, false)
	_, err = l.ForceRelease(f.ctx, "no name", 1)
	f.refused("a faulty name", err)
}

func forgottenLockIsWrittenBack(f *fixture) {
	g := f.lock("a", mutex)
	f.forgetAll()
	f.ok("Renew", f.renewLock(g))
	f.ok("Renew", f.renewLock(g))
	f.equal("holder", f.askLock(protocol.Held, f.ofLock("b", mutex)).Holder, "a")
	f.ok("Release", f.releaseLock(g))
	f.fenced("Renew of what was given back", f.renewLock(g))
	f.ok("Release again", f.releaseLock(g))
	next := f.lock("b", mutex)
	f.above("token", next.Token, g.Token)
	f.fenced("Renew", f.renewLock(g))

	// In any order, and as many as fit.
	f.again()
	one, two, three := f.lock("a", permits(1, 4)), f.lock("b", permits(2, 4)), f.lock("c", permits(1, 4))
	f.until(time.UnixMicro(three.Token)) // later grants have other tokens
	f.forgetAll()
	f.ok("Renew", f.renewLock(three))
	f.ok("Renew", f.renewLock(one))
	f.ok("Renew", f.renewLock(two))
	f.askLock(protocol.Held, f.ofLock("d", permits(1, 4)))
	f.ok("Release", f.releaseLock(two))
	f.fenced("Renew", f.renewLock(two))
	f.ok("Renew", f.renewLock(one))
	f.ok("Renew", f.renewLock(three))
}

func forgottenLockThatWasGivenBackIsNotRevived(f *fixture) {
	g, other := f.lock("a", permits(1, 2)), f.lock("b", permits(1, 2))
	f.forgetAll()
	f.ok("Release", f.releaseLock(g))
	f.fenced("Renew", f.renewLock(g))
	f.ok("Release again", f.releaseLock(g))
	f.ok("Renew", f.renewLock(other))
	f.lock("c", permits(1, 2))
}

func higherTokenWinsWhenBothWereForgotten(f *fixture) {
	old := f.lockExpired("a", mutex)
	current := f.lock("b", mutex)
	f.forgetAll()
	old.TTL = long
	f.ok("Renew by who does not know yet", f.renewLock(old)) // nobody knows any better
	f.ok("Renew", f.renewLock(current))
	f.fenced("Renew", f.renewLock(old))
	f.fenced("Release", f.releaseLock(old))
	f.equal("holder", f.askLock(protocol.Held, f.ofLock("c", mutex)).Holder, "b")

	// Nor does it come back where there is no room any more.
	f.again()
	g := f.lock("a", permits(2, 3))
	f.until(time.UnixMicro(g.Token))
	f.forgetAll()
	f.lock("b", permits(2, 3))
	f.fenced("Renew", f.renewLock(g))
	f.fenced("Release", f.releaseLock(g))
	small := f.lock("c", permits(1, 3))
	f.above("token", small.Token, g.Token)

	// But for what has run out.
	f.again()
	g = f.lock("a", mutex)
	f.until(time.UnixMicro(g.Token))
	f.forgetAll()
	newer := f.lockExpired("b", mutex)
	f.ok("Renew", f.renewLock(g))
	f.fenced("Renew", f.renewLock(newer))
}

// A claim whose caller gave up may come after its withdrawal.
func lateClaimIsRefusedAfterItsRelease(f *fixture) {
	for _, limit := range []int{1, 2} {
		f.again()
		refused := func(c protocol.LockClaim) {
			f.Helper()
			a := f.askLock(protocol.Held, c)
			f.between("left", a.Remaining, 1, protocol.WithdrawnFor)
		}
		c := f.ofLock("a", permits(1, limit), arrival)
		withdrawn := c.Grant(protocol.LockAnswer{})
		withdrawn.Pending = true
		for range 2 { // its reply may be lost
			f.ok("Release", f.releaseLock(withdrawn))
			refused(c)
		}
		g := f.lock("b", permits(limit, limit)) // the late claim has left nothing
		waits := f.queue("c", permits(1, limit), arrival)
		refused(c)
		gave := waits.Grant(protocol.LockAnswer{})
		gave.Pending = true
		f.ok("Release", f.releaseLock(gave))
		refused(waits)
		f.ok("Renew", f.renewLock(g))
		g.Pending = true
		f.ok("Release", f.releaseLock(g))
		refused(protocol.LockClaim{Name: f.name, Holder: g.Holder, Request: g.Request, TTL: long, Permits: 1, Limit: limit})
		refused(c)
		next := f.lock("a", permits(limit, limit)) // another request
		f.above("token", next.Token, g.Token)
	}
}
