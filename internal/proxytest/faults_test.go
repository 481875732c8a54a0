package proxytest_test

import (
	"bufio"
	"context"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/proxytest"
)

func TestDelayIsLatencyInEachDirection(t *testing.T) {
	const delay = 40 * time.Millisecond
	for name, c := range map[string]struct {
		in   []proxytest.Direction
		want time.Duration
	}{
		"requests": {[]proxytest.Direction{proxytest.Requests}, delay},
		"replies":  {[]proxytest.Direction{proxytest.Replies}, delay},
		"both":     {nil, 2 * delay},
	} {
		t.Run(name, func(t *testing.T) {
			f := setup(t)
			f.proxy.Delay(delay, c.in...)

			start := time.Now()
			require.NoError(t, f.client.Ping(t.Context()).Err())
			require.GreaterOrEqual(t, time.Since(start), c.want)
		})
	}
}

func TestDelaysOfBytesTogetherDoNotAddUp(t *testing.T) {
	const delay, values = 200 * time.Millisecond, 100
	f := setup(t)
	f.proxy.Delay(delay)

	start := time.Now()
	_, err := f.client.Pipelined(t.Context(), func(p redis.Pipeliner) error {
		for range values {
			p.Set(t.Context(), "key", make([]byte, 64<<10), 0) // each needs several reads
		}
		return nil
	})
	require.NoError(t, err)
	require.Less(t, time.Since(start), values*delay/2)
}

func TestHealDeliversDelayedBytesAtOnce(t *testing.T) {
	f := setup(t)
	f.proxy.Delay(time.Hour)
	outcome := f.inBackground(t, "SET", "key", "set")
	require.Empty(t, f.value(t, "key"))

	f.proxy.Heal()

	require.NoError(t, receive(t, outcome))
	require.Equal(t, "set", f.value(t, "key"))
}

func TestPartitionOfRequestsDeliversThemLate(t *testing.T) {
	f := setup(t)
	f.proxy.Partition(proxytest.Requests)
	outcome := f.inBackground(t, "SET", "key", "set")
	require.NoError(t, f.client.Close())
	require.Error(t, receive(t, outcome), "its sender has given up")
	require.Empty(t, f.value(t, "key"))

	f.proxy.Heal()

	eventually(t, func() bool { return f.value(t, "key") == "set" })
}

func TestPartitionOfRepliesLetsCommandsThrough(t *testing.T) {
	f := setup(t)
	f.proxy.Partition(proxytest.Replies)
	outcome := f.inBackground(t, "SET", "key", "set")
	eventually(t, func() bool { return f.proxy.Bytes(proxytest.Replies) > 0 })
	require.Equal(t, "set", f.value(t, "key"))
	require.Empty(t, outcome)

	f.proxy.Heal()

	require.NoError(t, receive(t, outcome))
	require.Zero(t, f.proxy.Connections(), "the connection has lived through it")
}

func TestBlackholeOfRequestsLosesThemForGood(t *testing.T) {
	f := setup(t)
	f.proxy.Blackhole(proxytest.Requests)
	outcome := f.inBackground(t, "SET", "key", "set")

	f.proxy.Heal()

	require.Error(t, receive(t, outcome), "the connection has a hole")
	require.NoError(t, f.client.Set(t.Context(), "other", "set", 0).Err())
	require.Empty(t, f.value(t, "key"))
}

func TestBlackholeOfRepliesLetsCommandsThrough(t *testing.T) {
	f := setup(t)
	f.proxy.Blackhole(proxytest.Replies)
	outcome := f.inBackground(t, "SET", "key", "set")
	eventually(t, func() bool { return f.proxy.Bytes(proxytest.Replies) > 0 })
	require.Equal(t, "set", f.value(t, "key"))
	require.Empty(t, outcome)

	f.proxy.Heal()

	require.Error(t, receive(t, outcome))
	require.NoError(t, f.client.Ping(t.Context()).Err())
	require.Equal(t, 1, f.proxy.Connections())
}

func TestHoleIsNotFilledByAnotherFault(t *testing.T) {
	f := setup(t)
	f.proxy.Blackhole(proxytest.Requests)
	conn := send(t, f.proxy, "SET key set\r\n")
	eventually(t, func() bool { return f.proxy.Commands() == 1 })
	f.proxy.Partition(proxytest.Requests)
	_, err := conn.Write([]byte("SET other set\r\n"))
	require.NoError(t, err)
	eventually(t, func() bool { return f.proxy.Commands() == 2 })

	f.proxy.Heal()

	_, err = conn.Read(make([]byte, 1))
	require.Error(t, err)
	require.Empty(t, f.value(t, "key"))
	require.Empty(t, f.value(t, "other"))
}

func TestBlackholeAcceptsConnectionsAndAnswersNothing(t *testing.T) {
	f := setup(t)
	f.proxy.Blackhole()
	f.client = dial(t, f.proxy.Addr())
	outcome := f.inBackground(t, "SET", "key", "set")

	require.Equal(t, map[string]int{"HELLO": 1}, f.proxy.CommandsByName(), "it waits for the answer to its first command")
	require.Equal(t, 1, f.proxy.Connections())
	require.NoError(t, f.client.Close())
	require.Error(t, receive(t, outcome))
}

