package leasetest

import (
	"time"

	"github.com/solotick/solotick/lease/protocol"
)

func lockGivenBackIsFree(f *fixture) {
	for _, limit := range []int{1, 3} {
		f.anew()
		other := f.lock("b", permits(max(1, limit-1), limit+1))
		f.ok("Release", f.release(other))
		for _, settle := range []bool{false, true} {
			g := f.lock("a", permits(limit, limit))
			end := func() error {
				if settle {
					return f.settle(g, "succeeded")
				}
				return f.release(g)
			}
			f.ok("End", end())
			f.fenced("Renew of what was given back", f.renew(g))
			next := f.lock("b", permits(limit, limit))
			f.above("token", next.Token, g.Token)
			f.ok("End again", end())
			f.ok("Renew", f.renew(next))
			f.ask(protocol.Held, f.of(0, "c", permits(1, limit)))
			f.ok("Release", f.release(next))
		}
	}

	// Each gives back its own only.
	f.anew()
	one, two := f.lock("a", permits(1, 3)), f.lock("b", permits(2, 3))
	f.ok("Release", f.release(one))
	f.ask(protocol.Held, f.of(0, "c", permits(2, 3)))
	f.ok("Renew", f.renew(two))
	f.lock("c", permits(1, 3))
}

// A claim of which the reply was lost: whoever gives up need not know what it was granted.
func whatWasClaimedCanBeWithdrawn(f *fixture) {
	withdraw := func(c protocol.Claim) {
		f.Helper()
		for range 2 {
			f.ok("Release", f.release(protocol.Grant{
				Name: c.Name, Holder: c.Holder, Request: c.Request, Attempt: 1, Term: c.Term, Permits: c.Permits, Limit: c.Limit,
			}))
		}
	}
	for _, limit := range []int{1, 2} {
		f.anew()
		if limit > 1 {
			f.lock("z", permits(1, limit))
		}
		granted := f.of(0, "a", permits(1, limit))
		a := f.ask(protocol.Granted, granted)
		queued := f.of(0, "b", permits(1, limit), arrival)
		f.ask(protocol.Queued, queued)
		withdraw(f.of(0, "a", permits(1, limit))) // another request of the holder
		f.ok("Renew", f.renew(lockGrantOf(granted, a)))
		f.ask(protocol.Queued, f.of(0, "c", permits(1, limit), arrival))
		withdraw(granted)
		f.fenced("Renew", f.renew(lockGrantOf(granted, a)))
		f.ask(protocol.Queued, f.of(0, "d", permits(1, limit), arrival)) // behind b
		withdraw(queued)
		f.ask(protocol.Queued, queued) // a newcomer, behind c
	}
}

func forceReleaseFencesTheHolder(f *fixture) {
	l := f.locker()
	for _, limit := range []int{1, 3} {
		f.anew()
		g := f.lock("a", permits(1, limit))
		var other protocol.Grant
		if limit > 1 {
			other = f.lock("b", permits(2, limit))
		}
		for i, want := range []bool{true, false} {
			held, err := l.ForceRelease(f.ctx, f.name, g.Token)
			f.ok("ForceRelease", err)
			f.equal("held", held, want)
			f.fenced("Renew", f.renew(g))
			f.fenced("Release", f.release(g))
			if i == 0 {
				f.above("token", f.lock("c", permits(1, limit)).Token, g.Token)
			}
		}
		if limit > 1 {
			f.ok("Renew", f.renew(other))
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

func forgottenLockIsWrittenAnew(f *fixture) {
	g := f.lock("a", mutex)
	f.forgetAll()
	f.ok("Renew", f.renew(g))
	f.ok("Renew", f.renew(g))
	f.equal("holder", f.ask(protocol.Held, f.of(0, "b", mutex)).Holder, "a")
	f.ok("Release", f.release(g))
	f.fenced("Renew of what was given back", f.renew(g))
	f.ok("Release again", f.release(g))
	next := f.lock("b", mutex)
	f.above("token", next.Token, g.Token)
	f.fenced("Renew", f.renew(g))

	// In any order, and as many as fit.
	f.anew()
	one, two, three := f.lock("a", permits(1, 4)), f.lock("b", permits(2, 4)), f.lock("c", permits(1, 4))
	f.until(time.UnixMicro(three.Token)) // what is granted from now on can be told apart
	f.forgetAll()
	f.ok("Renew", f.renew(three))
	f.ok("Renew", f.renew(one))
	f.ok("Renew", f.renew(two))
	f.ask(protocol.Held, f.of(0, "d", permits(1, 4)))
	f.ok("Release", f.release(two))
	f.fenced("Renew", f.renew(two))
	f.ok("Renew", f.renew(one))
	f.ok("Renew", f.renew(three))
}

func forgottenLockThatWasGivenBackIsNotRevived(f *fixture) {
	g, other := f.lock("a", permits(1, 2)), f.lock("b", permits(1, 2))
	f.forgetAll()
	f.ok("Release", f.release(g))
	f.fenced("Renew", f.renew(g))
	f.ok("Release again", f.release(g))
	f.ok("Renew", f.renew(other))
	f.lock("c", permits(1, 2))
}

func higherTokenWinsWhenBothWereForgotten(f *fixture) {
	old := f.lockExpired("a", mutex)
	current := f.lock("b", mutex)
	f.forgetAll()
	old.Term = long
	f.ok("Renew by who does not know yet", f.renew(old)) // nobody knows any better
	f.ok("Renew", f.renew(current))
	f.fenced("Renew", f.renew(old))
	f.fenced("Release", f.release(old))
	f.equal("holder", f.ask(protocol.Held, f.of(0, "c", mutex)).Holder, "b")

	// Nor does it come back where there is no room any more.
	f.anew()
	g := f.lock("a", permits(2, 3))
	f.until(time.UnixMicro(g.Token))
	f.forgetAll()
	f.lock("b", permits(2, 3))
	f.fenced("Renew", f.renew(g))
	f.fenced("Release", f.release(g))
	small := f.lock("c", permits(1, 3))
	f.above("token", small.Token, g.Token)

	// But for what has run out.
	f.anew()
	g = f.lock("a", mutex)
	f.until(time.UnixMicro(g.Token))
	f.forgetAll()
	newer := f.lockExpired("b", mutex)
	f.ok("Renew", f.renew(g))
	f.fenced("Renew", f.renew(newer))
}
