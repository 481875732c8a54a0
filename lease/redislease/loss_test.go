package redislease_test

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/proxytest"
	"github.com/solotick/solotick/internal/redistest"
)

func TestRepeatedRequestAfterLostReplyGetsSameAnswer(t *testing.T) {
	r := newRig(t)
	synced(t, r.store, "job")
	lose := func(call func() error) {
		t.Helper()
		before := r.proxy.RepliesLost()
		r.proxy.LoseReplies(1, "EVALSHA", "EVAL")
		err := call()
		require.Error(t, err)
		require.NotErrorIs(t, err, protocol.ErrFenced)
		require.Equal(t, before+1, r.proxy.RepliesLost())
	}
	c := claimOf("job", 100, "a", "r")
	lose(func() error { _, err := r.store.Claim(t.Context(), c); return err })
	held, err := r.store.Claim(t.Context(), claimOf("job", 100, "b", "r"))
	require.NoError(t, err)
	require.Equal(t, protocol.Held, held.Status, "the claim whose answer was lost had been granted")
	g := granted(t, r.store, c)
	require.Equal(t, held.Token, g.Token)
	require.Equal(t, 1, g.Attempt)

	lose(func() error { return renewed(r.store, t.Context(), g) })
	require.NoError(t, renewed(r.store, t.Context(), g))
	lose(func() error { return r.store.Release(t.Context(), g) })
	require.NoError(t, r.store.Release(t.Context(), g))
	g = granted(t, r.store, claimOf("job", 100, "a", "r2"))
	require.Equal(t, 2, g.Attempt)
	lose(func() error { return r.store.Settle(t.Context(), g, "succeeded") })
	require.NoError(t, r.store.Settle(t.Context(), g, "succeeded"))

	p := protocol.Skip{Name: "job", From: 100, To: 110, Outcome: "missed", Request: "p", Holder: "a"}
	lose(func() error { _, _, err := r.store.Skip(t.Context(), p); return err })
	watermark, passed, err := r.store.Skip(t.Context(), p)
	require.NoError(t, err)
	require.True(t, passed)
	require.EqualValues(t, 110, watermark)
}

func TestTheStoreDoesNotRetryByItself(t *testing.T) {
	srv := redistest.Start(t)
	proxy := proxytest.New(t, srv.Addr())
	client := redis.NewClient(&redis.Options{Addr: proxy.Addr(), MaxRetries: 5})
	s := openFor(t, client)
	synced(t, s, "job")
	granted(t, s, claimOf("job", 100, "a", "r")) // the script is known now
	proxy.ResetCounts()
	proxy.LoseReplies(1, "EVALSHA", "EVAL")
	_, err := s.Claim(t.Context(), claimOf("job", 101, "a", "r"))
	require.Error(t, err)
	require.Equal(t, 1, proxy.CommandsByName()["EVALSHA"])

	// The caller's client is left as it was.
	proxy.ResetCounts()
	proxy.LoseReplies(1, "GET")
	require.ErrorIs(t, client.Get(context.Background(), "nothing").Err(), redis.Nil)
	require.Equal(t, 2, proxy.CommandsByName()["GET"])
}
