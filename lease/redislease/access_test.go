package redislease_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/lease/redislease"
)

// documentedRights are the ACL rules that the package comment names, and those it adds for Cluster.
func documentedRights(t *testing.T) (rights, onCluster []string) {
	t.Helper()
	doc, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	rules := regexp.MustCompile(`(?s)ACL rules: (.*?)\n//\s+On Cluster also: (.*?)\n`).FindSubmatch(doc)
	require.NotNil(t, rules, "doc.go names no ACL rules")
	return strings.Fields(strings.ReplaceAll(string(rules[1]), "//", "")), strings.Fields(string(rules[2]))
}

// What scripts call is checked against the ACL as well.
func TestDocumentedPermissionsAreThoseOfTheScripts(t *testing.T) {
	rights, onCluster := documentedRights(t)
	called := map[string]bool{}
	files, err := filepath.Glob("lua/*.lua")
	require.NoError(t, err)
	for _, file := range files {
		source, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, call := range regexp.MustCompile(`\bp?call\(\s*['"]([A-Za-z]+)`).FindAllStringSubmatch(string(source), -1) {
			called["+"+strings.ToLower(call[1])] = true
		}
	}
	require.Greater(t, len(called), 20)
	for right := range called {
		if right != "+info" { // of which doc.go says when
			require.Contains(t, append(rights, onCluster...), right, "doc.go and docs/operations.md have to list it")
		}
	}
	for _, right := range rights {
		byTheClient := []string{"~solotick:*", "&solotick:*", "+eval", "+evalsha", "+scan", "+ping", "+select", "+subscribe", "+unsubscribe"}
		if !slices.Contains(byTheClient, right) {
			require.True(t, called[right], "nothing needs %s", right)
		}
	}
	operations, err := os.ReadFile("../../docs/operations.md")
	require.NoError(t, err)
	for _, right := range append(rights, onCluster...) {
		require.Contains(t, string(operations), strings.ReplaceAll(right, "|", "\\|"))
	}
}

func TestDocumentedPermissionsReachNothingElse(t *testing.T) {
	rights, onCluster := documentedRights(t)
	srv := redistest.Start(t, user(append(rights, onCluster...)...))
	client := redis.NewClient(&redis.Options{Addr: srv.Addr(), Username: "app", Password: "secret"})
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	require.NoError(t, srv.Client(t).Set(t.Context(), "another", "kept", 0).Err())
	for _, command := range []string{
		"flushall", "flushdb", "keys *", "config get *", "config set maxmemory 1", "swapdb 0 1", "shutdown nosave", "script flush",
		"script kill", "acl list", "acl setuser app +@all", "client list", "client kill type normal", "client pause 1", "replicaof no one", "monitor", "save", "bgsave",
		"bgrewriteaof", "slowlog reset", "latency reset", "module list", "function flush", "randomkey", "dbsize", "failover", "cluster reset", "migrate h 1 k 0 1",
		"get another", "set another x", "unlink another", "del another", "hset another f v", "eval return(redis.call('GET',KEYS[1])) 1 another",
		"eval return(redis.call('FLUSHALL')) 0", "publish another x", "subscribe another",
	} {
		words := strings.Fields(command)
		args := make([]any, len(words))
		for i, w := range words {
			args[i] = w
		}
		err := client.Do(t.Context(), args...).Err()
		require.Error(t, err, command)
		require.Regexp(t, "NOPERM|can't run this command|permission", err.Error(), command)
	}
	require.Equal(t, "kept", srv.Client(t).Get(t.Context(), "another").Val())
}

// user is the configuration of a user who is called app.
func user(rights ...string) redistest.Option {
	return redistest.WithConf("user", append([]string{"app", "on", ">secret"}, rights...)...)
}

func TestDocumentedPermissionsAreEnough(t *testing.T) {
	rights, _ := documentedRights(t)
	srv := redistest.Start(t, user(rights...))
	s := openFor(t, redis.NewClient(&redis.Options{Addr: srv.Addr(), Username: "app", Password: "secret"}))
	useEverything(t, s)
	woken, ended := make(chan string, 16), make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { ended <- s.Watch(ctx, func(name string, _ int64) { woken <- name }) }()
	require.Empty(t, receive(t, woken))
	g := granted(t, s, claimOf("lock", 0, "a", "r"))
	require.NoError(t, s.Release(t.Context(), g))
	for receive(t, woken) != "lock" { // the trigger of a moment ago is notified, too
	}
	cancel()
	require.ErrorIs(t, receive(t, ended), context.Canceled)
}

