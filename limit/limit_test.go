package limit_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/solotick/solotick/internal/proxytest"
	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/memlease"
	"github.com/solotick/solotick/lease/redislease"
	"github.com/solotick/solotick/limit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func on(t testing.TB, addr string) lease.Store {
	client := redis.NewClient(&redis.Options{Addr: addr})
	store, err := redislease.New(client, "test")
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, store.Close())
		require.NoError(t, client.Close())
	})
	return store
}

func allowed(t testing.TB, l *limit.Limiter) bool {
	t.Helper()
	d, err := l.Allow(t.Context())
	require.NoError(t, err)
	return d.Allowed
}

func TestWaitersAreServedAtTheRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(memlease.Store)
		began := time.Now()
		var done sync.WaitGroup
		for range 3 { // processes
			calls := limit.New(store).Bucket("calls", 10, time.Second, limit.WithBurst(1))
			for range 20 {
				done.Go(func() {
					if err := calls.Wait(t.Context()); err != nil {
						t.Error(err)
					}
				})
			}
		}
		done.Wait()
		require.InDelta(t, 59*100, time.Since(began).Milliseconds(), 100, "60 units, of which the first was there")
	})
}

func TestAWaitEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		codes := limit.New(new(memlease.Store)).Window("codes", 5, time.Hour)
		require.NoError(t, codes.WaitN(t.Context(), 5))
		began := time.Now()
		soon, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		require.ErrorIs(t, codes.Wait(soon), context.DeadlineExceeded)
		require.Zero(t, time.Since(began), "at once: the unit comes later")

		gone, leave := context.WithCancelCause(t.Context())
		why := errors.New("the client has gone")
		time.AfterFunc(time.Minute, func() { leave(why) })
		require.ErrorIs(t, codes.Wait(gone), why)
		require.Equal(t, time.Minute, time.Since(began))
		require.NoError(t, codes.Wait(t.Context()))
		require.Greater(t, time.Since(began), 59*time.Minute)
	})
}

func TestFaultyArgumentsAreReturnedByCalls(t *testing.T) {
	limits := limit.New(new(memlease.Store))
	for want, l := range map[string]*limit.Limiter{
		"store: nil":                        limit.New(nil).Bucket("b", 1, time.Second),
		`name: "user:1"`:                    limits.Bucket("user:1", 1, time.Second),
		`count: "0"`:                        limits.Window("w", 0, time.Second),
		`per: "0s"`:                         limits.Bucket("b", 1, 0),
		`burst: "-1"`:                       limits.Bucket("b", 1, time.Second, limit.WithBurst(-1)),
		"options[0]: nil":                   limits.Bucket("b", 1, time.Second, nil),
		"burst: must be left out of a wind": limits.Window("w", 1, time.Second, limit.WithBurst(2), limit.WithFailOpen()),
	} {
		d, err := l.Allow(t.Context())
		require.ErrorContains(t, err, want)
		require.False(t, d.Allowed)
		require.ErrorContains(t, l.Wait(t.Context()), want)
	}
	_, err := limits.Bucket("b", 10, time.Second, limit.WithBurst(3)).AllowN(t.Context(), 4)
	require.ErrorContains(t, err, `units: "4" must be from 1 to 3`)
}

func TestProcessesShareALimit(t *testing.T) {
	server := redistest.Start(t)
	const most = 300
	var taken atomic.Int64
	var done sync.WaitGroup
	for range 4 {
		calls := limit.New(on(t, server.Addr())).Window("calls", most, time.Hour)
		for range 100 {
			done.Go(func() {
				d, err := calls.Allow(t.Context())
				if err != nil {
					t.Error(err)
				}
				if d.Allowed {
					taken.Add(1)
				}
			})
		}
	}
	done.Wait()
	require.EqualValues(t, most, taken.Load())
}

func TestRequestsOfOneMomentAreOneChange(t *testing.T) {
	proxy := proxytest.New(t, redistest.Start(t).Addr())
	calls := limit.New(on(t, proxy.Addr())).Bucket("calls", 10_000, time.Hour)
	require.True(t, allowed(t, calls))
	proxy.ResetCounts()
	proxy.Delay(20*time.Millisecond, proxytest.Replies)
	var done sync.WaitGroup
	for range 500 {
		done.Go(func() {
			if d, err := calls.Allow(t.Context()); err != nil || !d.Allowed {
				t.Errorf("%+v, %v", d, err)
			}
		})
	}
	done.Wait()
	require.LessOrEqual(t, proxy.Commands(), 100, "of 500 requests")
	d, err := calls.Allow(t.Context())
	require.NoError(t, err)
	require.Equal(t, 10_000-502, d.Remaining)
}

func TestProcessesTakeInOneCommandEach(t *testing.T) {
	proxy := proxytest.New(t, redistest.Start(t).Addr())
	const processes, each = 16, 20
	var limits []*limit.Limiter
	for range processes {
		calls := limit.New(on(t, proxy.Addr())).Bucket("calls", 10_000, time.Hour)
		require.True(t, allowed(t, calls))
		limits = append(limits, calls)
	}
	proxy.ResetCounts()
	var done sync.WaitGroup
	for _, calls := range limits {
		done.Go(func() {
			for range each {
				if d, err := calls.Allow(t.Context()); err != nil || !d.Allowed {
					t.Errorf("%+v, %v", d, err)
				}
			}
		})
	}
	done.Wait()
	require.LessOrEqual(t, proxy.Commands(), processes*each+processes, "nobody asks twice because of others")
}

