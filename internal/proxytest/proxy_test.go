package proxytest_test

import (
	"bufio"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/solotick/solotick/internal/proxytest"
	"github.com/solotick/solotick/internal/redistest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bound is far more than anything here takes, on a machine that is busy with something else.
const bound = 20 * time.Second

type fixture struct {
	server *redistest.Server
	proxy  *proxytest.Proxy
	client *redis.Client // through the proxy, on one connection that is already open
	direct *redis.Client // past it
}

func setup(t *testing.T) fixture {
	server := redistest.Start(t)
	proxy := proxytest.New(t, server.Addr())
	f := fixture{server: server, proxy: proxy, client: dial(t, proxy.Addr()), direct: server.Client(t)}
	require.NoError(t, f.client.Ping(t.Context()).Err())
	proxy.ResetCounts()
	return f
}

// dial returns a client that sends nothing of its own but one HELLO for each connection.
func dial(t *testing.T, addr string) *redis.Client {
	c := redis.NewClient(&redis.Options{
		Addr:                     addr,
		MaxRetries:               -1,
		DialerRetries:            1,
		ReadTimeout:              bound,
		ContextTimeoutEnabled:    true,
		DisableIdentity:          true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func (f fixture) value(t *testing.T, key string) string {
	t.Helper()
	v, err := f.direct.Get(t.Context(), key).Result()
	if !errors.Is(err, redis.Nil) {
		require.NoError(t, err)
	}
	return v
}

// inBackground starts a command and returns when the proxy has seen it.
func (f fixture) inBackground(t *testing.T, args ...any) (outcome <-chan error) {
	t.Helper()
	before, done := f.proxy.Commands(), make(chan error, 1)
	go func() { done <- f.client.Do(t.Context(), args...).Err() }()
	eventually(t, func() bool { return f.proxy.Commands() > before })
	return done
}

// eventually waits until a condition holds.
func eventually(t *testing.T, condition func() bool) {
	t.Helper()
	require.Eventually(t, condition, bound, time.Millisecond)
}

func receive(t *testing.T, outcome <-chan error) error {
	t.Helper()
	select {
	case err := <-outcome:
		return err
	case <-time.After(bound):
		require.FailNow(t, "the command has no outcome")
		return nil
	}
}

// send sends commands at once, on a connection of its own, which it returns.
func send(t *testing.T, p *proxytest.Proxy, commands string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", p.Addr())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(bound)))
	_, err = conn.Write([]byte(commands))
	require.NoError(t, err)
	return conn
}

func TestHealthyProxyChangesNothing(t *testing.T) {
	f := setup(t)
	value := strings.Repeat("\r\n*1\r\n$4\r\nPING\x00", 100_000) // much more than one read, and looks like commands

	require.NoError(t, f.client.Set(t.Context(), "key", value, 0).Err())

	require.Equal(t, value, f.value(t, "key"))
	require.Equal(t, value, f.client.Get(t.Context(), "key").Val())
	require.Equal(t, map[string]int{"SET": 1, "GET": 1}, f.proxy.CommandsByName())
	require.Zero(t, f.proxy.Connections())
	require.Greater(t, f.proxy.Bytes(proxytest.Requests), int64(len(value)))
	require.Greater(t, f.proxy.Bytes(proxytest.Replies), int64(len(value)))
}

func TestPipelineIsManyCommandsAndOneRoundTrip(t *testing.T) {
	f := setup(t)

	replies := bufio.NewScanner(send(t, f.proxy, strings.Repeat("INCR n\r\n", 10)+"TIME\r\n"))
	for range 11 {
		require.True(t, replies.Scan())
	}
	require.NoError(t, f.client.Incr(t.Context(), "n").Err())

	require.Equal(t, map[string]int{"INCR": 11, "TIME": 1}, f.proxy.CommandsByName())
	require.Equal(t, 12, f.proxy.Commands())
	require.Equal(t, 2, f.proxy.RoundTrips())
}

func TestCountsAreExactUnderConcurrency(t *testing.T) {
	f := setup(t)
	var wg sync.WaitGroup
	for range 8 {
		client := dial(t, f.proxy.Addr())
		wg.Go(func() {
			for range 50 {
				_ = client.Incr(t.Context(), "n").Err()
			}
		})
	}
	wg.Wait()

	require.Equal(t, "400", f.value(t, "n"))
	require.Equal(t, map[string]int{"HELLO": 8, "INCR": 400}, f.proxy.CommandsByName())
	require.Equal(t, 408, f.proxy.RoundTrips())
	require.Equal(t, 8, f.proxy.Connections())
}

func TestUpstreamThatIsGoneResetsAndComesBack(t *testing.T) {
	f := setup(t)

	f.server.Kill()
	start := time.Now()
	require.Error(t, f.client.Ping(t.Context()).Err())
	require.Error(t, f.client.Ping(t.Context()).Err())
	require.Less(t, time.Since(start), bound, "an error, not a time-out")

	f.server.Restart()
	require.NoError(t, f.client.Ping(t.Context()).Err())
}

func TestClientThatClosesIsGoneForTheServer(t *testing.T) {
	f := setup(t)
	others := func() int {
		return len(strings.Split(strings.TrimSpace(f.direct.ClientList(t.Context()).Val()), "\n")) - 1
	}
	require.Equal(t, 1, others())

	require.NoError(t, f.client.Close())

	eventually(t, func() bool { return others() == 0 })
}