// Watch notifies of a trigger all the same, since it polls.
func TestOnlyNotificationsNeedThePublishPermission(t *testing.T) {
	rights, _ := documentedRights(t)
	for what, lacks := range map[string][]string{"commands": {"-@pubsub"}, "channels": {"resetchannels"}} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			srv := redistest.Start(t, user(append(slices.Clone(rights), lacks...)...))
			s := openFor(t, redis.NewClient(&redis.Options{Addr: srv.Addr(), Username: "app", Password: "secret"}))
			useEverything(t, s)
			synced(t, s, "other")
			triggered, err := s.Trigger(t.Context(), protocol.Trigger{Name: "other", By: "ops", Request: "t"})
			require.NoError(t, err)
			woken, ended := make(chan int64, 16), make(chan error, 1)
			go func() {
				ended <- s.Watch(t.Context(), func(name string, tick int64) {
					if name == "other" {
						woken <- tick
					}
				})
			}()
			require.Equal(t, triggered.Tick, receive(t, woken))
			require.ErrorContains(t, receive(t, ended), "NOPERM")
		})
	}
}

func TestWrongPasswordIsReportedAtOnce(t *testing.T) {
	srv := redistest.Start(t, redistest.WithConf("requirepass", "it is \"secret\""))
	o, err := redis.ParseURL(srv.URL())
	require.NoError(t, err)
	useEverything(t, openFor(t, redis.NewClient(o)))

	o.Password = "wrong"
	began := time.Now()
	_, _, err = openFor(t, redis.NewClient(o), redislease.WithTimeout(30*time.Second)).Time(t.Context())
	require.ErrorContains(t, err, "WRONGPASS")
	require.Less(t, time.Since(began), 20*time.Second)
}

func useEverything(t *testing.T, s *redislease.Store) {
	t.Helper()
	synced(t, s, "job", "other", "gone")
	removed, err := s.Remove(t.Context(), protocol.Remove{Name: "gone"})
	require.NoError(t, err)
	require.Equal(t, protocol.RecordRemoved, removed.Status)
	g := granted(t, s, claimOf("job", 100, "a", "r"))
	require.NoError(t, renewed(s, t.Context(), g))
	require.NoError(t, s.Release(t.Context(), g))
	g = granted(t, s, claimOf("job", 100, "b", "r"))
	waits := claimOf("job", 101, "a", "r")
	waits.Overlap = protocol.OverlapWait
	a, err := s.Claim(t.Context(), waits)
	require.NoError(t, err)
	require.Equal(t, protocol.Busy, a.Status)
	require.NoError(t, s.Settle(t.Context(), g, "succeeded"))
	_, passed, err := s.Skip(t.Context(), protocol.Skip{Name: "job", From: 100, To: 110, Outcome: "missed", Request: "p", Holder: "a"})
	require.NoError(t, err)
	require.True(t, passed)
	_, _, err = s.Time(t.Context())
	require.NoError(t, err)
	r, err := s.Inspect(t.Context(), "job")
	require.NoError(t, err)
	require.EqualValues(t, 110, r.Watermark)

	trigger := protocol.Trigger{Name: "job", By: "ops", Request: "t", Key: "k", Window: long}
	triggered, err := s.Trigger(t.Context(), trigger)
	require.NoError(t, err)
	require.Equal(t, protocol.Opened, triggered.Status)
	trigger.Request = "t2"
	triggered, err = s.Trigger(t.Context(), trigger)
	require.NoError(t, err)
	require.Equal(t, protocol.Repeated, triggered.Status)
	g = granted(t, s, claimOf("job", triggered.Tick, "a", "r"))
	replaces := claimOf("job", triggered.Tick+10, "b", "r")
	replaces.Overlap = protocol.OverlapReplace
	a, err = s.Claim(t.Context(), replaces)
	require.NoError(t, err)
	require.Equal(t, protocol.Queued, a.Status)
	require.ErrorIs(t, renewed(s, t.Context(), g), protocol.ErrReplaced)
	_, err = s.Pause(t.Context(), "job", protocol.Pause{By: "ops"})
	require.NoError(t, err)
	ended, err := s.Resume(t.Context(), "job", protocol.Resume{By: "ops"})
	require.NoError(t, err)
	require.NotNil(t, ended)

	require.NoError(t, s.SendHeartbeat(t.Context(), "a", []byte("info"), long))
	require.NoError(t, s.SendHeartbeat(t.Context(), "b", nil, time.Millisecond))
	require.NoError(t, s.SendHeartbeat(t.Context(), "c", nil, 0))
	require.Eventually(t, func() bool { // which takes off those whose life has ended
		members, err := s.Members(t.Context())
		require.NoError(t, err)
		return len(members) == 1
	}, 20*time.Second, time.Millisecond)
}

// receive waits for what c brings.
func receive[T any](t *testing.T, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(20 * time.Second):
		t.Fatal("nothing came in 20 s")
	}
	return v
}
