package natslease_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/natstest"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/lease/natslease"
)

// Somebody sets the clock of the machine on which NATS runs, ahead and back.
func TestSteppedClockOfServerEndsNoLease(t *testing.T) {
	t.Parallel()
	srv := natstest.Start(t)
	holder, other := open(t, connect(t, srv.URL())), open(t, connect(t, srv.URL()))
	step := func(ahead time.Duration) {
		srv.SetClock(ahead)
		for _, s := range []*natslease.Store{holder, other} {
			require.Eventually(t, func() bool {
				now, _, err := s.Time(t.Context())
				return err == nil && time.Until(now.Add(-ahead)).Abs() < time.Minute
			}, time.Minute, 20*time.Millisecond)
		}
	}
	claim := func(s *natslease.Store, tick int64, who string, ttl time.Duration) (protocol.Answer, protocol.Grant) {
		a, err := s.Claim(t.Context(), protocol.Claim{Name: "job", Tick: tick, Holder: who, Request: who, TTL: ttl, Takeovers: 3})
		require.NoError(t, err)
		return a, protocol.Grant{Name: "job", Tick: tick, Holder: who, Request: who, Token: a.Token, Attempt: a.Attempt, Takeovers: a.Takeovers, TTL: ttl}
	}
	step(-2 * time.Hour) // when the store is made: its time is never before that
	_, err := holder.Sync(t.Context(), []protocol.Sync{{Name: "job"}})
	require.NoError(t, err)
	_, g := claim(holder, 100, "a", time.Minute)
	for _, ahead := range []time.Duration{time.Hour, -time.Hour, 0} {
		step(ahead)
		a, _ := claim(other, 100, "b", time.Minute)
		require.Equal(t, protocol.Held, a.Status, ahead)
		require.NoError(t, holder.Renew(t.Context(), []protocol.Grant{g})[0], ahead)
	}
	require.NoError(t, holder.Settle(t.Context(), g, protocol.OutcomeSucceeded))

	first, _ := claim(holder, 200, "a", time.Second) // ends while the clock is back
	step(-time.Hour)
	require.Eventually(t, func() bool {
		a, _ := claim(other, 200, "b", time.Minute)
		return a.Status == protocol.Granted && a.Token > first.Token
	}, 20*time.Second, 10*time.Millisecond)
}
