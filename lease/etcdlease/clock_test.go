package etcdlease_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/lease/etcdlease"
)

// awaitClock waits until a store has noticed how far ahead the clock of the servers is.
func awaitClock(t testing.TB, s *etcdlease.Store, ahead time.Duration) {
	t.Helper()
	require.Eventually(t, func() bool {
		now, _, err := s.Time(t.Context())
		return err == nil && time.Until(now.Add(-ahead)).Abs() < time.Minute
	}, time.Minute, 20*time.Millisecond)
}

// Somebody sets the clock of the machine on which etcd runs, ahead and back.
func TestSteppedClockOfServerEndsNoLease(t *testing.T) {
	t.Parallel()
	etcd := own(t)
	require.NoError(t, etcd.SetClock(-2*time.Hour)) // when the store is made: its time is never before that
	config, name := configOf(etcd), prefix()
	holder, other := open(t, config, etcdlease.WithPrefix(name)), open(t, config, etcdlease.WithPrefix(name))
	awaitClock(t, holder, -2*time.Hour)
	sync1(t, holder)
	c := of(100, "a", long)
	g := grantOf(c, claim(t, holder, c))
	for _, ahead := range []time.Duration{time.Hour, -time.Hour, 0} {
		require.NoError(t, etcd.SetClock(ahead))
		awaitClock(t, holder, ahead)
		awaitClock(t, other, ahead)
		require.Equal(t, protocol.Held, claim(t, other, of(100, "b", long)).Status, ahead)
		require.NoError(t, holder.Renew(t.Context(), []protocol.Grant{g})[0], ahead)
	}
	require.NoError(t, holder.Settle(t.Context(), g, protocol.OutcomeSucceeded))

	first := claim(t, holder, of(200, "a", time.Second)) // ends while the clock is back
	require.NoError(t, etcd.SetClock(-time.Hour))
	awaitClock(t, other, -time.Hour)
	require.Eventually(t, func() bool {
		a := claim(t, other, of(200, "b", long))
		return a.Status == protocol.Granted && a.Token > first.Token
	}, 20*time.Second, 10*time.Millisecond)
}
