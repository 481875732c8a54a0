package leasetest

import (
	"time"

	"github.com/solotick/solotick/internal/protocol"
)

func turn(t protocol.Order) lockChange     { return func(c *protocol.LockClaim) { c.Order = t } }
func ticket(life time.Duration) lockChange { return func(c *protocol.LockClaim) { c.WaiterTTL = life } }

// waits and arrival wait in the queue: in any order, and in the order of arrival.
func waits(c *protocol.LockClaim)   { c.WaiterTTL = long }
func arrival(c *protocol.LockClaim) { c.WaiterTTL, c.Order = long, protocol.OrderArrival }
func largest(c *protocol.LockClaim) { c.WaiterTTL, c.Order = long, protocol.OrderLargest }

// queue has a claim wait in the queue.
func (f *fixture) queue(holder string, changes ...lockChange) protocol.LockClaim {
	f.Helper()
	c := f.ofLock(holder, changes...)
	f.askLock(protocol.Queued, c)
	return c
}

// grantedNow wants a claim that waits to be granted now.
func (f *fixture) grantedNow(c protocol.LockClaim) protocol.LockGrant {
	f.Helper()
	return c.Grant(f.askLock(protocol.Granted, c))
}

func arrivalGoesByTheLine(f *fixture) {
	g := f.lock("a", mutex)
	b, c := f.queue("b", mutex, arrival), f.queue("c", mutex, arrival)
	d := f.queue("d", mutex, arrival)
	f.ok("Release", f.releaseLock(g))
	f.askLock(protocol.Queued, d)
	f.askLock(protocol.Held, f.ofLock("e", mutex, turn(protocol.OrderArrival))) // a newcomer
	f.askLock(protocol.Queued, c)
	g = f.grantedNow(b)
	f.ok("Release", f.releaseLock(g))
	f.askLock(protocol.Queued, d) // the place is kept, however often one asks
	g = f.grantedNow(c)
	f.ok("Release", f.releaseLock(g))
	g = f.grantedNow(d)
	f.ok("Release", f.releaseLock(g))
	f.lock("e", mutex, turn(protocol.OrderArrival)) // nobody waits any more
}

func largestGoesFirst(f *fixture) {
	g := f.lock("a", write)
	r1, r2 := f.queue("r1", read, largest), f.queue("r2", read, largest)
	w1, w2 := f.queue("w1", write, largest), f.queue("w2", write, largest)
	f.ok("Release", f.releaseLock(g))
	f.askLock(protocol.Held, f.ofLock("r3", read, turn(protocol.OrderLargest)))
	f.askLock(protocol.Queued, r1)
	f.askLock(protocol.Queued, w2)
	g = f.grantedNow(w1)
	f.ok("Release", f.releaseLock(g))
	f.askLock(protocol.Queued, r2)
	g = f.grantedNow(w2)
	f.ok("Release", f.releaseLock(g))
	f.grantedNow(r1)
	f.grantedNow(r2)
	f.queue("w3", write, largest)
	f.askLock(protocol.Held, f.ofLock("r3", read, turn(protocol.OrderLargest))) // no reader passes a writer
}

func anyLetsNobodyGoFirst(f *fixture) {
	g := f.lock("a", mutex)
	b := f.queue("b", mutex, waits)
	c := f.queue("c", mutex, waits)
	f.ok("Release", f.releaseLock(g))
	g = f.grantedNow(c)
	f.ok("Release", f.releaseLock(g))
	g = f.lock("d", mutex)
	f.askLock(protocol.Queued, b)
	f.ok("Release", f.releaseLock(g))
	f.grantedNow(b)
}

func anyLetsOthersGoFirst(f *fixture) {
	for _, ordered := range []lockChange{arrival, largest} {
		f.again()
		g := f.lock("a", mutex)
		b, c := f.queue("b", mutex, waits), f.queue("c", mutex, ordered)
		f.ok("Release", f.releaseLock(g))
		f.askLock(protocol.Queued, b) // though it came before
		f.askLock(protocol.Held, f.ofLock("d", mutex))
		f.ok("Release", f.releaseLock(f.grantedNow(c)))
		f.ok("Release", f.releaseLock(f.lock("d", mutex)))
		f.grantedNow(b)
	}

	// They get what is left.
	f.again()
	g := f.lock("a", permits(3, 3))
	b := f.queue("b", permits(2, 3), arrival)
	f.ok("Release", f.releaseLock(g))
	f.askLock(protocol.Held, f.ofLock("c", permits(2, 3)))
	f.lock("c", permits(1, 3))
	f.grantedNow(b)
}

func whoeverHasTheTurnNeedNotAskFirst(f *fixture) {
	g := f.lock("a", write)
	r1, r2 := f.queue("r1", read, arrival), f.queue("r2", read, arrival)
	w := f.queue("w", write, arrival)
	r3 := f.queue("r3", read, arrival)
	f.ok("Release", f.releaseLock(g))
	second := f.grantedNow(r2)
	f.askLock(protocol.Queued, r3)
	f.askLock(protocol.Queued, w)
	first := f.grantedNow(r1)
	f.ok("Release", f.releaseLock(first))
	f.ok("Release", f.releaseLock(second))
	f.askLock(protocol.Queued, r3)
	g = f.grantedNow(w)
	f.ok("Release", f.releaseLock(g))
	f.grantedNow(r3)

	// But what those before need is left for them.
	f.again()
	g = f.lock("a", permits(3, 3))
	b, c := f.queue("b", permits(2, 3), arrival), f.queue("c", permits(1, 3), arrival)
	d := f.queue("d", permits(1, 3), arrival)
	f.ok("Release", f.releaseLock(g))
	f.askLock(protocol.Queued, d)
	f.grantedNow(c)
	f.askLock(protocol.Queued, d)
	f.grantedNow(b)
	f.askLock(protocol.Queued, d)
}

