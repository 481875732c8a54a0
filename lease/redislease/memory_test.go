package redislease_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/lease/redislease"
)

func TestFullMemoryRefusesClaimsAndKeepsLeases(t *testing.T) {
	srv := redistest.Start(t, redistest.WithConf("maxmemory-policy", "noeviction"))
	admin, s := srv.Client(t), open(t, srv.Addr())
	synced(t, s, "job", "ruled")
	require.NoError(t, s.SendHeartbeat(t.Context(), "a", nil, long))
	settles, releases := granted(t, s, claimOf("job", 100, "a", "r")), granted(t, s, claimOf("job", 101, "a", "r"))
	lock := granted(t, s, claimOf("lock", 0, "a", "r"))
	require.NoError(t, admin.ConfigSet(t.Context(), "maxmemory", "1").Err())

	for range 2 { // with and without the scripts' sources to be sent
		require.NoError(t, admin.ScriptFlush(t.Context()).Err())
		_, err := s.Claim(t.Context(), claimOf("job", 102, "a", "r"))
		require.ErrorContains(t, err, "OOM")
		_, err = s.Sync(t.Context(), []protocol.Sync{{Name: "other"}})
		require.ErrorContains(t, err, "OOM")
		point := protocol.Checkpoint{Name: "job", Tick: 100, Token: settles.Token, Data: []byte("here"), Remaining: long}
		require.ErrorContains(t, s.Checkpoint(t.Context(), []protocol.Checkpoint{point})[0], "OOM")
		for _, err := range s.Renew(t.Context(), []protocol.Grant{settles, releases, lock}) {
			require.NoError(t, err)
		}
		_, _, err = s.Time(t.Context())
		require.NoError(t, err)
	}
	require.NoError(t, s.Settle(t.Context(), settles, "succeeded"))
	require.NoError(t, s.Release(t.Context(), releases))
	require.NoError(t, s.Release(t.Context(), lock))
	watermark, passed, err := s.Skip(t.Context(), protocol.Skip{Name: "job", From: 101, To: 110, Outcome: "missed", Request: "p", Holder: "a"})
	require.NoError(t, err)
	require.True(t, passed)
	require.EqualValues(t, 110, watermark)
	r, err := s.Inspect(t.Context(), "job")
	require.NoError(t, err)
	require.Len(t, r.Settled, 2)

	// Without memory an operator can pause and resume, but not trigger.
	_, err = s.Trigger(t.Context(), protocol.Trigger{Name: "ruled", By: "ops", Request: "t"})
	require.ErrorContains(t, err, "OOM")
	require.ErrorContains(t, s.SendHeartbeat(t.Context(), "b", nil, long), "OOM")
	members, err := s.Members(t.Context())
	require.NoError(t, err)
	require.Len(t, members, 1)
	_, err = s.Pause(t.Context(), "ruled", protocol.Pause{By: "ops"})
	require.NoError(t, err)
	ended, err := s.Resume(t.Context(), "ruled", protocol.Resume{By: "ops"})
	require.NoError(t, err)
	require.NotNil(t, ended)

	// The refused calls have changed nothing.
	require.NoError(t, admin.ConfigSet(t.Context(), "maxmemory", "0").Err())
	require.Equal(t, 2, granted(t, s, claimOf("job", 101, "b", "r")).Attempt)
	require.Equal(t, 1, granted(t, s, claimOf("job", 111, "b", "r")).Attempt)
}

func TestMembersStayWhileRedisIsFull(t *testing.T) {
	srv := redistest.Start(t, redistest.WithConf("maxmemory-policy", "noeviction"))
	s := open(t, srv.Addr())
	const life = time.Second
	beat := protocol.Heartbeat{Holder: "a", Info: []byte("info"), Life: life}
	_, err := s.Heartbeat(t.Context(), beat)
	require.NoError(t, err)
	require.NoError(t, s.SendHeartbeat(t.Context(), "b", []byte("other"), life))
	require.NoError(t, srv.Client(t).ConfigSet(t.Context(), "maxmemory", "1").Err())
	for end := time.Now().Add(2 * life); time.Now().Before(end); time.Sleep(life / 5) {
		_, err := s.Heartbeat(t.Context(), beat)
		require.ErrorContains(t, err, "OOM")
		require.ErrorContains(t, s.SendHeartbeat(t.Context(), "b", []byte("new"), life), "OOM")
		require.ErrorContains(t, s.SendHeartbeat(t.Context(), "c", nil, life), "OOM")
	}
	members, err := s.Members(t.Context())
	require.NoError(t, err)
	require.Len(t, members, 2)
	require.Equal(t, "info", string(members[0].Info))
	require.Equal(t, "other", string(members[1].Info), "what it said last")
	time.Sleep(2 * life)
	members, err = s.Members(t.Context())
	require.NoError(t, err)
	require.Empty(t, members, "who says no more is gone")
}

