package solotick_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick"
	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/lease/memlease"
	"github.com/solotick/solotick/scheduler"
)

// lines is a log that several goroutines write.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}
func (l *lines) String() string { l.mu.Lock(); defer l.mu.Unlock(); return l.text.String() }

func TestTheFirstLinesWarnOfRedisSettings(t *testing.T) {
	server := redistest.Start(t)
	admin := server.Client(t)
	for _, setting := range [][2]string{{"maxmemory", "100mb"}, {"maxmemory-policy", "allkeys-lru"}, {"save", ""}, {"appendonly", "no"}} {
		require.NoError(t, admin.ConfigSet(t.Context(), setting[0], setting[1]).Err())
	}
	require.NoError(t, admin.Do(t.Context(), "ACL", "SETUSER", "mute", "on", ">secret", "~solotick:*", "+@all", "resetchannels").Err())
	client := redis.NewClient(&redis.Options{Addr: server.Addr(), Username: "mute", Password: "secret"})
	t.Cleanup(func() { require.NoError(t, client.Close()) })

	log := new(lines)
	s := solotick.New(client, "billing", solotick.WithLogger(slog.New(slog.NewTextHandler(log, nil))))
	require.NoError(t, s.Func("job", "@daily", func(context.Context, solotick.Run) error { return nil }))
	require.NoError(t, s.Start())
	require.NoError(t, s.WaitReady(t.Context()))
	wants := []string{"check=eviction", "set maxmemory-policy noeviction", "check=persistence", "set appendonly yes", "check=messages", "&solotick:*"}
	require.Eventually(t, func() bool {
		text := log.String()
		for _, want := range wants {
			if !strings.Contains(text, want) {
				return false
			}
		}
		return true
	}, 30*time.Second, 10*time.Millisecond, "%v\n%v", wants, log)
	require.NoError(t, s.Shutdown(t.Context()))
	require.Equal(t, 3, strings.Count(log.String(), "the store is not as it should be"))
}

// The store is closed when nothing is renewed any more, though Shutdown has given up before.
func TestADeafHandlerLeavesTheLogAlone(t *testing.T) {
	server := redistest.Start(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	log := new(lines)
	s := solotick.New(client, "billing", solotick.WithLogger(slog.New(slog.NewTextHandler(log, nil))),
		solotick.WithScheduler(scheduler.WithTTL(time.Second), scheduler.WithShutdownGrace(0)))
	begun, over := make(chan struct{}), make(chan struct{})
	defer close(over)
	require.NoError(t, s.Func("deaf", "@daily", func(context.Context, solotick.Run) error {
		close(begun)
		<-over
		return nil
	}))
	require.NoError(t, s.Start())
	_, err := s.Trigger(t.Context(), "deaf", "test")
	require.NoError(t, err)
	<-begun
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	require.ErrorContains(t, s.Shutdown(ctx), "deaf")
	require.Eventually(t, func() bool {
		_, _, err := s.Store().Time(t.Context())
		return errors.Is(err, redis.ErrClosed)
	}, time.Minute, 10*time.Millisecond, "the store is closed in the end")
	require.NotContains(t, log.String(), "closed")
}

func TestANilContextIsRefused(t *testing.T) {
	s := solotick.On(new(memlease.Store))
	//nolint:staticcheck // the mistake that is refused
	require.ErrorContains(t, s.Run(nil), "ctx: nil must be a context")
}
