package redislease_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/lease/leasetest"
	"github.com/solotick/solotick/lease/redislease"
)

// cluster is a Redis Cluster of three masters.
type cluster struct {
	nodes  []*redistest.Server
	admins []*redis.Client
}

const slots = 16384

func startCluster(t *testing.T, opts ...redistest.Option) *cluster {
	t.Helper()
	c := new(cluster)
	for range 3 {
		node := redistest.Start(t, append(opts, redistest.WithConf("cluster-enabled", "yes"))...)
		c.nodes = append(c.nodes, node)
		c.admins = append(c.admins, node.Client(t))
	}
	host, port, err := net.SplitHostPort(c.nodes[0].Addr())
	require.NoError(t, err)
	for i, admin := range c.admins {
		require.NoError(t, admin.ClusterAddSlotsRange(t.Context(), i*slots/3, (i+1)*slots/3-1).Err())
		require.NoError(t, admin.ClusterMeet(t.Context(), host, port).Err())
	}
	for _, admin := range c.admins {
		require.Eventually(t, func() bool {
			info, err := admin.ClusterInfo(t.Context()).Result()
			return err == nil && strings.Contains(info, "cluster_state:ok") && strings.Contains(info, fmt.Sprintf("cluster_slots_ok:%d", slots))
		}, 30*time.Second, 10*time.Millisecond)
	}
	return c
}

func (c *cluster) options() *redis.ClusterOptions {
	o := new(redis.ClusterOptions)
	for _, n := range c.nodes {
		o.Addrs = append(o.Addrs, n.Addr())
	}
	return o
}

// nodeOf is the number of the node that keeps the record of a name of the default namespace.
func (c *cluster) nodeOf(t *testing.T, name string) int {
	t.Helper()
	return c.nodeOfKey(t, redislease.Key("default", name))
}

func (c *cluster) nodeOfKey(t *testing.T, key string) int {
	t.Helper()
	slot, err := c.admins[0].ClusterKeySlot(t.Context(), key).Result()
	require.NoError(t, err)
	for i := range c.nodes {
		if slot < int64((i+1)*slots/3) {
			return i
		}
	}
	return -1
}

func TestStoreOnCluster(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	leasetest.Run(t,
		func(t *testing.T) protocol.Store {
			return openFor(t, redis.NewClusterClient(c.options()))
		},
		leasetest.WithForget(func(*testing.T, protocol.Store) {
			for _, n := range c.nodes {
				n.Flush()
			}
		}))
}

func TestFrozenClusterNodeHarmsOnlyItsOwnLeases(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	s := openFor(t, redis.NewClusterClient(c.options()), redislease.WithTimeout(time.Second))
	var grants []protocol.Grant
	var nodes []int
	for i := range 300 {
		name := fmt.Sprintf("lock%d", i)
		grants = append(grants, granted(t, s, claimOf(name, 0, "a", "r")))
		nodes = append(nodes, c.nodeOf(t, name))
	}
	for n := range c.nodes {
		require.Contains(t, nodes, n)
	}
	c.nodes[1].Freeze()
	began := time.Now()
	for i, err := range s.Renew(t.Context(), grants) {
		if nodes[i] == 1 {
			require.Error(t, err)
			require.NotErrorIs(t, err, protocol.ErrFenced)
		} else {
			require.NoError(t, err, grants[i].Name)
		}
	}
	require.Less(t, time.Since(began), time.Second+patience)
	for i, name := range []string{"lock1", "lock2", "lock3", "lock4", "lock5"} { // nor do claims wait for the others
		_, err := s.Claim(t.Context(), claimOf(name, 0, "b", "r"))
		require.Equal(t, nodes[i+1] == 1, err != nil, name)
	}
	c.nodes[1].Thaw()
	require.Eventually(t, func() bool {
		for _, err := range s.Renew(t.Context(), grants) {
			if err != nil {
				return false
			}
		}
		return true
	}, 20*time.Second, 10*time.Millisecond)
}

// A slot that has moved is found again, by single calls and by renewals of many.
func TestOnClusterAMovedSlotIsFound(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	s := openFor(t, redis.NewClusterClient(c.options()))
	synced(t, s, "job")
	g, lock := granted(t, s, claimOf("job", 100, "a", "r")), granted(t, s, claimOf("lock", 0, "a", "r"))
	from := c.nodeOf(t, "job")
	to := (from + 1) % 3
	slot, err := c.admins[0].ClusterKeySlot(t.Context(), redislease.Key("default", "job")).Result()
	require.NoError(t, err)
	found := func() {
		for _, err := range s.Renew(t.Context(), []protocol.Grant{g, lock}) {
			require.NoError(t, err)
		}
		require.Equal(t, g.Token, granted(t, s, claimOf("job", 100, "a", "r")).Token)
	}
	c.move(t, slot, from, to, func(remaining int) {
		if remaining == 0 {
			found()
		}
	})
	found()
	require.NoError(t, s.Settle(t.Context(), g, "succeeded"))
}

