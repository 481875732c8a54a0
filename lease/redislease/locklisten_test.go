package redislease_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/lease/redislease"
)

// listener is a store that listens, and its notifications.
type listener struct {
	*redislease.Store
	t        *testing.T
	notified chan string // name and requests
	ended    chan error
	stop     context.CancelFunc
}

func listen(t *testing.T, s *redislease.Store) *listener {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	l := &listener{Store: s, t: t, notified: make(chan string, 20_000), ended: make(chan error, 1), stop: stop}
	go func() {
		l.ended <- s.Listen(ctx, func(name string, requests []string) {
			l.notified <- strings.Join(append([]string{name}, requests...), " ")
		})
	}()
	t.Cleanup(stop)
	return l
}

// next waits for the next notification about a name.
func (l *listener) next(name string) string {
	l.t.Helper()
	for {
		if notified := receive(l.t, l.notified); notified == name || strings.HasPrefix(notified, name+" ") {
			return notified
		}
	}
}

// begins waits until it listens to all servers, or to one of them again.
func (l *listener) begins() { l.t.Helper(); l.next("") }

// end ends it, and wants it to have listened until now.
func (l *listener) end() {
	l.t.Helper()
	l.stop()
	require.ErrorIs(l.t, receive(l.t, l.ended), context.Canceled)
}

// waitsFor has l wait for a lock that other holds.
func (l *listener) waitsFor(other protocol.Store, name string, ticket time.Duration) protocol.LockGrant {
	l.t.Helper()
	g := lockGranted(l.t, other, lockOf(name, "a", "holds", 1, 1))
	c := waiting(lockOf(name, "b", "waits", 1, 1))
	c.WaiterTTL = ticket
	queued(l.t, l, c)
	return g
}

// isNotified wants l to be notified at once that a grant has ended.
func (l *listener) isNotified(other protocol.Store, g protocol.LockGrant) {
	l.t.Helper()
	began := time.Now()
	require.NoError(l.t, other.ReleaseLock(l.t.Context(), g))
	require.Equal(l.t, g.Name+" waits", l.next(g.Name))
	require.Less(l.t, time.Since(began), patience) // waiters' TTLs are of a minute
}

// nameOn is the name of a lock that a node keeps.
func (c *cluster) nameOn(t *testing.T, node int, start string) string {
	t.Helper()
	return c.nameIn(t, "default", node, start)
}

func (c *cluster) nameIn(t *testing.T, namespace string, node int, start string) string {
	t.Helper()
	for i := 0; ; i++ {
		if name := fmt.Sprint(start, i); c.nodeOfKey(t, redislease.Key(namespace, "lock:"+name)) == node {
			return name
		}
	}
}

// queueChannelOf is the channel on Cluster on which the next waiters for a lock are notified.
func queueChannelOf(name string) string {
	return strings.TrimSuffix(redislease.Key("default", "lock:"+name), "lock:"+name) + "line"
}

