package lease_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/lease"
)

func TestRenewalsAreBatched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const leases = 10_000
		var mu sync.Mutex
		var most, goroutines int
		perSecond := map[time.Duration]int{}
		start := time.Now()
		store := new(faulty)
		store.onRenew = func(_ context.Context, do func() error) error {
			mu.Lock()
			goroutines = max(goroutines, keeperGoroutines())
			second := time.Since(start).Truncate(time.Second)
			perSecond[second]++
			most = max(most, perSecond[second])
			mu.Unlock()
			time.Sleep(20 * time.Millisecond)
			return do()
		}
		k := newRenewer(t, store)
		for i := range leases {
			acquire(t, k, claim(fmt.Sprintf("job-%d", i)))
		}
		require.Zero(t, keeperGoroutines(), "nothing is due")
		time.Sleep(30 * time.Second)
		require.Equal(t, leases, k.Held(), "none was lost")
		k.Close()

		require.GreaterOrEqual(t, store.renewed.Load(), int64(leases*30/6), "a lease is renewed about each third of its term")
		require.LessOrEqual(t, store.renewed.Load(), int64(leases*30/4))
		require.LessOrEqual(t, most, 15, "calls in one second")
		require.LessOrEqual(t, store.renewals.Load(), int64(5*30), "calls in all")
		require.LessOrEqual(t, goroutines, 3)
		require.Positive(t, goroutines)
	})
}

func TestHangingRenewalsDoNotDelayOtherDeadlines(t *testing.T) {
	for name, f := range map[string]fault{"hanging": hangs, "deaf": answersAfter(time.Hour)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := newRenewer(t, &faulty{onRenew: f})
				var wg sync.WaitGroup
				for i := range 100 {
					c := claim(fmt.Sprintf("job-%d", i))
					c.TTL = time.Duration(i+1) * 300 * time.Millisecond
					l := acquire(t, k, c)
					deadline := l.Deadline()
					wg.Go(func() {
						<-l.Context().Done()
						require.Equal(t, deadline, time.Now())
					})
					time.Sleep(7 * time.Millisecond)
				}
				wg.Wait()
			})
		})
	}
}

func TestOneHangingRenewalDoesNotStarveTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end := make(chan struct{})
		store := &faulty{onRenew: first(1, func(context.Context, func() error) error { <-end; return errDown })} // deaf to ctx
		k := newRenewer(t, store)
		stuck := acquire(t, k, claim("stuck"))
		time.Sleep(2 * time.Second)
		var others []*lease.Lease
		for i := range 3000 { // more than travel together
			others = append(others, acquire(t, k, claim(fmt.Sprintf("job-%d", i))))
		}
		time.Sleep(time.Minute)
		requireLost(t, stuck, protocol.LostExpired, nil)
		for _, l := range others {
			requireHeld(t, l)
		}
		close(end)
	})
}

// Both senders hang once; leases that are due meanwhile are renewed when they have given up.
func TestHangingRenewalsEndInTimeForTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &faulty{onRenew: first(2, hangs)}
		k := newRenewer(t, store)
		defer k.Close()
		for i := range 3000 {
			acquire(t, k, claim(fmt.Sprintf("job-%d", i)))
		}
		time.Sleep(30 * time.Second)
		require.Equal(t, 3000, k.Held())
	})
}

func TestRenewalsOfAFleetSpreadOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var mu sync.Mutex
		times := map[time.Duration]int{}
		for i := range 100 {
			store := &faulty{onRenew: first(1, func(_ context.Context, do func() error) error {
				mu.Lock()
				defer mu.Unlock()
				times[time.Since(start)]++
				return do()
			})}
			acquire(t, newRenewer(t, store), claim(fmt.Sprintf("job-%d", i)))
		}
		time.Sleep(15 * time.Second / 2)
		mu.Lock()
		defer mu.Unlock()
		require.Greater(t, len(times), 50)
		for at := range times {
			require.InDelta(t, 5*time.Second, at, float64(600*time.Millisecond))
		}
	})
}

func TestAtMostTwoRenewalsAreUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var now, most, goroutines int
		store := &faulty{onRenew: func(ctx context.Context, do func() error) error {
			mu.Lock()
			now++
			most, goroutines = max(most, now), max(goroutines, keeperGoroutines())
			mu.Unlock()
			err := hangs(ctx, do)
			mu.Lock()
			now--
			mu.Unlock()
			return err
		}}
		k := newRenewer(t, store)
		for i := range 3000 {
			acquire(t, k, claim(fmt.Sprintf("job-%d", i)))
		}
		time.Sleep(time.Minute)
		require.Zero(t, k.Held())
		require.Equal(t, 2, most)
		require.LessOrEqual(t, goroutines, 3)
	})
}

// impatient records the timeout of each call of Renew.
type impatient struct {
	lease.Store
	given func(limit time.Duration, grants []protocol.Grant)
}

func (s *impatient) Renew(ctx context.Context, grants []protocol.Grant) []error {
	deadline, _ := ctx.Deadline()
	s.given(time.Until(deadline), grants)
	return s.Store.Renew(ctx, grants)
}

func TestRenewalTimeoutIsASixthOfTTL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mixed := 0
		k := newRenewer(t, &impatient{Store: new(faulty), given: func(limit time.Duration, grants []protocol.Grant) {
			shortest := grants[0].TTL
			for _, g := range grants {
				shortest = min(shortest, g.TTL)
			}
			require.Equal(t, max(shortest/6, 10*time.Millisecond), limit)
			if shortest < grants[0].TTL {
				mixed++
			}
		}})
		for i := range 500 {
			c := claim(fmt.Sprintf("job-%d", i))
			c.TTL = time.Duration(i+1) * 30 * time.Millisecond
			acquire(t, k, c)
		}
		time.Sleep(10 * time.Second)
		require.Equal(t, 500, k.Held())
		require.Greater(t, mixed, 10)
	})
}

func TestShortLeaseBesideLongIsRenewedInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newRenewer(t, new(faulty))
		long, short := claim("long"), claim("short")
		long.TTL, short.TTL = time.Hour, 100*time.Millisecond
		acquire(t, k, long)
		time.Sleep(time.Second + time.Millisecond)
		l := acquire(t, k, short)
		time.Sleep(time.Minute)
		requireHeld(t, l)
	})
}