func TestALostReplyTakesItsUnitsOnce(t *testing.T) {
	for kind, of := range map[string]func(*limit.Limits) *limit.Limiter{
		"bucket": func(l *limit.Limits) *limit.Limiter { return l.Bucket("calls", 5, time.Hour) },
		"window": func(l *limit.Limits) *limit.Limiter { return l.Window("calls", 5, time.Hour) },
	} {
		t.Run(kind, func(t *testing.T) {
			proxy := proxytest.New(t, redistest.Start(t).Addr())
			calls := of(limit.New(on(t, proxy.Addr())))
			require.True(t, allowed(t, calls))
			lost := proxy.RepliesLost()
			proxy.LoseReplies(1, "EVALSHA", "EVAL")
			d, err := calls.AllowN(t.Context(), 2)
			require.NoError(t, err)
			require.Equal(t, lost+1, proxy.RepliesLost())
			require.Equal(t, limit.Decision{Allowed: true, Remaining: 2}, d)
		})
	}
}

func TestNothingIsAllowedWhileTheStoreIsAway(t *testing.T) {
	server := redistest.Start(t)
	limits := limit.New(on(t, server.Addr()))
	calls, open := limits.Bucket("calls", 5, time.Hour), limits.Bucket("calls", 5, time.Hour, limit.WithFailOpen())
	require.True(t, allowed(t, calls))
	server.Kill()
	d, err := calls.Allow(t.Context())
	require.Error(t, err)
	require.Equal(t, limit.Decision{}, d)
	require.Error(t, calls.Wait(t.Context()))
	d, err = open.Allow(t.Context())
	require.NoError(t, err)
	require.True(t, d.Allowed)
	require.Error(t, d.Unchecked, "and it says so")
	require.NoError(t, open.Wait(t.Context()))
	over, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = open.Allow(over)
	require.ErrorIs(t, err, context.Canceled)

	server.Restart() // empty: what this process knows is back
	d, err = calls.AllowN(t.Context(), 4)
	require.NoError(t, err)
	require.Equal(t, limit.Decision{Allowed: true}, d)
}

func TestFullMemoryAllowsNothing(t *testing.T) {
	server := redistest.Start(t, redistest.WithConf("maxmemory-policy", "noeviction"))
	calls := limit.New(on(t, server.Addr())).Bucket("calls", 5, time.Hour)
	require.True(t, allowed(t, calls))
	require.NoError(t, server.Client(t).ConfigSet(t.Context(), "maxmemory", "1").Err())
	d, err := calls.Allow(t.Context())
	require.ErrorContains(t, err, "OOM")
	require.False(t, d.Allowed)
}

func TestASteppedClockAllowsNoBurst(t *testing.T) {
	server := redistest.Start(t, redistest.WithClock())
	limits := limit.New(on(t, server.Addr()))
	calls, codes := limits.Bucket("calls", 5, time.Minute), limits.Window("codes", 5, time.Minute)
	for _, l := range []*limit.Limiter{calls, codes} {
		d, err := l.AllowN(t.Context(), 5)
		require.NoError(t, err)
		require.True(t, d.Allowed)
	}
	server.SetClock(-time.Hour)
	for _, l := range []*limit.Limiter{calls, codes} {
		d, err := l.Allow(t.Context())
		require.NoError(t, err)
		require.False(t, d.Allowed)
		require.LessOrEqual(t, d.Wait, 2*time.Minute+5*time.Second)
	}
	server.SetClock(time.Hour) // all is back by the store's clock, and no more than all
	for _, l := range []*limit.Limiter{calls, codes} {
		d, err := l.AllowN(t.Context(), 5)
		require.NoError(t, err)
		require.Equal(t, limit.Decision{Allowed: true}, d)
		require.False(t, allowed(t, l))
	}
}

func TestALimitThatIsNotUsedLeavesNothing(t *testing.T) {
	server := redistest.Start(t)
	limits := limit.New(on(t, server.Addr()))
	require.True(t, allowed(t, limits.Bucket("calls", 5, time.Minute)))
	client := server.Client(t)
	keys, err := client.Keys(t.Context(), "*limit:calls").Result()
	require.NoError(t, err)
	require.Len(t, keys, 1)
	require.Positive(t, client.PTTL(t.Context(), keys[0]).Val())
}

func Example() {
	limits := limit.New(new(memlease.Store)) // a service gives it the store of its Redis
	calls := limits.Bucket("partner", 100, time.Minute, limit.WithBurst(2))
	for range 3 {
		d, err := calls.Allow(context.Background())
		if err != nil {
			fmt.Println("the store does not answer:", err)
			return
		}
		fmt.Println(d.Allowed, d.Remaining, d.Wait.Round(100*time.Millisecond))
	}
	// Output:
	// true 1 0s
	// true 0 0s
	// false 0 600ms
}
