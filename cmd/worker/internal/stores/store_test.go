package stores

import (
	"log/slog"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/config"
	"github.com/solotick/solotick/internal/redistest"
)

func TestStreamClientObeysContexts(t *testing.T) {
	cfg := config.Default()
	require.NoError(t, cfg.Set("redis.url", "redis://localhost:1/3?read_timeout=1h&min_idle_conns=2&dial_timeout=1h"))
	cfg.Lease.TTL = 3 * time.Second
	s, err := Open(cfg, CallTimeout(cfg), slog.New(slog.DiscardHandler), func(int) {})
	require.NoError(t, err)
	o := s.Streams.(*redis.Client).Options()
	require.True(t, o.ContextTimeoutEnabled)
	require.Equal(t, 3, o.DB)
	require.Zero(t, o.MinIdleConns)
	for _, timeout := range []time.Duration{o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout} {
		require.Equal(t, 500*time.Millisecond, timeout)
	}
	require.NoError(t, s.Close())
	require.ErrorIs(t, s.Streams.Ping(t.Context()).Err(), redis.ErrClosed, "it is closed with the store")
}

func TestCommandsForStreamsAreCounted(t *testing.T) {
	server := redistest.Start(t)
	cfg := config.Default()
	require.NoError(t, cfg.Set("redis.url", server.URL()))
	commands := 0
	s, err := Open(cfg, CallTimeout(cfg), slog.New(slog.DiscardHandler), func(n int) { commands += n })
	require.NoError(t, err)
	require.NoError(t, s.Streams.Ping(t.Context()).Err())
	require.Positive(t, commands)
	require.NoError(t, s.Close())
}
