package redislease_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/lease/redislease"
)

func TestScriptsAreSentAgainAfterServerLostThem(t *testing.T) {
	r := newRig(t)
	admin := r.srv.Client(t)
	synced(t, r.store, "job")
	g := granted(t, r.store, claimOf("job", 100, "a", "r"))
	for _, verb := range []string{
		"claim", "renew", "pass", "sync", "time", "inspect", "release", "settle",
		"pause", "resume", "trigger", "announce", "members",
	} {
		require.NoError(t, admin.ScriptFlush(t.Context()).Err())
		r.proxy.ResetCounts()
		require.NoError(t, everyVerb(r.store, g)[verb](t.Context()), verb)
		require.Positive(t, r.proxy.CommandsByName()["EVAL"], verb)

		r.proxy.ResetCounts()
		require.NoError(t, everyVerb(r.store, g)["time"](t.Context()), verb)
	}
	r.proxy.ResetCounts()
	_, _, err := r.store.Time(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[string]int{"EVALSHA": 1}, r.proxy.CommandsByName())
}

func TestScriptsLostDuringPipelinesCostNoAnswer(t *testing.T) {
	r := newRig(t, redislease.WithTimeout(20*time.Second)) // the flushes keep the server busy
	admin := r.srv.Client(t)
	const callers, rounds = 64, 30
	for i := range callers {
		synced(t, r.store, fmt.Sprintf("job%d", i))
	}
	stop, stopped := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			select {
			case <-stop:
				stopped <- nil
				return
			default:
			}
			if err := admin.ScriptFlush(t.Context()).Err(); err != nil {
				stopped <- err
				return
			}
		}
	}()
	var all sync.WaitGroup
	errs := make([]error, callers)
	for i := range callers {
		all.Go(func() {
			for n := range int64(rounds) {
				c := claimOf(fmt.Sprintf("job%d", i), n+1, "a", "r")
				a, err := r.store.Claim(t.Context(), c)
				if err == nil && a.Status != protocol.Granted {
					err = fmt.Errorf("%+v", a)
				}
				g := grantOf(c, a)
				if err == nil {
					err = renewed(r.store, t.Context(), g)
				}
				if err == nil {
					err = r.store.Settle(t.Context(), g, "succeeded")
				}
				if err != nil {
					errs[i] = fmt.Errorf("%s at %d: %w", c.Name, c.Tick, err)
					return
				}
			}
		})
	}
	all.Wait()
	close(stop)
	require.NoError(t, <-stopped)
	for _, err := range errs {
		require.NoError(t, err)
	}
	require.Positive(t, r.proxy.CommandsByName()["EVAL"])
}

func TestDurableRecordsSurviveARestart(t *testing.T) {
	srv := redistest.Start(t, redistest.WithAOF())
	s := open(t, srv.Addr())
	synced(t, s, "job")
	c := claimOf("job", 100, "a", "r")
	g := granted(t, s, c)
	srv.Restart()
	again := eventuallyClaimed(t, s, c)
	require.Equal(t, g.Token, again.Token)
	require.NoError(t, s.Settle(t.Context(), g, "succeeded"))
	srv.Restart()
	require.Equal(t, protocol.Decided, eventuallyClaimed(t, s, c).Status)
	a := eventuallyClaimed(t, s, claimOf("job", 101, "b", "r"))
	require.Equal(t, protocol.Granted, a.Status)
	require.Greater(t, a.Token, g.Token)
}

func TestTokensRiseOverRestartsThatLoseEverything(t *testing.T) {
	srv := redistest.Start(t)
	s := open(t, srv.Addr())
	_, last, err := s.Time(t.Context())
	require.NoError(t, err)
	var token int64
	for range 3 {
		synced(t, s, "job")
		g := granted(t, s, claimOf("job", 100, "a", "r"))
		require.Greater(t, g.Token, token)
		token = g.Token
		srv.Restart()
		require.Equal(t, protocol.Unknown, eventuallyClaimed(t, s, claimOf("job", 100, "b", "r")).Status)
		_, since, err := s.Time(t.Context())
		require.NoError(t, err)
		require.Greater(t, since, last)
		last = since
	}
}

func TestShortOutageIsNoLongerForTheStore(t *testing.T) {
	srv := redistest.Start(t, redistest.WithAOF())
	s := open(t, srv.Addr())
	lock := granted(t, s, claimOf("lock", 0, "a", "r"))
	srv.Kill()
	for range 100 {
		require.Error(t, renewed(s, t.Context(), lock))
	}
	srv.Restart()
	began := time.Now()
	require.NoError(t, renewed(s, t.Context(), lock))
	require.Less(t, time.Since(began), 900*time.Millisecond)
}

// eventuallyClaimed repeats a claim until it is answered: connections that broke are found broken
// only when used.
func eventuallyClaimed(t *testing.T, s protocol.Store, c protocol.Claim) (a protocol.Answer) {
	t.Helper()
	require.Eventually(t, func() bool {
		var err error
		a, err = s.Claim(t.Context(), c)
		return err == nil
	}, 20*time.Second, 10*time.Millisecond)
	return a
}