func TestCutResetsEveryConnectionUntilHealed(t *testing.T) {
	f := setup(t)
	outcome := f.inBackground(t, "BLPOP", "list", "0")

	f.proxy.Cut()

	require.Error(t, receive(t, outcome))
	require.Error(t, f.client.Ping(t.Context()).Err())
	require.Error(t, f.client.Ping(t.Context()).Err())
	require.GreaterOrEqual(t, f.proxy.Connections(), 2)
	f.proxy.Heal()
	require.NoError(t, f.client.Ping(t.Context()).Err())
}

func TestLostReplyWasExecuted(t *testing.T) {
	f := setup(t)
	f.proxy.LoseReplies(2, "incr")

	require.NoError(t, f.client.Set(t.Context(), "other", "set", 0).Err(), "another command")
	require.Error(t, f.client.Incr(t.Context(), "n").Err())
	require.Error(t, f.client.Incr(t.Context(), "n").Err())
	require.Equal(t, 2, f.proxy.RepliesLost())
	require.Equal(t, "2", f.value(t, "n"))

	require.Equal(t, int64(3), f.client.Incr(t.Context(), "n").Val())
	require.Equal(t, 2, f.proxy.RepliesLost())
}

func TestLostReplyOfAnyCommandSparesTheHandshake(t *testing.T) {
	f := setup(t)
	f.proxy.LoseReplies(3)

	for range 3 {
		require.Error(t, f.client.Incr(t.Context(), "n").Err())
	}

	require.Equal(t, int64(4), f.client.Incr(t.Context(), "n").Val())
	require.Equal(t, 3, f.proxy.CommandsByName()["HELLO"])
}

func TestLostReplyInPipelineLosesLaterOnes(t *testing.T) {
	f := setup(t)
	f.proxy.LoseReplies(1, "GET")

	conn := send(t, f.proxy, "RPUSH list a b\r\nLRANGE list 0 9\r\nSET key set\r\nGET key\r\nSET later set\r\n")
	passed, err := io.ReadAll(conn)

	require.NoError(t, err)
	require.Equal(t, ":2\r\n*2\r\n$1\r\na\r\n$1\r\nb\r\n+OK\r\n", string(passed))
	require.Equal(t, "set", f.value(t, "later"))
}

func TestSubscriptionsLoseNothing(t *testing.T) {
	for _, protocol := range []string{"2", "3"} {
		t.Run("RESP"+protocol, func(t *testing.T) {
			f := setup(t)
			f.proxy.LoseReplies(10)
			conn := send(t, f.proxy, "HELLO "+protocol+"\r\nSUBSCRIBE one other\r\n")
			lines := bufio.NewScanner(conn)
			require.True(t, scanTo(lines, "other"))

			for range 10 {
				require.NoError(t, f.direct.Publish(t.Context(), "one", "hello").Err())
				require.True(t, scanTo(lines, "hello"))
			}
			require.Zero(t, f.proxy.RepliesLost())
		})
	}
}

func TestPushMessageIsNotTakenForTheReply(t *testing.T) {
	f := setup(t)
	conn := send(t, f.proxy, "HELLO 3\r\nCLIENT TRACKING ON\r\nGET key\r\n")
	lines := bufio.NewScanner(conn)
	require.True(t, scanTo(lines, "_"))
	f.proxy.LoseReplies(1, "BLPOP")
	_, err := conn.Write([]byte("BLPOP list 0\r\n"))
	require.NoError(t, err)

	require.NoError(t, f.direct.Set(t.Context(), "key", "set", 0).Err())
	require.True(t, scanTo(lines, "invalidate"))
	require.Zero(t, f.proxy.RepliesLost())

	require.NoError(t, f.direct.RPush(t.Context(), "list", "value").Err())
	require.False(t, scanTo(lines, "value"))
	require.Equal(t, 1, f.proxy.RepliesLost())
}

// scanTo reads lines up to one that is want, and reports whether it came.
func scanTo(lines *bufio.Scanner, want string) bool {
	for lines.Scan() {
		if lines.Text() == want {
			return true
		}
	}
	return false
}

func TestHealEndsEveryFault(t *testing.T) {
	f := setup(t)
	f.proxy.Delay(time.Hour)
	f.proxy.Partition(proxytest.Requests)
	f.proxy.Blackhole(proxytest.Replies)
	f.proxy.LoseReplies(100)
	f.proxy.Cut()

	f.proxy.Heal()

	require.NoError(t, f.client.Set(t.Context(), "key", "set", 0).Err())
	require.Equal(t, "set", f.client.Get(t.Context(), "key").Val())
}

func TestFaultsMayChangeWhileClientsWork(t *testing.T) {
	f := setup(t)
	stop := make(chan struct{})
	var clients, operators sync.WaitGroup
	for range 4 {
		client := dial(t, f.proxy.Addr())
		clients.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
					_ = client.Set(ctx, "key", "set", 0).Err()
					cancel()
				}
			}
		})
	}
	for _, fault := range []func(){
		func() { f.proxy.Delay(time.Millisecond) },
		func() { f.proxy.Partition() },
		func() { f.proxy.Blackhole() },
		func() { f.proxy.LoseReplies(1) },
		f.proxy.Cut,
	} {
		operators.Go(func() {
			for range 50 {
				fault()
				f.proxy.Heal()
				_ = f.proxy.RoundTrips()
			}
		})
	}
	operators.Wait()
	close(stop)
	clients.Wait()
	f.proxy.Heal()

	require.NoError(t, dial(t, f.proxy.Addr()).Set(t.Context(), "key", "set", 0).Err())
}