func TestDocumentedPermissionsAreEnoughOnCluster(t *testing.T) {
	t.Parallel()
	rights, onCluster := documentedRights(t)
	c := startCluster(t, user(append(rights, onCluster...)...))
	connect := func(user string) redis.UniversalClient {
		o := c.options()
		o.Username, o.Password = user, "secret"
		return redis.NewClusterClient(o)
	}
	other := openFor(t, connect("app"))
	subscribers := func(t *testing.T, node int, name string) int64 {
		t.Helper()
		channel := queueChannelOf(name)
		n, err := c.admins[node].PubSubShardNumSub(t.Context(), channel).Result()
		require.NoError(t, err)
		return n[channel]
	}
	connections := func(t *testing.T, node int) int {
		t.Helper()
		list, err := c.admins[node].ClientList(t.Context()).Result()
		require.NoError(t, err)
		return strings.Count(list, "subscribe") + strings.Count(list, "cmd=ping") // the last that each has asked
	}

	t.Run("TheDocumentedRightsAreEnough", func(t *testing.T) { useEverything(t, openFor(t, connect("app"))) })

	t.Run("WhoWaitsIsNotified", func(t *testing.T) {
		l := listen(t, openFor(t, connect("app")))
		l.begins()
		for node := range c.nodes {
			name := c.nameOn(t, node, "told")
			l.isNotified(other, l.waitsFor(other, name, long))
		}
		g := l.waitsFor(other, "forced", long)
		held, err := other.ForceRelease(t.Context(), "forced", g.Token)
		require.NoError(t, err)
		require.True(t, held)
		require.Equal(t, "forced waits holds", l.next("forced"))
		l.end()
	})

	t.Run("WhoLooksIsNotified", func(t *testing.T) {
		l := listen(t, openFor(t, connect("app")))
		l.begins()
		tells := lockOf("looked", "a", "tells", 1, 1)
		tells.Notify = true
		lockGranted(t, other, tells)
		require.Equal(t, "looked tells", l.next("looked"))
		l.end()
	})

	t.Run("WhoListensLaterIsNotified", func(t *testing.T) {
		s := openFor(t, connect("app"))
		g := lockGranted(t, other, lockOf("later", "a", "holds", 1, 1))
		queued(t, s, waiting(lockOf("later", "b", "waits", 1, 1)))
		l := listen(t, s)
		l.begins()
		l.isNotified(other, g)
		l.end()
	})

	t.Run("AMovedSlotIsFollowed", func(t *testing.T) {
		l := listen(t, openFor(t, connect("app")))
		l.begins()
		name := c.nameOn(t, 1, "moved")
		g := l.waitsFor(other, name, long)
		slot, err := c.admins[0].ClusterKeySlot(t.Context(), queueChannelOf(name)).Result()
		require.NoError(t, err)
		began := time.Now()
		c.move(t, slot, 1, 2, func(int) {})
		require.Eventually(t, func() bool { return subscribers(t, 2, name) == 1 }, 20*time.Second, time.Millisecond)
		l.begins()
		require.Less(t, time.Since(began), patience)
		l.isNotified(other, g)
		l.end()
	})

	t.Run("ManyNamesNeedOneConnectionToEachMaster", func(t *testing.T) {
		const many, together = 10_000, 100
		l := listen(t, openFor(t, connect("app")))
		l.begins()
		var all sync.WaitGroup
		errs := make(chan error, many)
		for i := range together {
			all.Go(func() {
				for j := i; j < many; j += together {
					_, err := l.ClaimLock(t.Context(), waiting(lockOf(fmt.Sprint("many", j), "b", "waits", 1, 1)))
					errs <- err
				}
			})
		}
		all.Wait()
		for range many {
			require.NoError(t, <-errs)
		}
		channels := 0
		for node := range c.nodes {
			list, err := c.admins[node].PubSubShardChannels(t.Context(), "*").Result()
			require.NoError(t, err)
			channels += len(list)
			require.Equal(t, 1, connections(t, node))
		}
		require.Equal(t, 16, channels)
		l.end()
		require.Eventually(t, func() bool {
			return connections(t, 0)+connections(t, 1)+connections(t, 2) == 0
		}, 20*time.Second, 10*time.Millisecond)
	})

	t.Run("WithoutTheRightItFails", func(t *testing.T) {
		for _, admin := range c.admins {
			require.NoError(t, admin.Do(t.Context(), "acl", "setuser", "mute", "on", ">secret", "~*", "resetchannels", "+@all").Err())
		}
		s := openFor(t, connect("mute"))
		for range 2 {
			g := lockGranted(t, s, lockOf("mute", "a", "r", 1, 1))
			queued(t, s, waiting(lockOf("mute", "b", "r", 1, 1)))
			require.NoError(t, s.ReleaseLock(t.Context(), g)) // what cannot be notified is done all the same
			lockGranted(t, s, waiting(lockOf("mute", "b", "r", 1, 1)))
			require.NoError(t, s.ReleaseLock(t.Context(), protocol.LockGrant{Name: "mute", Holder: "b", Request: "r", TTL: long, Permits: 1, Limit: 1}))
			require.ErrorContains(t, s.Listen(t.Context(), func(string, []string) { t.Error("told") }), "listen: NOPERM")
		}
	})

	t.Run("AServerThatHangsIsNoticed", func(t *testing.T) {
		l := listen(t, openFor(t, connect("app"), redislease.WithTimeout(100*time.Millisecond)))
		l.begins()
		g := l.waitsFor(other, c.nameOn(t, 0, "hangs"), long)
		c.nodes[2].Freeze()
		l.isNotified(other, g)
		time.Sleep(2 * time.Second) // a silent connection is asked after a second
		c.nodes[2].Thaw()
		l.begins()
		l.end()
	})
}
