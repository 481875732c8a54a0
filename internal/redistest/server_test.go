package redistest_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/solotick/solotick/internal/redistest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestServersShareNothing(t *testing.T) {
	one, other := redistest.Start(t), redistest.Start(t)

	require.NoError(t, one.Client(t).Set(t.Context(), "key", "value", 0).Err())

	require.NotEqual(t, one.Addr(), other.Addr())
	require.Zero(t, other.Client(t).DBSize(t.Context()).Val())
}

func TestRestartKeepsAddressAndForgetsWithoutAOF(t *testing.T) {
	server := redistest.Start(t)
	client, addr := server.Client(t), server.Addr()
	require.Equal(t, map[string]string{"save": ""}, client.ConfigGet(t.Context(), "save").Val())
	require.Equal(t, map[string]string{"appendonly": "no"}, client.ConfigGet(t.Context(), "appendonly").Val())
	require.NoError(t, client.Set(t.Context(), "key", "value", 0).Err())

	server.Restart()

	require.Equal(t, addr, server.Addr())
	n, err := client.DBSize(t.Context()).Result()
	require.NoError(t, err)
	require.Zero(t, n)
}

func TestRestartBringsEverythingBackWithAOF(t *testing.T) {
	server := redistest.Start(t, redistest.WithAOF())
	client := server.Client(t)
	require.NoError(t, client.Set(t.Context(), "before", "1", 0).Err())
	server.Kill()
	server.Restart()
	require.NoError(t, client.Set(t.Context(), "between", "2", 0).Err())
	server.Restart()

	require.Equal(t, []any{"1", "2"}, client.MGet(t.Context(), "before", "between").Val())
}

func TestFrozenServerAnswersNothingUntilThawed(t *testing.T) {
	server := redistest.Start(t)
	client := server.Client(t)
	require.NoError(t, client.Ping(t.Context()).Err())

	for range 3 {
		server.Freeze()
		server.Freeze() // stays frozen
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		require.Error(t, client.Ping(ctx).Err())
		cancel()

		server.Thaw()
		server.Thaw() // runs on
		require.NoError(t, client.Ping(t.Context()).Err())
	}
}

func TestKilledServerRefusesConnections(t *testing.T) {
	for _, state := range []string{"running", "frozen"} {
		t.Run(state, func(t *testing.T) {
			server := redistest.Start(t)
			if state == "frozen" {
				server.Freeze()
			}

			server.Kill()
			server.Kill() // stays killed
			require.True(t, refuses(server.Addr()))

			server.Restart()
			require.NoError(t, server.Client(t).Ping(t.Context()).Err())
			server.Freeze() // it is another process, which was not frozen
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			require.Error(t, server.Client(t).Ping(ctx).Err())
		})
	}
}

func TestFlushEmptiesEveryDatabase(t *testing.T) {
	server := redistest.Start(t)
	client := server.Client(t)
	require.NoError(t, client.Do(t.Context(), "SET", "key", "value").Err())
	require.NoError(t, client.Do(t.Context(), "MOVE", "key", "3").Err())
	require.NoError(t, client.Do(t.Context(), "SET", "key", "value").Err())

	server.Flush()

	keyspace, err := client.Info(t.Context(), "keyspace").Result()
	require.NoError(t, err)
	require.NotContains(t, keyspace, "keys=")
}

func TestConfReachesTheServerAsWritten(t *testing.T) {
	const password = "two words \"quoted\" \\ back 'n \x01 ü % $ #"
	server := redistest.Start(t, redistest.WithConf("maxmemory", "64mb"), redistest.WithConf("requirepass", password))

	options, err := redis.ParseURL(server.URL())
	require.NoError(t, err)
	user := redis.NewClient(options)
	t.Cleanup(func() { _ = user.Close() })
	require.Equal(t, map[string]string{"maxmemory": "67108864"}, user.ConfigGet(t.Context(), "maxmemory").Val())

	options.Password = ""
	stranger := redis.NewClient(options)
	t.Cleanup(func() { _ = stranger.Close() })
	require.ErrorContains(t, stranger.Ping(t.Context()).Err(), "NOAUTH")
}

func TestClientLooksInsideWhateverUsersThereAre(t *testing.T) {
	server := redistest.Start(t,
		redistest.WithConf("user", "default", "off"),
		redistest.WithConf("user", "reader", "on", ">secret", "~*", "+get"))

	require.NoError(t, server.Client(t).Set(t.Context(), "key", "value", 0).Err())
	server.Flush()
	server.Restart()

	reader := redis.NewClient(&redis.Options{Addr: server.Addr(), Username: "reader", Password: "secret"})
	t.Cleanup(func() { _ = reader.Close() })
	require.ErrorIs(t, reader.Get(t.Context(), "key").Err(), redis.Nil)
	require.ErrorContains(t, reader.Set(t.Context(), "key", "value", 0).Err(), "NOPERM")
}

func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		redistest.Start(b).Kill()
	}
}

func refuses(addr string) bool {
	conn, err := net.DialTimeout("tcp", addr, time.Second)
	if err == nil {
		_ = conn.Close()
	}
	return err != nil
}
