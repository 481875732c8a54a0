package scheduler_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/scheduler"
)

// bottleneck is a store that does one thing after the other, for all replicas together. Renewals
// come by a connection of their own, as those of package redislease do, and every second request is
// one of theirs while some wait.
type bottleneck struct {
	mu      sync.Mutex
	service time.Duration // of each request
	free    time.Time     // when it has done all that it was asked
	renewed time.Time     // when it has done all renewals
}

func (b *bottleneck) fault(c call) fault {
	if c.verb == verbWake || c.verb == verbReceive {
		return fault{}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	free, service := &b.free, b.service
	if c.verb == verbRenew {
		b.free = b.free.Add(b.service) // what it takes from the others
		free, service = &b.renewed, 2*b.service
	}
	if free.Before(now) {
		*free = now
	}
	*free = free.Add(service)
	return fault{there: free.Sub(now)}
}

func (b *bottleneck) set(perSecond int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.service = time.Second / time.Duration(perSecond)
}

// settledBetween counts the runs that ended in a time.
func (f *fleet) settledBetween(from, to time.Duration) (n int) {
	_, at := eventsOf[scheduler.RunSettled](f)
	for _, t := range at {
		if d := t.Sub(epoch); d > from && d <= to {
			n++
		}
	}
	return n
}

// loaded runs three replicas over a store that does slowStore requests a second for half a minute,
// with so many ticks due each second. It returns how many runs a second are settled.
func loaded(f *fleet, ticks int) (goodput int) {
	var store bottleneck
	store.set(100_000)
	for i := range ticks {
		f.job(fmt.Sprintf("job-%03d", i), "@every 1s", takes(0))
	}
	for i := range 10 {
		f.job(fmt.Sprintf("long-%d", i), fmt.Sprintf("@at 2000-01-01T00:00:%02dZ", 8+i/5), takes(time.Minute))
	}
	for _, r := range f.startMany(3) {
		r.link.set(store.fault)
	}
	f.sleepTo(15 * time.Second)
	store.set(slowStore)
	f.sleepTo(45 * time.Second)
	store.set(100_000)
	return f.settledBetween(20*time.Second, 45*time.Second) / 25
}

func TestStoreThatKeepsUpRunsEverything(t *testing.T) {
	const most = carried
	inFleet(t, func(f *fleet) {
		require.GreaterOrEqual(t, loaded(f, most), most*95/100)
	})
}

func TestOverloadKeepsGoodputAndLeases(t *testing.T) {
	const most = carried
	inFleet(t, func(f *fleet) {
		require.GreaterOrEqual(t, loaded(f, 3*most), most*8/10, "goodput of what it can carry")
		passed := map[string]int{}
		for i := range 3 * most {
			for reason, n := range f.passed(fmt.Sprintf("job-%03d", i)) {
				passed[reason] += n
			}
		}
		require.Positive(t, passed["missed overload"])
		require.NotContains(t, passed, "missed misfire", "the reason is known")
		overloaded, at := eventsWhere(f, func(e scheduler.StoreLoadChanged) bool { return e.Overloaded })
		require.Len(t, overloaded, 3, "once on each replica")
		for i, e := range overloaded {
			require.Less(t, at[i].Sub(epoch), 30*time.Second)
			require.Positive(t, e.Waiting)
			require.Less(t, e.InFlight, slowStore)
		}

		f.sleepTo(65 * time.Second)
		for _, a := range f.runs.of("") {
			if d := a.Tick.Sub(epoch); d > 50*time.Second {
				require.Less(t, a.start.Sub(a.Tick), 2500*time.Millisecond, "all is on time again")
			}
		}
		keeps, _ := eventsWhere(f, func(e scheduler.StoreLoadChanged) bool { return !e.Overloaded })
		require.Len(t, keeps, 3)
		f.sleepTo(75 * time.Second)
		lost, _ := eventsOf[scheduler.RunLost](f)
		require.Empty(t, lost, "renewals go before claims")
		for i := range 10 {
			require.Len(t, f.runs.of(fmt.Sprintf("long-%d", i)), 1)
		}
	})
}
