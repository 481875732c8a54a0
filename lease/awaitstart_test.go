package lease_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/lease"
)

func TestLeaseWhoseHolderDoesNotStartRunsOut(t *testing.T) {
	forTerms(t, func(t *testing.T, ttl time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			k := newRenewer(t, new(faulty))
			c := claim("job")
			c.TTL = ttl
			l := acquire(t, k, c)
			l.AwaitStart()
			began := time.Now()
			time.Sleep(ttl)
			requireHeld(t, l)
			<-l.Context().Done()
			require.ErrorIs(t, context.Cause(l.Context()), lease.ErrLost)
			require.LessOrEqual(t, time.Since(began), 2*ttl)
			l.Started()
			require.False(t, l.Valid())
		})
	})
}

func TestLeaseWhoseHolderStartsLateIsKept(t *testing.T) {
	forTerms(t, func(t *testing.T, ttl time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			k := newRenewer(t, new(faulty))
			c := claim("job")
			c.TTL = ttl
			l := acquire(t, k, c)
			l.AwaitStart()
			time.Sleep(ttl * 5 / 4) // its renewals have ended, and it has not
			requireHeld(t, l)
			l.Started()
			time.Sleep(10 * ttl)
			requireHeld(t, l)
			k.Close()
		})
	})
}
