package lease_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/lease"
)

func TestNoGoroutineIsLeftWhenNothingIsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newRenewer(t, new(faulty))
		for i := range 100 {
			l := acquire(t, k, claim("job"))
			time.Sleep(time.Duration(i) * 100 * time.Millisecond)
			require.NoError(t, l.Release(t.Context()))
			synctest.Wait()
			require.Zero(t, keeperGoroutines())
		}
	})
}

func TestCloseWaitsForRenewalsAndEndsThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(faulty)
		renewing, ended := make(chan struct{}), false
		store.onRenew = func(ctx context.Context, _ func() error) error {
			close(renewing)
			<-ctx.Done()
			time.Sleep(time.Second)
			ended = true
			return ctx.Err()
		}
		k := newRenewer(t, store)
		l := acquire(t, k, claim("job"))
		<-renewing
		start := time.Now()
		k.Close()
		require.True(t, ended)
		require.Equal(t, time.Second, time.Since(start), "the renewal was told to end at once")
		require.Equal(t, lease.ErrReleased, context.Cause(l.Context()))
	})
}

func TestCloseWaitsForTheObserver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		observing, observed := make(chan struct{}), false
		k := newRenewer(t, new(faulty), func(lease.Renewal) {
			close(observing)
			time.Sleep(time.Minute)
			observed = true
		})
		acquire(t, k, claim("job"))
		<-observing
		k.Close()
		require.True(t, observed)
	})
}

func TestRenewerIsUsableAfterClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(faulty)
		k := newRenewer(t, store)
		k.Close()
		for i := range 3 {
			l := acquire(t, k, claim(fmt.Sprintf("job-%d", i)))
			time.Sleep(time.Minute)
			requireHeld(t, l)
			start := time.Now()
			k.Close()
			k.Close()
			require.Zero(t, time.Since(start), "there was nothing to wait for")
			require.Equal(t, lease.ErrReleased, context.Cause(l.Context()))
		}
	})
}

func TestLeaseKeptDuringCloseIsKeptAfterIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		renewing := make(chan struct{})
		store := &faulty{onRenew: first(1, func(context.Context, func() error) error {
			close(renewing)
			time.Sleep(time.Minute)
			return errDown
		})}
		k := newRenewer(t, store)
		earlier := acquire(t, k, claim("earlier"))
		<-renewing
		start := time.Now()
		var wg sync.WaitGroup
		wg.Go(k.Close)
		wg.Go(k.Close)
		synctest.Wait()
		require.Equal(t, lease.ErrReleased, context.Cause(earlier.Context()))
		c := claim("later")
		c.TTL = 5 * time.Minute
		later := acquire(t, k, c)
		require.Equal(t, time.Minute, time.Since(start), "it waits for Close")
		wg.Wait()
		require.Equal(t, time.Minute, time.Since(start), "and Close does not wait for it")
		time.Sleep(time.Hour)
		requireHeld(t, later)
	})
}
