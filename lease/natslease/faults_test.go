package natslease_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/casstore"
	"github.com/solotick/solotick/internal/historytest"
	"github.com/solotick/solotick/internal/natstest"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/proxytest"
	"github.com/solotick/solotick/lease/driver"
	"github.com/solotick/solotick/lease/natslease"
)

// short is longer than any answer of a server that is well, and not much longer.
const short = 700 * time.Millisecond

func read(ctx context.Context, s *natslease.Store, key string) driver.Result {
	return s.Values().Do(ctx, []driver.Op{{Key: key}})[0]
}

func change(ctx context.Context, s *natslease.Store, key string, c driver.Change) driver.Result {
	return s.Values().Do(ctx, []driver.Op{{Key: key, Change: &c}})[0]
}

// changed makes a change of a value, and returns its version.
func changed(t *testing.T, s *natslease.Store, key string, from driver.Version, text string) driver.Version {
	t.Helper()
	res := change(t.Context(), s, key, driver.Change{From: from, ID: text, Data: []byte(text)})
	require.NoError(t, res.Err)
	require.Equal(t, driver.Done, res.Status)
	return res.Version
}

// await waits until a value can be read.
func await(t *testing.T, s *natslease.Store, key string) driver.Result {
	t.Helper()
	var res driver.Result
	require.Eventually(t, func() bool {
		res = read(t.Context(), s, key)
		return res.Err == nil
	}, time.Minute, 10*time.Millisecond)
	return res
}

// stream asks the JetStream API.
func stream(t testing.TB, nc *nats.Conn, verb, body string) (info jetstream.StreamInfo) {
	t.Helper()
	answer, err := nc.Request("$JS.API."+verb, []byte(body), 10*time.Second)
	require.NoError(t, err)
	require.NotContains(t, string(answer.Data), `"error"`)
	require.NoError(t, json.Unmarshal(answer.Data, &info))
	return info
}

func TestKilledServerComesBackWithEverything(t *testing.T) {
	t.Parallel()
	srv := natstest.Start(t)
	s := open(t, connect(t, srv.URL()), natslease.WithTimeout(short))
	v1 := changed(t, s, "job", driver.Version{}, "one")
	_, since, err := s.Time(t.Context())
	require.NoError(t, err)
	srv.Kill()
	require.Eventually(t, func() bool {
		err := read(t.Context(), s, "job").Err
		return err != nil && s.Hint(err) == "see that NATS runs, and check its address"
	}, time.Minute, time.Millisecond)
	srv.Restart()
	require.Equal(t, v1, await(t, s, "job").Value.Version)
	changed(t, s, "job", v1, "two")
	_, same, err := s.Time(t.Context())
	require.NoError(t, err)
	require.Equal(t, since, same)
}

func TestFrozenServerHoldsUpNobodyPastTheTimeout(t *testing.T) {
	t.Parallel()
	srv := natstest.Start(t)
	s := open(t, connect(t, srv.URL()), natslease.WithTimeout(short))
	v1 := changed(t, s, "job", driver.Version{}, "one")
	srv.Freeze()
	began := time.Now()
	res := change(t.Context(), s, "job", driver.Change{From: v1, ID: "late", Data: []byte("late")})
	require.Less(t, time.Since(began), 20*time.Second)
	require.ErrorContains(t, res.Err, "natslease: bucket solotick: no answer in time")
	require.NotErrorIs(t, res.Err, protocol.ErrPermanent)
	require.Contains(t, s.Hint(res.Err), "servers of the bucket run")
	srv.Thaw()
	overwritten(t, s, "job", "two")
}

// overwritten makes a change of a value, which others may change, too.
func overwritten(t *testing.T, s *natslease.Store, key, text string) driver.Version {
	t.Helper()
	var res driver.Result
	require.Eventually(t, func() bool {
		res = change(t.Context(), s, key, driver.Change{From: read(t.Context(), s, key).Value.Version, ID: text, Data: []byte(text)})
		return res.Err == nil && res.Status == driver.Done
	}, time.Minute, 10*time.Millisecond)
	return res.Version
}