// move gives a slot and its keys to another node, and calls underway after each key, with the number
// of those that remain.
func (c *cluster) move(t *testing.T, slot int64, from, to int, underway func(remaining int)) {
	t.Helper()
	ctx := t.Context()
	id := func(node int) string {
		id, err := c.admins[node].ClusterMyID(ctx).Result()
		require.NoError(t, err)
		return id
	}
	do := func(node int, args ...any) {
		require.NoError(t, c.admins[node].Do(ctx, args...).Err())
	}
	do(to, "cluster", "setslot", slot, "importing", id(from))
	do(from, "cluster", "setslot", slot, "migrating", id(to))
	keys, err := c.admins[from].ClusterGetKeysInSlot(ctx, int(slot), 1000).Result()
	require.NoError(t, err)
	require.NotEmpty(t, keys)
	host, port, err := net.SplitHostPort(c.nodes[to].Addr())
	require.NoError(t, err)
	for i, key := range keys {
		do(from, "migrate", host, port, key, 0, 5000)
		underway(len(keys) - 1 - i)
	}
	for _, node := range []int{to, from, 3 - to - from} {
		do(node, "cluster", "setslot", slot, "node", id(to))
	}
}

func TestUnansweredCallReturnsOnCluster(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	for how, l := range limits {
		t.Run(how, func(t *testing.T) {
			s := openFor(t, redis.NewClusterClient(c.options()), redislease.WithTimeout(l.timeout))
			_, _, err := s.Time(context.Background())
			require.NoError(t, err)
			for _, n := range c.nodes {
				n.Freeze()
			}
			failsWithin(t, s, l.limit, l.newCtx)
			fresh := openFor(t, redis.NewClusterClient(c.options()), redislease.WithTimeout(l.timeout))
			failsWithin(t, fresh, l.limit, l.newCtx)
			for _, n := range c.nodes {
				n.Thaw()
			}
		})
	}
}

func TestFailoverOfClusterIsFollowed(t *testing.T) {
	t.Parallel()
	const nodeTimeout = 500 * time.Millisecond
	fast := redistest.WithConf("cluster-node-timeout", fmt.Sprint(nodeTimeout.Milliseconds()))
	partial := redistest.WithConf("cluster-require-full-coverage", "no")
	c := startCluster(t, fast, partial)
	master := 0
	c.addReplica(t, master, fast, partial)
	s := openFor(t, redis.NewClusterClient(c.options()), redislease.WithTimeout(time.Second))
	name := "job"
	for i := 0; c.nodeOf(t, name) != master; i++ {
		name = fmt.Sprint("job", i)
	}
	synced(t, s, name)
	l := listen(t, openFor(t, redis.NewClusterClient(c.options())))
	l.begins()
	here, there := l.waitsFor(s, c.nameOn(t, master, "here"), long), l.waitsFor(s, c.nameOn(t, master+1, "there"), long)
	g := granted(t, s, claimOf(name, 100, "a", "r"))
	require.NoError(t, c.admins[master].Do(t.Context(), "wait", 1, 5000).Err())
	later := granted(t, s, claimOf(name, 101, "a", "r")) // may have reached the replica or not
	c.nodes[master].Kill()
	l.isNotified(s, there) // while there is no other
	l.begins()
	require.Eventually(t, func() bool {
		errs := s.Renew(t.Context(), []protocol.Grant{g, later})
		return errs[0] == nil && errs[1] == nil && lockRenewed(s, t.Context(), here) == nil
	}, 30*time.Second, 20*time.Millisecond)
	l.isNotified(s, here)
	l.end()
	require.NoError(t, s.Settle(t.Context(), later, "succeeded"))
	// The replica may not even have had the record's watermark: then nobody is granted anything before
	// it is made again.
	a, err := s.Claim(t.Context(), claimOf(name, 101, "b", "r"))
	require.NoError(t, err)
	if a.Status == protocol.Unknown {
		_, err = s.Sync(t.Context(), []protocol.Sync{{Name: name}})
		require.NoError(t, err)
		a, err = s.Claim(t.Context(), claimOf(name, 101, "b", "r"))
		require.NoError(t, err)
	}
	require.Equal(t, protocol.Decided, a.Status)
	require.Greater(t, granted(t, s, claimOf(name, 102, "b", "r")).Token, later.Token)
}

func (c *cluster) addReplica(t *testing.T, master int, opts ...redistest.Option) {
	t.Helper()
	replica := redistest.Start(t, append(opts, redistest.WithConf("cluster-enabled", "yes"),
		redistest.WithConf("repl-diskless-sync-delay", "0"))...).Client(t)
	host, port, err := net.SplitHostPort(c.nodes[master].Addr())
	require.NoError(t, err)
	require.NoError(t, replica.ClusterMeet(t.Context(), host, port).Err())
	id, err := c.admins[master].ClusterMyID(t.Context()).Result()
	require.NoError(t, err)
	require.Eventually(t, func() bool { return replica.ClusterReplicate(t.Context(), id).Err() == nil },
		20*time.Second, 10*time.Millisecond)
	require.Eventually(t, func() bool {
		info, err := replica.InfoMap(t.Context(), "replication").Result()
		return err == nil && info["Replication"]["master_link_status"] == "up"
	}, 20*time.Second, 10*time.Millisecond)
	// All masters have to know it, for they vote.
	for _, admin := range c.admins {
		require.Eventually(t, func() bool {
			nodes, err := admin.ClusterNodes(t.Context()).Result()
			return err == nil && strings.Contains(nodes, "slave "+id)
		}, 20*time.Second, 10*time.Millisecond)
	}
}
