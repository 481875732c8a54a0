package leasetest

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/solotick/solotick/internal/protocol"
)

// take takes units of a limit of the fixture's name.
func (f *fixture) take(l protocol.Limit, units int) protocol.Taken {
	f.Helper()
	a, err := f.store.Take(f.ctx, protocol.Take{Name: f.name, Limit: l, Units: units})
	f.ok("Take", err)
	return a
}

func bucketFillsEvenly(f *fixture) {
	b := protocol.Limit{Count: 1, Per: time.Hour, Burst: 3}
	f.equal("taken", f.take(b, 2), protocol.Taken{OK: true, Remaining: 1})
	a := f.take(b, 2)
	f.equal("ok", a.OK, false)
	f.equal("remaining", a.Remaining, 1)
	f.about("wait for two", a.Wait, time.Hour)
	f.equal("taken", f.take(b, 1), protocol.Taken{OK: true})
	f.about("wait for three", f.take(b, 3).Wait, 3*time.Hour)

	for per := 4 * f.ttl; ; per *= 2 { // however slow the machine
		f.again() // the limits of names are apart
		b = protocol.Limit{Count: 1, Per: per, Burst: 1}
		before := f.now()
		f.equal("ok", f.take(b, 1).OK, true)
		a = f.take(b, 1)
		if a.OK && f.now().Sub(before) >= per && per < long {
			continue
		}
		if a.OK || a.Wait > per {
			f.Fatalf("at once: %+v", a)
		}
		f.until(f.now().Add(a.Wait))
		f.equal("ok", f.take(b, 1).OK, true)
		return
	}
}

func windowHoldsInAnyOfItsLength(f *fixture) {
	w := protocol.Limit{Window: true, Count: 3, Per: time.Hour}
	f.equal("taken", f.take(w, 2), protocol.Taken{OK: true, Remaining: 1})
	a := f.take(w, 2)
	f.equal("remaining", a.Remaining, 1)
	f.about("wait", a.Wait, time.Hour)
	f.equal("taken", f.take(w, 1), protocol.Taken{OK: true})
	f.about("wait for all", f.take(w, 3).Wait, time.Hour)

	f.again()
	w = protocol.Limit{Window: true, Count: 2, Per: 8 * f.ttl}
	first := f.now()
	f.equal("ok", f.take(w, 2).OK, true)
	for a := f.take(w, 2); !a.OK; a = f.take(w, 2) {
		f.until(f.now().Add(a.Wait))
	}
	if since := f.now().Sub(first); since < w.Per {
		f.Fatalf("two, and two more after %s: that is four in %s", since, w.Per)
	}
}

// about wants a duration of that length, or as much less as has passed, or as a limit is coarse.
func (f *fixture) about(what string, got, want time.Duration) {
	f.Helper()
	if got < want-time.Minute || got > want+2*time.Minute {
		f.Fatalf("%s: %s, want about %s", what, got, want)
	}
}

func manyTakeNoMoreThanTheLimit(f *fixture) {
	const most = 50
	for _, l := range []protocol.Limit{{Count: 1, Per: 24 * time.Hour, Burst: most}, {Window: true, Count: most, Per: 24 * time.Hour}} {
		f.again()
		var taken atomic.Int64
		var all sync.WaitGroup
		for i := range 100 {
			all.Go(func() {
				units := 1 + i%3
				a, err := f.store.Take(f.ctx, protocol.Take{Name: f.name, Limit: l, Units: units})
				if err != nil {
					f.Errorf("Take: %v", err)
				}
				if a.OK {
					taken.Add(int64(units))
				}
			})
		}
		all.Wait()
		f.equal("taken", taken.Load(), int64(most))
	}
}

func faultyTakesAreRefused(f *fixture) {
	good := protocol.Take{Name: f.name, Limit: protocol.Limit{Count: 2, Per: time.Second, Burst: 3}, Units: 3}
	for what, change := range map[string]func(t *protocol.Take){
		"without a name":      func(t *protocol.Take) { t.Name = "" },
		"of nothing":          func(t *protocol.Take) { t.Units = 0 },
		"of more than all":    func(t *protocol.Take) { t.Units = 4 },
		"of no count":         func(t *protocol.Take) { t.Limit.Count = 0 },
		"of no time":          func(t *protocol.Take) { t.Limit.Per = 0 },
		"of no burst":         func(t *protocol.Take) { t.Limit.Burst = 0 },
		"of too long a burst": func(t *protocol.Take) { t.Limit = protocol.Limit{Count: 1, Per: 8760 * time.Hour, Burst: 2} },
		"of a full window":    func(t *protocol.Take) { t.Limit.Window = true },
	} {
		t := good
		change(&t)
		if _, err := f.store.Take(f.ctx, t); err == nil {
			f.Fatalf("Take %s: no error", what)
		}
	}
	_, err := f.store.Take(f.ctx, good)
	f.ok("Take", err)
}

func emptiedStoreGetsLimitsBack(f *fixture) {
	b, w := protocol.Limit{Count: 1, Per: time.Hour, Burst: 2}, protocol.Limit{Window: true, Count: 2, Per: time.Hour}
	f.equal("ok", f.take(b, 2).OK, true)
	f.equal("ok", f.take(w, 2).OK, true)
	f.forgetAll()
	f.equal("ok", f.take(b, 1).OK, false)
	f.equal("ok", f.take(w, 1).OK, false)
}
