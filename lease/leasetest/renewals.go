package leasetest

import (
	"errors"
	"fmt"
	"time"

	"github.com/solotick/solotick/internal/protocol"
)

func renewalExtendsFromNow(f *fixture) {
	c := f.of(100, "a", ttl(f.ttl))
	a := f.ask(protocol.Granted, c)
	g := grantOf(c, a)
	g.TTL = long
	f.ok("Renew", f.renew(g))
	f.until(a.Now.Add(a.Remaining))
	held := f.ask(protocol.Held, f.of(100, "b"))
	f.between("left", held.Remaining, long/2, kept(long))

	// Not from when the lease would have ended.
	for range 3 {
		f.ok("Renew", f.renew(g))
	}
	f.between("left", f.ask(protocol.Held, f.of(100, "b")).Remaining, long/2, kept(long))

	// A shorter TTL shortens it.
	g.TTL = f.ttl
	f.ok("Renew", f.renew(g))
	f.until(f.now().Add(f.ttl))
	f.grant(100, "b")
}

func renewalRecordsTheAttempt(f *fixture) {
	g := f.expired(100, "a")
	g.Attempt, g.TTL = 3, f.ttl
	f.ok("Renew", f.renew(g))
	g.Attempt = 1 // an older renewal that comes late takes nothing back
	f.ok("Renew", f.renew(g))
	f.until(f.now().Add(f.ttl))
	f.equal("attempt", f.grant(100, "b").Attempt, 4)

	// A release brings it along, too, and takes nothing back either.
	g = f.grant(101, "a")
	g.Attempt = 5
	f.ok("Release", f.release(g))
	g.Attempt = 1
	f.ok("Release again", f.release(g))
	f.equal("attempt", f.grant(101, "b").Attempt, 6)
}

func renewAnswersForEachGrant(f *fixture) {
	fenced := f.expired(1, "a")
	f.grant(1, "b")
	settled := f.grant(2, "a")
	f.ok("Settle", f.settle(settled, "succeeded"))
	faulty := settled
	faulty.Holder = "not a holder"

	var grants []protocol.Grant
	want := map[int]error{}
	for i := range 300 {
		switch i {
		case 0, 127, 200, 299:
			want[i] = protocol.ErrFenced
			grants = append(grants, fenced)
		case 128:
			want[i] = protocol.ErrFenced
			grants = append(grants, settled)
		case 5, 150:
			want[i] = faulty.Validate()
			grants = append(grants, faulty)
		default:
			grants = append(grants, f.grant(0, "a", named(f.other(fmt.Sprint(i))), ttl(long)))
		}
	}
	before := f.now()
	for i, err := range f.store.Renew(f.ctx, grants) {
		switch w := want[i]; {
		case w == nil:
			f.ok(fmt.Sprintf("Renew: grant %d", i), err)
		case errors.Is(w, protocol.ErrFenced):
			f.fenced(fmt.Sprintf("Renew: grant %d", i), err)
		case err == nil || errors.Is(err, protocol.ErrFenced):
			f.Fatalf("Renew: grant %d: %v, want what is wrong with it", i, err)
		}
	}
	f.equal("answers to nothing", len(f.store.Renew(f.ctx, nil)), 0)
	for _, i := range []int{1, 126, 129, 298} {
		a := f.ask(protocol.Held, f.of(0, "b", named(grants[i].Name)))
		f.between("left", a.Remaining, long-a.Now.Sub(before)-time.Millisecond, kept(long))
	}
}

func expiredButNotTakenOverCanRenew(f *fixture) {
	for _, remaining := range []int{0, 3} {
		g := f.expired(int64(100+remaining), "a", takeovers(remaining))
		g.TTL = long
		f.ok("Renew", f.renew(g))
		f.equal("holder", f.ask(protocol.Held, f.of(g.Tick, "b")).Holder, "a")
	}
}

func lateRenewalRevivesNothing(f *fixture) {
	for _, tick := range []int64{100, 0} {
		g := f.grant(tick, "a")
		f.ok("Release", f.release(g))
		f.fenced("Renew after a release", f.renew(g))
		next := f.grant(tick, "b")
		f.fenced("Renew after another was granted it", f.renew(g))
		f.ok("Release", f.release(next))
		f.fenced("Renew after another has released it", f.renew(g))
		f.fenced("Renew after the release", f.renew(next))
		f.grant(tick, "c")
	}

	g := f.grant(200, "a")
	f.ok("Settle", f.settle(g, "succeeded"))
	f.fenced("Renew after a settle", f.renew(g))
	for i := range protocol.Remembered + 1 {
		f.ok("Settle", f.settle(f.grant(int64(201+i), "b"), "succeeded"))
		f.fenced("Renew after a settle and others", f.renew(g))
	}
	f.ask(protocol.Decided, f.of(200, "b"))

	// Nor does one after the record has caught up with a watermark from elsewhere.
	f.ask(protocol.Decided, f.of(200, "b", known(1000)))
	f.fenced("Renew after a settle and others", f.renew(g))
	f.equal("open but 100", len(f.record().Open), 2) // 100 and the plain lock
}