func deadTicketDelaysNobodyLongerThanItsLife(f *fixture) {
	for _, limit := range []int{1, 3} {
		f.again()
		g := f.lock("a", permits(limit, limit))
		dead := f.ofLock("dead", permits(limit, limit), arrival, ticket(f.ttl))
		entered := f.askLock(protocol.Queued, dead)
		b := f.queue("b", permits(1, limit), arrival)
		f.ok("Release", f.releaseLock(g))
		f.until(entered.Now.Add(f.ttl))
		f.grantedNow(b)
		again := f.askLock(protocol.Queued, dead) // at the end of the queue
		f.between("left", again.Remaining, 1, kept(long))
	}

	// Nor one that is not the first.
	f.again()
	g := f.lock("a", write)
	r1 := f.queue("r1", read, arrival)
	dead := f.ofLock("dead", write, arrival, ticket(f.ttl))
	f.askLock(protocol.Queued, dead)
	r2 := f.queue("r2", read, arrival)
	f.until(f.now().Add(f.ttl))
	f.ok("Release", f.releaseLock(g))
	f.grantedNow(r2)
	f.grantedNow(r1)
}

func claimAgainKeepsTheTicket(f *fixture) {
	g := f.lock("a", mutex)
	b := f.ofLock("b", mutex, arrival, ticket(f.ttl))
	f.askLock(protocol.Queued, b)
	b.WaiterTTL = long
	f.askLock(protocol.Queued, b)
	c := f.queue("c", mutex, arrival)
	f.until(f.now().Add(f.ttl))
	f.ok("Release", f.releaseLock(g))
	f.askLock(protocol.Queued, c)
	g = f.grantedNow(b)

	// A claim that does not wait any more keeps its position too: only a release gives it up.
	f.askLock(protocol.Queued, c)
	c.WaiterTTL = 0
	f.askLock(protocol.Held, c)
	d := f.queue("d", mutex, arrival)
	f.ok("Release", f.releaseLock(g))
	f.askLock(protocol.Queued, d)
	f.grantedNow(c)
}

func remainingSaysWhenToAskAgain(f *fixture) {
	g := f.lock("a", mutex)
	a := f.askLock(protocol.Queued, f.ofLock("b", mutex, arrival, ticket(long/2)))
	f.between("left of the lease", a.Remaining, long/2+1, kept(long))
	a = f.askLock(protocol.Queued, f.ofLock("c", mutex, arrival))
	f.between("left of the ticket", a.Remaining, 1, kept(long/2))
	f.equal("token", a.Token, g.Token)
	a = f.askLock(protocol.Held, f.ofLock("d", mutex)) // in any order, after all others
	f.between("left of the ticket", a.Remaining, 1, kept(long/2))
	f.ok("Release", f.releaseLock(g))
	a = f.askLock(protocol.Held, f.ofLock("d", mutex, turn(protocol.OrderArrival)))
	f.equal("holder", a.Holder, "b")
	f.equal("token", a.Token, int64(0))
	f.between("left of the ticket", a.Remaining, 1, kept(long/2))

	// Who waits in any order is in nobody's way.
	f.again()
	f.lock("a", mutex)
	f.askLock(protocol.Queued, f.ofLock("b", mutex, ticket(long/2)))
	a = f.askLock(protocol.Held, f.ofLock("c", mutex))
	f.between("left of the lease", a.Remaining, long/2+1, kept(long))

	// Of several leases it is the first to end.
	f.again()
	f.lock("a", permits(1, 2))
	soon := f.lock("b", permits(1, 2), lockTerm(long/2))
	a = f.askLock(protocol.Held, f.ofLock("c", permits(2, 2)))
	f.equal("token", a.Token, soon.Token)
	f.equal("holder", a.Holder, "b")
	f.between("left", a.Remaining, 1, kept(long/2))
}

func longLinesAreInOrder(f *fixture) {
	const n = 150 // more than a store may look at for one answer
	g := f.lock("a", mutex)
	line := make([]protocol.LockClaim, n)
	for i := range line {
		line[i] = f.queue("b", mutex, arrival)
	}
	f.ok("Release", f.releaseLock(g))
	for i, c := range line {
		if i+1 < n {
			f.askLock(protocol.Queued, line[i+1])
		}
		if i%10 == 0 {
			f.askLock(protocol.Queued, line[n-1])
		}
		f.ok("Release", f.releaseLock(f.grantedNow(c)))
	}

	f.again()
	g = f.lock("a", write)
	for range n {
		f.queue("r", read, arrival)
	}
	f.queue("w", write, arrival)
	last := f.queue("r", read, arrival)
	f.ok("Release", f.releaseLock(g))
	f.askLock(protocol.Queued, last)
	f.askLock(protocol.Held, f.ofLock("r", read, turn(protocol.OrderArrival)))
}
