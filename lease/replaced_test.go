package lease_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/memlease"
)

func replacing(t *testing.T, store lease.Store, renewer *lease.Renewer) *lease.Lease {
	t.Helper()
	c := protocol.Claim{Name: "job", Tick: 1000, Holder: "a", TTL: 15 * time.Second, Takeovers: 3}
	l, err := renewer.AcquireAs(t.Context(), c)
	require.NoError(t, err)
	newer := protocol.Claim{
		Name: "job", Tick: 2000, Holder: "b", Request: "newer", TTL: 15 * time.Second, Overlap: protocol.OverlapReplace,
	}
	a, err := store.Claim(t.Context(), newer)
	require.NoError(t, err)
	require.Equal(t, protocol.Queued, a.Status)
	require.NoError(t, context.Cause(l.Context()), "the holder has not heard of it")
	return l
}

func TestReplacedLeaseEndsAtItsNextRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var store memlease.Store
		var seen []lease.Renewal
		renewer := lease.NewRenewer(&store)
		renewer.Observe(func(r lease.Renewal) { seen = append(seen, r) })
		defer renewer.Close()
		l := replacing(t, &store, renewer)
		began := time.Now()
		<-l.Context().Done()
		require.ErrorIs(t, context.Cause(l.Context()), lease.ErrReplaced)
		require.Less(t, time.Since(began), 6*time.Second)
		require.True(t, l.Valid(), "it is held until it is settled, or runs out")
		synctest.Wait()
		require.Equal(t, 1, seen[len(seen)-1].Replaced)
		l.SetNote("made room")
		require.NoError(t, l.Settle(t.Context(), protocol.OutcomeReplaced))
		r, err := store.Inspect(t.Context(), "job")
		require.NoError(t, err)
		require.Equal(t, "made room", r.Settled[0].Note)
	})
}

func TestReplacedLeaseLearnsOfItWhenItChecks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var store memlease.Store
		renewer := lease.NewRenewer(&store)
		defer renewer.Close()
		l := replacing(t, &store, renewer)
		began := time.Now()
		l.Check()
		<-l.Context().Done()
		require.ErrorIs(t, context.Cause(l.Context()), lease.ErrReplaced)
		require.Zero(t, time.Since(began))
	})
}

func TestReplacedLeaseIsNotRenewedAnyMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var store memlease.Store
		renewer := lease.NewRenewer(&store)
		defer renewer.Close()
		l := replacing(t, &store, renewer)
		<-l.Context().Done()
		time.Sleep(time.Until(l.Deadline()))
		synctest.Wait()
		require.Zero(t, renewer.Held())
		require.False(t, l.Valid())
		require.ErrorIs(t, context.Cause(l.Context()), lease.ErrReplaced, "what came first stays the cause")
		time.Sleep(time.Second)
		a, err := store.Claim(t.Context(), protocol.Claim{
			Name: "job", Tick: 2000, Holder: "b", Request: "again", TTL: time.Second, Overlap: protocol.OverlapReplace, OnlyOpen: true,
		})
		require.NoError(t, err)
		require.Equal(t, protocol.Granted, a.Status)
		require.Equal(t, protocol.OutcomeReplaced, a.Settled[0].Outcome)
	})
}

func TestACheckDuringARenewalIsNotLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &faulty{}
		store.onRenew = func(_ context.Context, do func() error) error {
			err := do()
			time.Sleep(50 * time.Millisecond) // on the way back
			return err
		}
		renewer := lease.NewRenewer(store)
		defer renewer.Close()
		const ttl = time.Hour
		l, err := renewer.AcquireAs(t.Context(), protocol.Claim{Name: "job", Tick: 1000, Holder: "a", TTL: ttl, Takeovers: 3})
		require.NoError(t, err)
		for store.renewals.Load() == 0 {
			time.Sleep(10 * time.Millisecond)
		}
		// the renewal has been done; its answer is under way
		_, err = store.Store.Claim(t.Context(), protocol.Claim{Name: "job", Tick: 2000, Holder: "b", Request: "n", TTL: ttl, Overlap: protocol.OverlapReplace})
		require.NoError(t, err)
		l.Check()
		began := time.Now()
		<-l.Context().Done()
		require.ErrorIs(t, context.Cause(l.Context()), lease.ErrReplaced)
		require.Less(t, time.Since(began), time.Second)
	})
}

func TestNoteReservedForStoresIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var store memlease.Store
		renewer := lease.NewRenewer(&store)
		defer renewer.Close()
		l, err := renewer.AcquireAs(t.Context(), protocol.Claim{Name: "job", Tick: 1000, Holder: "a", TTL: time.Minute})
		require.NoError(t, err)
		l.SetNote(protocol.NoteExpired)
		require.ErrorContains(t, l.Settle(t.Context(), "succeeded"), "note")
		require.Zero(t, renewer.Held())
	})
}