func TestRecordsOfJobsAreNotEvicted(t *testing.T) {
	srv := redistest.Start(t, redistest.WithConf("maxmemory-policy", "volatile-lru"))
	admin, s := srv.Client(t), open(t, srv.Addr())
	synced(t, s, "job")
	record := redislease.Key("default", "job")
	require.EqualValues(t, 1, admin.Exists(t.Context(), record).Val())
	require.Equal(t, time.Duration(-1), admin.TTL(t.Context(), record).Val(), "no TTL")
	require.NoError(t, admin.ConfigSet(t.Context(), "maxmemory", "1").Err())
	require.ErrorContains(t, admin.Set(t.Context(), "more", "memory", 0).Err(), "OOM")

	require.EqualValues(t, 1, admin.Exists(t.Context(), record).Val(), "the record")
}

func TestEmptyServerWithFullMemoryStillReturnsTime(t *testing.T) {
	srv := redistest.Start(t)
	require.NoError(t, srv.Client(t).ConfigSet(t.Context(), "maxmemory", "1").Err())
	_, since, err := open(t, srv.Addr()).Time(t.Context())
	require.NoError(t, err)
	require.False(t, since.IsZero())
}

func TestTokensRiseWhenTheServersClockGoesBack(t *testing.T) {
	srv := redistest.Start(t)
	s := openIn(t, srv.Addr(), "ns")
	synced(t, s, "job")
	admin, key := srv.Client(t), redislease.Key("ns", "job")
	ahead := time.Now().Add(time.Hour).UnixMicro()
	state, err := admin.HGet(t.Context(), key, "s").Result()
	require.NoError(t, err)
	require.NoError(t, admin.HSet(t.Context(), key, "s", "-"+fmt.Sprint(ahead)+state[17:]).Err())
	before := ahead
	for n := range int64(3) {
		token := granted(t, s, claimOf("job", 100+n, "a", "r")).Token
		require.Greater(t, token, before)
		require.Less(t, token, ahead+100)
		before = token
	}
}

func TestARecordDoesNotGrow(t *testing.T) {
	srv := redistest.Start(t)
	s := openIn(t, srv.Addr(), "ns")
	synced(t, s, "job")
	for n := range int64(2 * protocol.History) {
		require.NoError(t, s.Settle(t.Context(), granted(t, s, claimOf("job", 1e12+n, "a", "r")), "succeeded"))
	}
	for i := range 2 * protocol.Remembered {
		triggered, err := s.Trigger(t.Context(), protocol.Trigger{Name: "job", By: "ops", Request: fmt.Sprint(i)})
		require.NoError(t, err)
		require.NoError(t, s.Settle(t.Context(), granted(t, s, claimOf("job", triggered.Tick, "a", "r")), "succeeded"))
	}
	record, err := srv.Client(t).HGetAll(t.Context(), redislease.Key("ns", "job")).Result()
	require.NoError(t, err)
	size := 0
	for field, value := range record {
		size += len(field) + len(value)
	}
	require.Less(t, size, 110*protocol.History, record)
	require.Less(t, len(record["d"]), 100*protocol.Remembered)
	r, err := s.Inspect(t.Context(), "job")
	require.NoError(t, err)
	require.Len(t, r.Settled, protocol.History)
}

// Keys beside the records expire by themselves.
func TestKeysBesideRecordsExpire(t *testing.T) {
	srv := redistest.Start(t)
	admin, s := srv.Client(t), openIn(t, srv.Addr(), "ns")
	synced(t, s, "job")
	_, err := s.Trigger(t.Context(), protocol.Trigger{Name: "job", By: "ops", Request: "t", Key: "k", Window: time.Hour})
	require.NoError(t, err)
	require.NoError(t, s.SendHeartbeat(t.Context(), "a", nil, time.Minute))
	require.NoError(t, s.SendHeartbeat(t.Context(), "b", nil, time.Hour))
	require.NoError(t, s.SendHeartbeat(t.Context(), "c", nil, time.Second))
	ends := map[string]time.Duration{
		"solotick:{ns}:triggered": time.Minute,
		"solotick:{ns}:members":   24 * time.Hour,
		"solotick:{ns}:heard":     24 * time.Hour,
		"solotick:{ns}:alive":     24 * time.Hour,
		"solotick:{ns}:changed":   24 * time.Hour,
	}
	keys, err := admin.Keys(t.Context(), "*").Result()
	require.NoError(t, err)
	require.Len(t, keys, len(ends)+2) // the record, and since when the namespace is remembered
	for key, want := range ends {
		ttl, err := admin.PTTL(t.Context(), key).Result()
		require.NoError(t, err)
		require.InDelta(t, want, ttl, float64(30*time.Second), key)
	}
}
