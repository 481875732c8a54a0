package redislease_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/proxytest"
	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/redislease"
)

// A holder that is cut off learns nothing, and has to know all the same. So has a holder whose
// application has taken every connection of its own client.
func TestCutOffHoldersContextEndsInTime(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	proxy := proxytest.New(t, srv.Addr())
	client := redis.NewClient(&redis.Options{Addr: proxy.Addr(), PoolSize: 1})
	cutOff := openFor(t, client, redislease.WithTimeout(300*time.Millisecond))
	busy, done := context.WithCancel(t.Context())
	defer done()
	go client.BLPop(busy, time.Minute, "nothing")
	other := open(t, srv.Addr())
	renewer := lease.NewRenewer(cutOff)
	t.Cleanup(renewer.Close)
	synced(t, other, "job")
	for _, tick := range []int64{0, 100} {
		c := lease.Claim{Name: "job", Tick: tick, Holder: "a", TTL: 1500 * time.Millisecond, Takeovers: 1}
		var held *lease.Lease
		require.Eventually(t, func() bool {
			var err error
			held, err = renewer.Acquire(context.Background(), c)
			return err == nil
		}, 20*time.Second, 10*time.Millisecond)
		time.Sleep(700 * time.Millisecond) // it is renewed once
		require.True(t, held.Valid())
		ended := make(chan time.Time, 1)
		context.AfterFunc(held.Context(), func() { ended <- time.Now() })
		proxy.Blackhole()
		theirs := protocol.Claim{Name: c.Name, Tick: c.Tick, Holder: "b", Request: "r", TTL: c.TTL, Takeovers: c.Takeovers}
		require.Eventually(t, func() bool {
			a, err := other.Claim(t.Context(), theirs)
			require.NoError(t, err)
			return a.Status == protocol.Granted
		}, 20*time.Second, time.Millisecond)
		next := time.Now()
		require.Less(t, receive(t, ended), next)
		require.ErrorIs(t, context.Cause(held.Context()), lease.ErrLost)
		proxy.Heal()
	}
}
