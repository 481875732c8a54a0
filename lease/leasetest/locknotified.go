package leasetest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/solotick/solotick/internal/protocol"
)

// lockNotice is one notification.
type lockNotice struct {
	name     string
	requests []string
}

// listen listens until the case ends. The next two methods read notifications.
func (f *fixture) listen() <-chan lockNotice {
	f.Helper()
	l := f.store
	ctx, cancel := context.WithCancel(f.ctx)
	notices, ended := make(chan lockNotice, 1024), make(chan error, 1)
	go func() {
		ended <- l.Listen(ctx, func(name string, requests []string) { notices <- lockNotice{name, slices.Clone(requests)} })
	}()
	f.Cleanup(func() {
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			f.Errorf("Listen ended with: %v", err)
		}
	})
	f.next(notices, "")
	return notices
}

// next returns the next requests that come for a name.
func (f *fixture) next(notices <-chan lockNotice, name string) []string {
	f.Helper()
	bound := time.NewTimer(20 * time.Second)
	defer bound.Stop()
	for {
		select {
		case t := <-notices:
			if t.name == name {
				return t.requests
			}
		case <-bound.C:
			f.Fatalf("nobody was notified of %q", name)
		}
	}
}

// notifies wants the next notification to name the requests of these claims. So there is no earlier
// notification that has not been read.
func (f *fixture) notifies(notices <-chan lockNotice, claims ...protocol.LockClaim) {
	f.Helper()
	var want []string
	for _, c := range claims {
		want = append(want, c.Request)
	}
	if got := f.next(notices, f.name); !slices.Equal(got, want) {
		f.Fatalf("notified were %s, want %s", strings.Join(got, " "), strings.Join(want, " "))
	}
}

func listenNotifiesWhoseTurnItIs(f *fixture) {
	notices := f.listen()
	g := f.lock("a", mutex)
	b := f.queue("b", mutex, arrival)
	c := f.queue("c", mutex, arrival)
	f.ok("Release", f.releaseLock(g))
	f.notifies(notices, b) // one of many
	g = f.grantedNow(b)
	f.ok("Renew", f.renewLock(g))
	f.ok("Release", f.releaseLock(g))
	f.notifies(notices, c)
	g = f.grantedNow(c)
	f.ok("Release", f.releaseLock(g)) // nobody waits
	g = f.lock("a", mutex)
	d := f.queue("d", mutex, waits)
	f.ok("Release", f.releaseLock(g))
	f.notifies(notices, d)

	// What has run out is in nobody's way.
	f.name = f.other("x")
	g = f.lock("a", permits(1, 2))
	old := f.lock("b", permits(1, 2))
	both := f.queue("c", permits(2, 2), arrival)
	f.runsOut(old)
	f.ok("Release", f.releaseLock(g))
	f.notifies(notices, both)
}

func listenNotifiesAllReadersUpToTheFirstWriter(f *fixture) {
	notices := f.listen()
	g := f.lock("a", write)
	r1, r2 := f.queue("r1", read, arrival), f.queue("r2", read, arrival)
	w := f.queue("w", write, arrival)
	r3 := f.queue("r3", read, arrival)
	f.ok("Release", f.releaseLock(g))
	f.notifies(notices, r1, r2)
	first, second := f.grantedNow(r1), f.grantedNow(r2)
	f.ok("Release", f.releaseLock(first)) // nobody can go
	f.ok("Release", f.releaseLock(second))
	f.notifies(notices, w)
	f.ok("Release", f.releaseLock(f.grantedNow(w)))
	f.notifies(notices, r3)
}

func listenPassesWhoLetsNobodyGoFirst(f *fixture) {
	notices := f.listen()
	g, other := f.lock("a", permits(2, 3)), f.lock("b", permits(1, 3))
	all := f.queue("c", permits(3, 3), waits)
	two, one := f.queue("d", permits(2, 3), waits), f.queue("e", permits(1, 3), waits)
	f.ok("Release", f.releaseLock(other))
	f.notifies(notices, one)
	f.ok("Release", f.releaseLock(g))
	f.notifies(notices, all) // it is the first, and fits
	f.ok("Release", f.releaseLock(f.grantedNow(two)))
	f.notifies(notices, all)
}

