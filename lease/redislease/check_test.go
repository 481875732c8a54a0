package redislease_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/lease/redislease"
)

// A logger that collects what go-redis writes to the log that all clients of a process share.
type received chan string

func (h received) Printf(_ context.Context, format string, _ ...any) {
	select {
	case h <- format:
	default:
	}
}

// The log of go-redis belongs to the application: while Redis is away, the store's own client
// writes nothing to it.
func TestAStoreLeavesTheSharedLogAlone(t *testing.T) {
	log := make(received, 100)
	redis.SetLogger(log)
	srv := redistest.Start(t)
	s := open(t, srv.Addr())
	require.NoError(t, s.Check(t.Context()))
	srv.Kill()
	for range 20 {
		_, _, err := s.Time(t.Context())
		require.Error(t, err)
	}
	require.ErrorContains(t, s.Check(t.Context()), "connection refused; check that Redis runs")
	require.Empty(t, log)

	srv.Restart()
	require.Eventually(t, func() bool { return s.Check(t.Context()) == nil }, 10*time.Second, 10*time.Millisecond)
	require.Empty(t, log)
}

func TestCheckLeavesOneRecord(t *testing.T) {
	srv := redistest.Start(t)
	s := open(t, srv.Addr())
	for range 3 {
		require.NoError(t, s.Check(t.Context()))
	}
	keys, err := srv.Client(t).Keys(t.Context(), "*check*").Result()
	require.NoError(t, err)
	require.LessOrEqual(t, len(keys), 1)
	shown, err := s.Lock(t.Context(), "solotick-check")
	require.NoError(t, err)
	require.Empty(t, shown.Holds)
}

func TestCheckSaysWhichCallFails(t *testing.T) {
	srv := redistest.Start(t)
	admin := srv.Client(t)
	require.NoError(t, admin.Do(t.Context(), "ACL", "SETUSER", "narrow", "on", ">secret", "~solotick:*", "+@read", "+@scripting", "+@connection", "+time", "+pexpire").Err())
	s := openFor(t, redis.NewClient(&redis.Options{Addr: srv.Addr(), Username: "narrow", Password: "secret"}))

	err := s.Check(t.Context())

	var fault *protocol.CheckError
	require.ErrorAs(t, err, &fault)
	require.Contains(t, fault.Hint, "let the user of Redis do")
	require.Equal(t, "Time", fault.Call)
	require.Implements(t, (*protocol.Store)(nil), new(redislease.Store))
}
