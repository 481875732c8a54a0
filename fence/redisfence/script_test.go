package redisfence

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/fence"
	"github.com/solotick/solotick/internal/fencing"
	"github.com/solotick/solotick/internal/redistest"
)

func TestMain(m *testing.M) {
	redis.SetLogger(silence{})
	os.Exit(m.Run())
}

type silence struct{}

func (silence) Printf(context.Context, string, ...any) {}

func script(t *testing.T, source string, opts ...Option) *Script {
	t.Helper()
	s, err := NewScript(source, opts...)
	require.NoError(t, err)
	return s
}

const add = "return redis.call('INCRBY', KEYS[1], ARGV[1])"

func TestAScriptRunsUnderTheNewestTokenOnly(t *testing.T) {
	client := redistest.Start(t).Client(t)
	s, keys := script(t, add), []string{"account:7"}
	run := func(token int64) (int64, error) { return s.Run(t.Context(), client, token, keys, 10).Int64() }
	for _, step := range []struct{ token, newest, want int64 }{
		{5, 0, 10}, {5, 0, 20}, {4, 5, 0}, {9, 0, 30}, {5, 9, 0}, {10, 0, 40}, {9, 10, 0}, {fencing.MaxToken - 1, 0, 50}, {fencing.MaxToken, 0, 60},
		{fencing.MaxToken - 1, fencing.MaxToken, 0}, {10, fencing.MaxToken, 0},
	} {
		got, err := run(step.token)
		if step.newest == 0 {
			require.NoError(t, err, step)
			require.Equal(t, step.want, got)
			continue
		}
		stale, ok := errors.AsType[*fence.StaleError](err)
		require.True(t, ok, "%v %v", step, err)
		require.Equal(t, &fence.StaleError{Resource: "account:7", Token: step.token, Newest: step.newest}, stale)
	}
	require.Equal(t, "60", client.Get(t.Context(), "account:7").Val())
	require.Equal(t, fmt.Sprint(int64(fencing.MaxToken)), client.Get(t.Context(), "{account:7}:solotick:token").Val())
}

func TestAScriptSeesItsOwnKeysAndArguments(t *testing.T) {
	client := redistest.Start(t).Client(t)
	s := script(t, "local all = {#KEYS, #ARGV}\nfor _, k in ipairs(KEYS) do all[#all + 1] = k end\nfor _, a in ipairs(ARGV) do all[#all + 1] = a end\nreturn all -- a comment")
	got, err := s.Run(t.Context(), client, 5, []string{"{a}1", "{a}2"}, "x", 2).Result()
	require.NoError(t, err)
	require.Equal(t, []any{int64(2), int64(2), "{a}1", "{a}2", "x", "2"}, got)
	got, err = s.Run(t.Context(), client, 5, []string{"{a}1"}).Result()
	require.NoError(t, err)
	require.Equal(t, []any{int64(1), int64(0), "{a}1"}, got)
}

func TestWhatAScriptReturnsIsReturned(t *testing.T) {
	client := redistest.Start(t).Client(t)
	keys := []string{"a"}
	require.ErrorIs(t, script(t, "return false").Run(t.Context(), client, 5, keys).Err(), redis.Nil)
	require.ErrorIs(t, script(t, "redis.call('SET', KEYS[1], 1)").Run(t.Context(), client, 5, keys).Err(), redis.Nil)
	require.Equal(t, "OK", script(t, "return redis.call('SET', KEYS[1], 1)").Run(t.Context(), client, 5, keys).Val())
	err := script(t, "return redis.error_reply('MINE is broken')").Run(t.Context(), client, 5, keys).Err()
	require.ErrorContains(t, err, "MINE is broken")
	require.NotErrorIs(t, err, fence.ErrStale)
	err = script(t, "return redis.call('LPUSH', KEYS[1], 1)").Run(t.Context(), client, 5, keys).Err()
	require.ErrorContains(t, err, "WRONGTYPE")
	err = script(t, "return redis.error_reply('ERR another said SOLOTICKSTALE 99')").Run(t.Context(), client, 5, keys).Err()
	require.ErrorContains(t, err, "another said")
	require.NotErrorIs(t, err, fence.ErrStale, "it is the script's own")
	require.ErrorContains(t, script(t, "return return").Run(t.Context(), client, 5, keys).Err(), "compil")
}