func TestWriteThatComesLateIsRefused(t *testing.T) {
	t.Parallel()
	srv := natstest.Start(t)
	proxy := proxytest.New(t, srv.Addr())
	slow := open(t, connect(t, "nats://"+proxy.Addr()), natslease.WithTimeout(short))
	other := open(t, connect(t, srv.URL()))
	v1 := changed(t, slow, "job", driver.Version{}, "one")
	proxy.Partition(proxytest.Requests)
	require.Error(t, change(t.Context(), slow, "job", driver.Change{From: v1, ID: "late", Data: []byte("late")}).Err)
	require.Equal(t, v1, read(t.Context(), other, "job").Value.Version, "the write is under way still")
	v2 := changed(t, other, "job", v1, "two")
	before := stream(t, connect(t, srv.URL()), "STREAM.INFO.KV_solotick", "").State.LastSeq
	proxy.Heal()
	require.Equal(t, v2, await(t, slow, "job").Value.Version)
	require.Equal(t, before, stream(t, connect(t, srv.URL()), "STREAM.INFO.KV_solotick", "").State.LastSeq, "and it was refused")
}

// Between a backup that was restored and the watch that notices, nothing is written over a value of
// the same sequence that others have made since.
func TestBucketThatWentBackIsNotWrittenFromMemory(t *testing.T) {
	t.Parallel()
	s := open(t, connect(t, natstest.Start(t).URL()))
	watches := make(chan struct{}, 64)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { _ = s.Values().Subscribe(ctx, func(driver.Notification) { watches <- struct{}{} }) }()
	<-watches // a watch that begins asks for the last sequence, too
	v1 := changed(t, s, "job", driver.Version{}, "one")
	s.Saw(1 << 62)
	require.ErrorIs(t, change(t.Context(), s, "job", driver.Change{From: v1, ID: "two", Data: []byte("two")}).Err, casstore.ErrWentBack)
	require.Equal(t, v1, await(t, s, "job").Value.Version)
	overwritten(t, s, "job", "two")
}

func TestNothingIsSentAfterTheConnectionIsBack(t *testing.T) {
	t.Parallel()
	srv := natstest.Start(t)
	nc := connect(t, srv.URL(), nats.ReconnectBufSize(1<<20))
	s := open(t, nc, natslease.WithTimeout(short))
	v1 := changed(t, s, "job", driver.Version{}, "one")
	srv.Kill()
	require.Eventually(t, func() bool { return !nc.IsConnected() }, time.Minute, time.Millisecond)
	require.Error(t, change(t.Context(), s, "job", driver.Change{From: v1, ID: "late", Data: []byte("late")}).Err)
	srv.Restart()
	require.Equal(t, v1, await(t, s, "job").Value.Version)
	require.NoError(t, nc.FlushTimeout(10*time.Second))
	require.Equal(t, v1, read(t.Context(), s, "job").Value.Version)
}

func TestRemovedKeyLeavesNothingAndIsMadeAgain(t *testing.T) {
	t.Parallel()
	srv := natstest.Start(t)
	nc := connect(t, srv.URL())
	s := open(t, nc)
	first := changed(t, s, "job", driver.Version{}, "first")
	remove := func(from driver.Version, id string) {
		require.Equal(t, driver.Done, change(t.Context(), s, "job", driver.Change{From: from, ID: id}).Status)
	}
	remove(first, "gone")
	second := changed(t, s, "job", driver.Version{}, "second") // in the place of the message that it was removed
	require.Greater(t, second.Stamp, first.Stamp)
	remove(second, "again")
	require.Eventually(t, func() bool { return stream(t, nc, "STREAM.INFO.KV_solotick", "").State.Msgs == 0 }, time.Minute, 50*time.Millisecond)
	require.Greater(t, changed(t, s, "job", driver.Version{}, "third").Stamp, second.Stamp)
}

func TestRemovedBucketIsMadeAgainWithHigherRevisions(t *testing.T) {
	t.Parallel()
	srv := natstest.Start(t)
	nc := connect(t, srv.URL())
	s := open(t, nc)
	v1 := changed(t, s, "job", driver.Version{}, "one")
	_, since, err := s.Time(t.Context())
	require.NoError(t, err)
	last := stream(t, nc, "STREAM.INFO.KV_solotick", "").State.LastSeq
	stream(t, nc, "STREAM.DELETE.KV_solotick", "")
	require.Equal(t, driver.Conflict, change(t.Context(), s, "job", driver.Change{From: v1, ID: "two", Data: []byte("two")}).Status)
	changed(t, s, "job", driver.Version{}, "again")
	require.Greater(t, stream(t, nc, "STREAM.INFO.KV_solotick", "").State.FirstSeq, last)
	_, later, err := s.Time(t.Context())
	require.NoError(t, err)
	require.True(t, later.After(since))
}