func whoLeavesTheLineLetsTheNextGo(f *fixture) {
	notices := f.listen()
	f.lock("a", permits(1, 3))
	b := f.queue("b", permits(3, 3), arrival)
	c, d := f.queue("c", permits(1, 3), arrival), f.queue("d", permits(2, 3), arrival)
	f.ok("Release", f.releaseLock(protocol.LockGrant{
		Name: f.name, Holder: "d", Request: d.Request, TTL: long, Permits: 2, Limit: 3,
	})) // it was in nobody's way, and nobody can go
	f.ok("Release", f.releaseLock(protocol.LockGrant{
		Name: f.name, Holder: "b", Request: b.Request, TTL: long, Permits: 3, Limit: 3,
	}))
	f.notifies(notices, c)
}

func whoTakesAwayLetsOthersGo(f *fixture) {
	notices := f.listen()
	f.lock("a", permits(1, 2))
	g := f.lock("b", permits(1, 2))
	small := f.queue("c", permits(1, 2), waits)
	f.runsOut(g)
	f.queue("d", permits(2, 2), waits) // for this it is not enough
	f.notifies(notices, small)

	f.name = f.other("x")
	g = f.lock("a", permits(2, 2))
	first := f.queue("b", permits(1, 2), waits)
	f.queue("c", permits(1, 2), waits)
	f.runsOut(g)
	f.lock("d", permits(1, 2)) // it does not need all
	f.notifies(notices, first)
}

// runsOut returns when the lease of a grant has run out.
func (f *fixture) runsOut(g protocol.LockGrant) {
	f.Helper()
	g.TTL = f.ttl
	f.ok("Renew", f.renewLock(g))
	f.until(f.now().Add(f.ttl))
}

func whoPassesTheDeadLetsOthersPass(f *fixture) {
	notices := f.listen()
	f.lock("a", read)
	dead := f.queue("dead", write, arrival)
	r1, r2 := f.queue("r1", read, arrival), f.queue("r2", read, arrival)
	dead.WaiterTTL = f.ttl
	f.askLock(protocol.Queued, dead)
	f.until(f.now().Add(f.ttl))
	f.grantedNow(r2)
	f.notifies(notices, r1)
}

func listenNotifiesAnyWhenThereAreMany(f *fixture) {
	notices := f.listen()
	g := f.lock("a", write)
	for range 100 {
		f.queue("r", read, arrival)
	}
	f.ok("Release", f.releaseLock(g))
	f.notifies(notices) // any
}

func notifyIt(c *protocol.LockClaim) { c.Notify = true }

func publishedLocksNotifyOfGrantAndEnd(f *fixture) {
	notices := f.listen()
	f.ok("Release", f.releaseLock(f.lock("a", permits(1, 4)))) // nobody is notified of others
	for _, beside := range []bool{false, true} {
		c := f.ofLock("a", permits(1, 4), notifyIt)
		g := c.Grant(f.askLock(protocol.Granted, c))
		f.notifies(notices, c)
		f.askLock(protocol.Granted, c) // it was notified
		waiting := f.ofLock("b", permits(4, 4), waits, notifyIt)
		f.askLock(protocol.Queued, waiting) // and this is no grant
		f.ok("Renew", f.renewLock(g))
		f.ok("Release", f.releaseLock(g))
		if beside {
			f.notifies(notices, c)
			break
		}
		f.notifies(notices, waiting, c)
		f.lock("c", permits(1, 4))
	}

	f.name = f.other("x")
	for _, limit := range []int{1, 4} { // alone, and beside another
		c := f.ofLock("a", permits(1, limit), notifyIt)
		g := c.Grant(f.askLock(protocol.Granted, c))
		f.notifies(notices, c)
		f.ok("Release", f.releaseLock(g))
		f.notifies(notices, c)
		f.lock("b", permits(1, 4))
	}
}

func forceReleaseNotifiesTheHolderAndWhoseTurnItIs(f *fixture) {
	notices := f.listen()
	c := f.ofLock("a", mutex)
	g := c.Grant(f.askLock(protocol.Granted, c))
	b := f.queue("b", mutex, arrival)
	f.queue("c", mutex, arrival)
	for range 2 { // without a hold there is no notification
		_, err := f.store.ForceRelease(f.ctx, f.name, g.Token)
		f.ok("ForceRelease", err)
	}
	f.notifies(notices, b, c)
	f.grantedNow(b)
}