func TestAFirstLineOfFlagsStaysTheFirst(t *testing.T) {
	client := redistest.Start(t).Client(t)
	require.Equal(t, int64(1), script(t, "#!lua flags=allow-oom\n"+strings.Replace(add, "ARGV[1]", "1", 1)).Run(t.Context(), client, 5, []string{"a"}).Val())
	require.Error(t, script(t, "#!lua flags=no-writes\nreturn 1").Run(t.Context(), client, 5, []string{"a"}).Err())
}

func TestScriptsAreSentAgainAfterServerLostThem(t *testing.T) {
	client := redistest.Start(t).Client(t)
	s := script(t, add)
	for n := range int64(3) {
		require.NoError(t, client.ScriptFlush(t.Context()).Err())
		for i := range int64(2) {
			require.Equal(t, 2*n+i+1, s.Run(t.Context(), client, 5, []string{"a"}, 1).Val())
		}
	}
}

func TestTheTokenIsForgottenWhenItSaysSo(t *testing.T) {
	client := redistest.Start(t).Client(t)
	ttl := func(opts ...Option) time.Duration {
		require.NoError(t, script(t, "return 1", opts...).Run(t.Context(), client, 5, []string{"a"}).Err())
		return client.PTTL(t.Context(), "{a}:solotick:token").Val()
	}
	require.InDelta(t, defaultExpiry, ttl(), float64(time.Minute))
	require.InDelta(t, time.Hour, ttl(WithExpiry(time.Hour)), float64(time.Minute))
	require.Equal(t, time.Duration(-1), ttl(WithExpiry(0))) // no end
	for _, d := range []time.Duration{-1, time.Microsecond, -time.Hour} {
		_, err := NewScript("", WithExpiry(d))
		require.ErrorContains(t, err, "expiry")
		_, err = NewCommands(WithExpiry(d))
		require.ErrorContains(t, err, "expiry")
	}
}

func TestMistakesAreReportedBeforeAnythingIsSent(t *testing.T) {
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	t.Cleanup(func() { _ = client.Close() })
	s := script(t, add)
	require.ErrorContains(t, s.Run(t.Context(), client, 0, []string{"a"}).Err(), "token 0")
	require.ErrorContains(t, s.Run(t.Context(), client, 5, nil).Err(), "keys")
	require.ErrorContains(t, s.Run(t.Context(), client, 5, []string{""}).Err(), "empty")
	require.ErrorContains(t, s.Run(t.Context(), client, 5, []string{"a}"}).Err(), "hash tag")
	commands, err := NewCommands()
	require.NoError(t, err)
	_, err = commands.Do(t.Context(), client, 5, []string{"a"})
	require.ErrorContains(t, err, "commands")
	_, err = commands.Do(t.Context(), client, 5, []string{"a"}, []any{"PING"}, nil)
	require.ErrorContains(t, err, "command 2")
}

func TestTheTokensKeyIsInTheResourcesSlot(t *testing.T) {
	client := redistest.Start(t, redistest.WithConf("cluster-enabled", "yes")).Client(t)
	require.NoError(t, client.ClusterAddSlotsRange(t.Context(), 0, 16383).Err())
	require.Eventually(t, func() bool {
		info, err := client.ClusterInfo(t.Context()).Result()
		return err == nil && strings.Contains(info, "cluster_state:ok")
	}, 30*time.Second, 10*time.Millisecond)
	s := script(t, add)
	for _, key := range []string{"account:7", "{eu}:7", "a{b}c", "a{b", "{", "{{a}", "a{}{b", "\xff\x00"} {
		tokenKey, err := TokenKey(key)
		if key == "a{}{b" {
			require.Error(t, err) // its tag is empty
			continue
		}
		require.NoError(t, err, key)
		require.Equal(t, client.ClusterKeySlot(t.Context(), key).Val(), client.ClusterKeySlot(t.Context(), tokenKey).Val(), key)
		require.NoError(t, s.Run(t.Context(), client, 5, []string{key}, 1).Err(), key)
		require.ErrorIs(t, s.Run(t.Context(), client, 4, []string{key}, 1).Err(), fence.ErrStale, key)
	}
}

