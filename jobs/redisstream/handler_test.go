package redisstream

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/proxytest"
	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/jobs"
)

func TestMain(m *testing.M) {
	redis.SetLogger(silence{}) // what it says about connections that the tests break
	os.Exit(m.Run())
}

type silence struct{}

func (silence) Printf(context.Context, string, ...any) {}

var run = jobs.Run{
	Namespace: "billing", Job: "report", Replica: "a-1", Token: 1774747800250001, Attempt: 2,
	Tick: time.Date(2026, 3, 29, 3, 30, 0, 250_000_000, time.FixedZone("", 2*60*60)),
}

// at is the run of the nth tick.
func at(n int) jobs.Run {
	r := run
	r.Tick = run.Tick.Add(time.Duration(n) * time.Second)
	return r
}

// connect makes a client as the package comment asks for it.
func connect(t *testing.T, addr string, retries int) *redis.Client {
	t.Helper()
	client := redis.NewClient(&redis.Options{
		Addr: addr, ContextTimeoutEnabled: true, MaxRetries: retries, ReadTimeout: time.Minute,
	})
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func handlerOf(t *testing.T, client redis.UniversalClient, stream Stream) jobs.Handler {
	t.Helper()
	handler, err := New(client, stream)
	require.NoError(t, err)
	return handler
}

// ticksIn are the ticks of a stream's entries, in the stream's order, as numbers that at takes.
func ticksIn(t *testing.T, client redis.Cmdable, stream string) []int {
	t.Helper()
	entries, err := client.XRange(t.Context(), stream, "-", "+").Result()
	require.NoError(t, err)
	ticks := []int{}
	for _, e := range entries {
		ms, err := strconv.ParseInt(e.Values["tick_unix_ms"].(string), 10, 64)
		require.NoError(t, err)
		ticks = append(ticks, int((ms-run.Tick.UnixMilli())/1000))
	}
	return ticks
}

func TestEntryDescribesTheRun(t *testing.T) {
	client := redistest.Start(t).Client(t)
	fields := map[string]string{"zone": "eu", "empty": "", "Job": "other"}
	handler := handlerOf(t, client, Stream{Name: "events", Fields: fields})
	maps.DeleteFunc(fields, func(string, string) bool { return true }) // the handler has its own
	require.NoError(t, handler(t.Context(), run))

	raw, err := client.Do(t.Context(), "XRANGE", "events", "-", "+").Slice()
	require.NoError(t, err)
	require.Len(t, raw, 1)
	require.Equal(t, []any{
		"namespace", "billing", "job", "report", "tick", "2026-03-29T01:30:00.250Z", "tick_unix_ms", "1774747800250",
		"tick_id", "billing/report/1774747800250", "fencing_token", "1774747800250001", "attempt", "2", "replica", "a-1",
		"Job", "other", "empty", "", "zone", "eu",
	}, raw[0].([]any)[1])
}

func TestEntryOfATracedRunHasItsSpan(t *testing.T) {
	client := redistest.Start(t).Client(t)
	traced := at(1)
	traced.Traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	require.NoError(t, handlerOf(t, client, Stream{Name: "events"})(t.Context(), traced))
	own := Stream{Name: "own", Fields: map[string]string{"traceparent": "own"}}
	require.NoError(t, handlerOf(t, client, own)(t.Context(), traced))
	for stream, want := range map[string]string{"events": traced.Traceparent, "own": "own"} {
		entries, err := client.XRange(t.Context(), stream, "-", "+").Result()
		require.NoError(t, err)
		require.Len(t, entries, 1)
		require.Equal(t, want, entries[0].Values["traceparent"])
	}
}

func TestEntryHasThePayloadOfItsRun(t *testing.T) {
	client := redistest.Start(t).Client(t)
	stream := Stream{Name: "events", Fields: map[string]string{"payload": "none"}}
	given := at(2)
	given.Payload = "{\"tenant\": 7}"
	require.NoError(t, handlerOf(t, client, stream)(t.Context(), at(1)))
	require.NoError(t, handlerOf(t, client, stream)(t.Context(), given))
	entries, err := client.XRange(t.Context(), "events", "-", "+").Result()
	require.NoError(t, err)
	require.Equal(t, "none", entries[0].Values["payload"], "a field of the job's own stands in")
	require.Equal(t, string(given.Payload), entries[1].Values["payload"])
}

func TestKeysOfStoredSchedulesAddTheirTicksEach(t *testing.T) {
	client := redistest.Start(t).Client(t)
	handler := handlerOf(t, client, Stream{Name: "events", Fields: map[string]string{"key": "own"}})
	for _, key := range []string{"acme", "acme", "umbrella", ""} {
		given := at(1)
		given.Key = key
		require.NoError(t, handler(t.Context(), given))
	}
	entries, err := client.XRange(t.Context(), "events", "-", "+").Result()
	require.NoError(t, err)
	require.Len(t, entries, 3, "one of each key: all ticks are of one time")
	for i, key := range []string{"acme", "umbrella", "own"} {
		require.Equal(t, key, entries[i].Values["key"])
	}
}

func TestTickIsAddedOnceWhateverItsToken(t *testing.T) {
	client := redistest.Start(t).Client(t)
	stream := Stream{Name: "events"}
	first, err := stream.add(t.Context(), client, run)
	require.NoError(t, err)
	for _, change := range []func(*jobs.Run){
		func(*jobs.Run) {},
		func(r *jobs.Run) { r.Attempt++ },
		func(r *jobs.Run) { r.Token, r.Replica = r.Token+1, "b-2" },
		func(r *jobs.Run) { r.Token, r.Attempt = r.Token-1, 1 },
	} {
		r := run
		change(&r)
		id, err := stream.add(t.Context(), client, r)
		require.NoError(t, err)
		require.Equal(t, first, id, "the entry that is there")
	}
	require.Equal(t, []int{0}, ticksIn(t, client, "events"))

	for _, change := range []func(*jobs.Run){
		func(r *jobs.Run) { r.Tick = r.Tick.Add(time.Millisecond) },
		func(r *jobs.Run) { r.Job = "other" },
		func(r *jobs.Run) { r.Namespace = "other" },
	} {
		r := run
		change(&r)
		id, err := stream.add(t.Context(), client, r)
		require.NoError(t, err)
		require.NotEqual(t, first, id, "it is another tick")
	}
	require.Len(t, ticksIn(t, client, "events"), 4)
}

func TestTickWithALostReplyIsAddedOnce(t *testing.T) {
	for retries, wantFirst := range map[int]bool{-1: false, 3: true} { // go-redis tries again by itself, or does not
		t.Run(fmt.Sprint(retries), func(t *testing.T) {
			server := redistest.Start(t)
			proxy := proxytest.New(t, server.Addr())
			handler := handlerOf(t, connect(t, proxy.Addr(), retries), Stream{Name: "events"})
			require.NoError(t, handler(t.Context(), at(0))) // now the server knows the script

			proxy.LoseReplies(1, "EVALSHA")
			err := handler(t.Context(), at(1))
			require.Equal(t, wantFirst, err == nil, "%v", err)
			_, permanent := errors.AsType[*jobs.PermanentError](err)
			require.False(t, permanent)
			require.Equal(t, []int{0, 1}, ticksIn(t, server.Client(t), "events"), "it was added all the same")

			require.NoError(t, handler(t.Context(), at(1)), "trying again is success")
			require.Equal(t, []int{0, 1}, ticksIn(t, server.Client(t), "events"))
		})
	}
}

func TestHolderThatWasTakenOverAddsNothing(t *testing.T) {
	server := redistest.Start(t)
	proxy := proxytest.New(t, server.Addr())
	frozen := handlerOf(t, connect(t, proxy.Addr(), -1), Stream{Name: "events"})
	require.NoError(t, frozen(t.Context(), at(0)))

	proxy.Partition() // what it sends from now on arrives later
	ended := make(chan error, 1)
	go func() { ended <- frozen(t.Context(), at(1)) }()
	require.Eventually(t, func() bool { return proxy.CommandsByName()["EVALSHA"] == 2 }, 20*time.Second, time.Millisecond)

	taken := at(1)
	taken.Token, taken.Attempt, taken.Replica = run.Token+1, 3, "b-2"
	require.NoError(t, handlerOf(t, server.Client(t), Stream{Name: "events"})(t.Context(), taken))
	proxy.Heal()
	require.NoError(t, <-ended)
	require.Equal(t, []int{0, 1}, ticksIn(t, server.Client(t), "events"))
	newest := server.Client(t).XRevRangeN(t.Context(), "events", "+", "-", 1).Val()
	require.Equal(t, strconv.FormatInt(taken.Token, 10), newest[0].Values["fencing_token"])
}

func TestConcurrentReplicasAddEachTickOnce(t *testing.T) {
	server := redistest.Start(t)
	const ticks, replicas = 50, 4
	var all sync.WaitGroup
	ids := make([][ticks]string, replicas)
	for replica := range replicas {
		client := connect(t, server.Addr(), 3)
		for n := range ticks {
			all.Go(func() {
				r := at(n)
				r.Token, r.Replica = r.Token+int64(replica), fmt.Sprint(replica)
				id, err := Stream{Name: "events"}.add(t.Context(), client, r)
				if err != nil {
					t.Error(err)
				}
				ids[replica][n] = id
			})
		}
	}
	all.Wait()
	found := ticksIn(t, server.Client(t), "events")
	require.Len(t, found, ticks)
	want := make([]int, ticks)
	for n := range ticks {
		want[n] = n
	}
	require.ElementsMatch(t, want, found)
	for _, other := range ids[1:] {
		require.Equal(t, ids[0], other, "all get the id of the one entry")
	}
}

func TestTicksOutOfOrderAreAddedOnceEach(t *testing.T) {
	client := redistest.Start(t).Client(t)
	handler := handlerOf(t, client, Stream{Name: "events"})
	order := []int{5, 3, 9, 0, 4, 9, 3, 5, 1, 0}
	for _, n := range order {
		require.NoError(t, handler(t.Context(), at(n)))
	}
	require.Equal(t, []int{5, 3, 9, 0, 4, 1}, ticksIn(t, client, "events"))
}

func TestTicksOlderThanMemoryAreRefused(t *testing.T) {
	client := redistest.Start(t).Client(t)
	stream := Stream{Name: "events", MaxLen: 1}
	handler := handlerOf(t, client, stream)
	for n := range remembered + 1 {
		if n == remembered/2 {
			continue // it comes late
		}
		require.NoError(t, handler(t.Context(), at(n)))
	}
	key := stream.memoryKey(run)
	require.EqualValues(t, remembered, client.ZCard(t.Context(), key).Val())
	size := client.MemoryUsage(t.Context(), key, remembered).Val()
	t.Logf("the memory of %d ticks takes %d bytes", remembered, size)
	require.Less(t, size, int64(150<<10))

	require.NoError(t, handler(t.Context(), at(0)), "the oldest is still remembered")
	before := client.XInfoStream(t.Context(), "events").Val().EntriesAdded
	require.NoError(t, handler(t.Context(), at(remembered/2)))
	require.Equal(t, before+1, client.XInfoStream(t.Context(), "events").Val().EntriesAdded, "no tick that is remembered is this old")
	require.EqualValues(t, remembered, client.ZCard(t.Context(), key).Val())

	err := handler(t.Context(), at(0))
	require.ErrorContains(t, err, fmt.Sprintf("the tick is older than the 1000 that are remembered, of which the oldest is %d", at(1).Tick.UnixMilli()))
	_, permanent := errors.AsType[*jobs.PermanentError](err)
	require.True(t, permanent)
	require.Equal(t, before+1, client.XInfoStream(t.Context(), "events").Val().EntriesAdded)
}

func TestTicksAreRememberedForThirtyDays(t *testing.T) {
	client := redistest.Start(t).Client(t)
	stream := Stream{Name: "events"}
	handler := handlerOf(t, client, stream)
	require.NoError(t, handler(t.Context(), at(0)))
	require.NoError(t, client.PExpire(t.Context(), stream.memoryKey(run), time.Hour).Err())
	require.NoError(t, handler(t.Context(), at(1)))
	left := client.PTTL(t.Context(), stream.memoryKey(run)).Val()
	require.Greater(t, left, 29*24*time.Hour)
	require.LessOrEqual(t, left, 30*24*time.Hour)
}

func TestRemovedEntryIsNotAddedAgain(t *testing.T) {
	client := redistest.Start(t).Client(t)
	handler := handlerOf(t, client, Stream{Name: "events"})
	const ticks = 100
	for n := range ticks {
		require.NoError(t, handler(t.Context(), at(n)))
		require.NoError(t, client.Del(t.Context(), "events").Err()) // so that ids of the same millisecond come again
	}
	for n := range ticks {
		require.NoError(t, handler(t.Context(), at(n)))
	}
	require.Empty(t, ticksIn(t, client, "events"))
}

func TestMaxLenTrimsTheOldestEntries(t *testing.T) {
	client := redistest.Start(t, redistest.WithConf("stream-node-max-entries", "10")).Client(t)
	trimmed := handlerOf(t, client, Stream{Name: "trimmed", MaxLen: 25})
	whole := handlerOf(t, client, Stream{Name: "whole"})
	for n := range 100 {
		require.NoError(t, trimmed(t.Context(), at(n)))
		require.NoError(t, whole(t.Context(), at(n)))
	}
	left := ticksIn(t, client, "trimmed")
	require.GreaterOrEqual(t, len(left), 25)
	require.Less(t, len(left), 25+10)
	require.Equal(t, 99, left[len(left)-1])
	require.Len(t, ticksIn(t, client, "whole"), 100)
	require.NoError(t, trimmed(t.Context(), at(0)))
	require.Equal(t, left, ticksIn(t, client, "trimmed"), "trimmed entries are not added again")
}

func TestKeyOfAnotherTypeIsAnError(t *testing.T) {
	client := redistest.Start(t).Client(t)
	stream := Stream{Name: "events"}
	handler := handlerOf(t, client, stream)
	for _, key := range []string{"events", stream.memoryKey(run)} {
		require.NoError(t, client.FlushAll(t.Context()).Err())
		require.NoError(t, client.Set(t.Context(), key, "x", 0).Err())
		err := handler(t.Context(), run)
		require.EqualError(t, err, fmt.Sprintf(`stream "events": not added: the key %q holds a string; remove it, or choose another name for the stream`, key))
		_, permanent := errors.AsType[*jobs.PermanentError](err)
		require.True(t, permanent)
		require.Equal(t, []string{key}, client.Keys(t.Context(), "*").Val())
	}
}

func TestForgottenScriptIsSentAgain(t *testing.T) {
	server := redistest.Start(t, redistest.WithAOF())
	handler := handlerOf(t, connect(t, server.Addr(), 3), Stream{Name: "events"})
	require.NoError(t, handler(t.Context(), at(0)))
	server.Restart()
	require.NoError(t, handler(t.Context(), at(0)))
	require.NoError(t, handler(t.Context(), at(1)))
	require.Equal(t, []int{0, 1}, ticksIn(t, server.Client(t), "events"))
}

func TestFullServerAddsNothing(t *testing.T) {
	client := redistest.Start(t).Client(t)
	handler := handlerOf(t, client, Stream{Name: "events"})
	require.NoError(t, client.ConfigSet(t.Context(), "maxmemory", "1").Err())
	err := handler(t.Context(), run)
	require.ErrorContains(t, err, "OOM")
	_, permanent := errors.AsType[*jobs.PermanentError](err)
	require.False(t, permanent)
	require.Empty(t, client.Keys(t.Context(), "*").Val())
	require.NoError(t, client.ConfigSet(t.Context(), "maxmemory", "0").Err())
	require.NoError(t, handler(t.Context(), run))
	require.Equal(t, []int{0}, ticksIn(t, client, "events"))
}

func TestARunEndsWithItsContext(t *testing.T) {
	server := redistest.Start(t)
	client := redis.NewClient(&redis.Options{
		Addr: server.Addr(), ContextTimeoutEnabled: true, ReadTimeout: time.Hour, DialTimeout: time.Hour,
	})
	t.Cleanup(func() { _ = client.Close() })
	handler := handlerOf(t, client, Stream{Name: "events"})
	require.NoError(t, handler(t.Context(), at(0)))

	limit := &jobs.TimeoutError{Setting: "timeout", Limit: 50 * time.Millisecond}
	ctx, cancel := context.WithTimeoutCause(t.Context(), limit.Limit, limit)
	defer cancel()
	server.Freeze()
	err := handler(ctx, at(1))
	server.Thaw()
	require.ErrorIs(t, err, limit)
	require.ErrorContains(t, err, "it may have been added")

	lost := errors.New("lease lost")
	over, end := context.WithCancelCause(t.Context())
	end(lost)
	err = handler(over, at(2))
	require.ErrorIs(t, err, lost)
	require.ErrorContains(t, err, "not added")
	require.NotContains(t, ticksIn(t, server.Client(t), "events"), 2)
}

func TestAStreamWorksOnACluster(t *testing.T) {
	node := redistest.Start(t, redistest.WithConf("cluster-enabled", "yes"))
	admin := node.Client(t)
	require.NoError(t, admin.ClusterAddSlotsRange(t.Context(), 0, 16383).Err())
	require.Eventually(t, func() bool {
		return strings.Contains(admin.ClusterInfo(t.Context()).Val(), "cluster_state:ok")
	}, 30*time.Second, 10*time.Millisecond)
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{node.Addr()}, ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = client.Close() })
	for _, name := range []string{"events", "events:{eu}", "a{b"} {
		handler := handlerOf(t, client, Stream{Name: name})
		require.NoError(t, handler(t.Context(), run), "keys of two slots are refused")
		require.NoError(t, handler(t.Context(), run))
		require.Equal(t, []int{0}, ticksIn(t, client, name))
	}
}