func TestRestoredBackupRepeatsNoVersion(t *testing.T) {
	t.Parallel()
	srv := natstest.Start(t)
	running := open(t, connect(t, srv.URL()), natslease.WithTimeout(short))
	v1 := changed(t, running, "job", driver.Version{}, "one")
	srv.Kill()
	backup := filepath.Join(t.TempDir(), "backup")
	require.NoError(t, os.CopyFS(backup, os.DirFS(srv.Dir())))
	srv.Restart()
	await(t, running, "job")
	v2 := changed(t, running, "job", v1, "two")

	srv.Kill()
	require.NoError(t, os.RemoveAll(srv.Dir()))
	require.NoError(t, os.Rename(backup, srv.Dir()))
	srv.Restart()
	other := changed(t, open(t, connect(t, srv.URL())), "job", v1, "other") // with the sequence that v2 had
	require.NotEqual(t, v2, other)
	await(t, running, "other")
	require.Equal(t, driver.Conflict, change(t.Context(), running, "job", driver.Change{From: v2, ID: "late", Data: []byte("late")}).Status)
	require.Equal(t, "other", string(read(t.Context(), running, "job").Value.Data))
}

func TestLostConsumerIsReplaced(t *testing.T) {
	t.Parallel()
	srv := natstest.Start(t)
	nc := connect(t, srv.URL())
	s := open(t, nc)
	v1 := changed(t, s, "job", driver.Version{}, "one")
	missed := make(chan struct{}, 16)
	subscribed := func() chan error {
		ended := make(chan error, 1)
		go func() {
			ended <- s.Values().Subscribe(t.Context(), func(n driver.Notification) {
				if n.Name == "" {
					missed <- struct{}{}
				}
			})
		}()
		return ended
	}
	ended := subscribed()
	<-missed
	for info := (jetstream.StreamInfo{}); info.State.Consumers != 1; { // others were of listings
		info = stream(t, nc, "STREAM.INFO.KV_solotick", "")
	}
	var names struct{ Consumers []string }
	answer, err := nc.Request("$JS.API.CONSUMER.NAMES.KV_solotick", nil, 10*time.Second)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(answer.Data, &names))
	require.Len(t, names.Consumers, 1)
	stream(t, nc, "CONSUMER.DELETE.KV_solotick."+names.Consumers[0], "")
	require.ErrorContains(t, <-ended, "not even heartbeats")
	for len(missed) > 0 {
		<-missed
	}
	subscribed()
	<-missed
	changed(t, s, "job", v1, "two")
}

// The leader that was frozen may take itself for the leader for a moment when it goes on.
func TestFailoverForgetsNothing(t *testing.T) {
	t.Parallel()
	servers := natstest.StartCluster(t)
	nc := connect(t, natstest.URL(servers...))
	s := open(t, nc, natslease.WithReplicas(3), natslease.WithTimeout(short))
	await(t, s, "job")
	v1 := changed(t, s, "job", driver.Version{}, "one")
	frozen := natstest.Leader("KV_solotick", servers)
	require.NotNil(t, frozen)
	frozen.Freeze()
	require.Equal(t, v1, await(t, s, "job").Value.Version)
	v2 := overwritten(t, s, "job", "two")
	require.Greater(t, v2.Stamp, v1.Stamp)
	frozen.Thaw()
	old := open(t, connect(t, frozen.URL()), natslease.WithReplicas(3), natslease.WithTimeout(short))
	require.NotEqual(t, driver.Done, change(t.Context(), old, "job", driver.Change{From: v1, ID: "late", Data: []byte("late")}).Status)
	require.Eventually(t, func() bool { return read(t.Context(), old, "job").Value.Version == v2 }, time.Minute, 10*time.Millisecond)
}

func TestHistoriesOfProcessesAreLinearizable(t *testing.T) {
	t.Parallel()
	srv := natstest.Start(t)
	open(t, connect(t, srv.URL())).Values().Do(t.Context(), []driver.Op{{Key: "first"}})
	historytest.Run(t, contender(srv.URL()), srv.Restart, func() {
		srv.Freeze()
		time.Sleep(50 * time.Millisecond)
		srv.Thaw()
	})
}