func TestRedisThatIsOutOfMemoryWritesNothing(t *testing.T) {
	client := redistest.Start(t).Client(t)
	s := script(t, add)
	require.NoError(t, s.Run(t.Context(), client, 5, []string{"a"}, 1).Err())
	require.NoError(t, client.ConfigSet(t.Context(), "maxmemory", "1").Err())
	err := s.Run(t.Context(), client, 6, []string{"a"}, 1).Err()
	require.ErrorContains(t, err, "OOM")
	require.NotErrorIs(t, err, fence.ErrStale)
	require.ErrorIs(t, s.Run(t.Context(), client, 4, []string{"a"}, 1).Err(), fence.ErrStale)
	require.NoError(t, client.ConfigSet(t.Context(), "maxmemory", "0").Err())
	require.NoError(t, s.Run(t.Context(), client, 5, []string{"a"}, 1).Err()) // 6 was not remembered
}

func TestCommandsRunTogetherUnderTheNewestToken(t *testing.T) {
	client := redistest.Start(t).Client(t)
	commands, err := NewCommands()
	require.NoError(t, err)
	keys := []string{"{a}1", "{a}2"}
	got, err := commands.Do(t.Context(), client, 5, keys,
		[]any{"SET", "{a}1", "x y"}, []any{"GET", "{a}2"}, []any{"INCR", "{a}2"}, []any{"MGET", "{a}1", "{a}2"})
	require.NoError(t, err)
	require.Equal(t, []any{"OK", nil, int64(1), []any{"x y", "1"}}, got)
	_, err = commands.Do(t.Context(), client, 4, keys, []any{"DEL", "{a}1"})
	require.ErrorIs(t, err, fence.ErrStale)
	_, err = commands.Do(t.Context(), client, 5, keys, []any{"SET", "{a}1", "z"}, []any{"LPUSH", "{a}1", "z"}, []any{"DEL", "{a}2"})
	require.ErrorContains(t, err, "WRONGTYPE")
	require.Equal(t, []any{"z", "1"}, client.MGet(t.Context(), keys...).Val())
}

// No script with a lower token writes after one with a higher.
func TestWritesToRedisRise(t *testing.T) {
	client := redistest.Start(t).Client(t)
	s := script(t, "redis.call('RPUSH', KEYS[1], ARGV[1])\nreturn 1")
	var all sync.WaitGroup
	var written, stale, last atomic.Int64
	errs := make([]error, 8)
	for i := range errs {
		all.Go(func() {
			for range 200 {
				token := max(1, last.Add(1)-rand.Int64N(8))
				switch err := s.Run(t.Context(), client, token, []string{"a"}, token).Err(); {
				case err == nil:
					written.Add(1)
				case errors.Is(err, fence.ErrStale):
					stale.Add(1)
				default:
					errs[i] = err
				}
			}
		})
	}
	all.Wait()
	require.NoError(t, errors.Join(errs...))
	require.Positive(t, stale.Load())
	var tokens []int64
	require.NoError(t, client.LRange(t.Context(), "a", 0, -1).ScanSlice(&tokens))
	require.Len(t, tokens, int(written.Load()))
	require.IsNonDecreasing(t, tokens)
}

func TestNilOptionsAndLongCommandsAreRefused(t *testing.T) {
	_, err := NewScript("return 1", WithExpiry(0), nil)
	require.EqualError(t, err, "redisfence: options[1]: nil must be an option")
	_, err = NewCommands(nil)
	require.ErrorContains(t, err, "options[0]")

	client := redistest.Start(t).Client(t)
	commands, err := NewCommands()
	require.NoError(t, err)
	sadd := func(words int) []any {
		command := []any{"SADD", "s"}
		for i := range words - 2 {
			command = append(command, i)
		}
		return command
	}
	_, err = commands.Do(t.Context(), client, 5, []string{"s"}, []any{"SADD", "s", "first"}, sadd(8000))
	require.ErrorContains(t, err, "command 2: 8000 words must be at most 7000")
	require.Zero(t, client.Exists(t.Context(), "s").Val(), "nothing was sent")
	_, err = commands.Do(t.Context(), client, 5, []string{"s"}, sadd(7000))
	require.NoError(t, err)
	require.EqualValues(t, 6998, client.SCard(t.Context(), "s").Val())
}
