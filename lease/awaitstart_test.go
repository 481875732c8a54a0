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
	forTerms(t, func(t *testing.T, term time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			k := newKeeper(t, new(faulty))
			c := claim("job")
			c.Term = term
			l := acquire(t, k, c)
			l.AwaitStart()
			began := time.Now()
			time.Sleep(term)
			requireHeld(t, l)
			<-l.Context().Done()
			require.ErrorIs(t, context.Cause(l.Context()), lease.ErrLost)
			require.LessOrEqual(t, time.Since(began), 2*term)
			l.Started()
			require.False(t, l.Valid())
		})
	})
}

func TestLeaseWhoseHolderStartsLateIsKept(t *testing.T) {
	forTerms(t, func(t *testing.T, term time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			k := newKeeper(t, new(faulty))
			c := claim("job")
			c.Term = term
			l := acquire(t, k, c)
			l.AwaitStart()
			time.Sleep(term * 5 / 4) // its renewals have ended, and it has not
			requireHeld(t, l)
			l.Started()
			time.Sleep(10 * term)
			requireHeld(t, l)
			k.Close()
		})
	})
}
