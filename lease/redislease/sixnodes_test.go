package redislease_test

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/redislease"
)

// sixNodes are a Cluster of three masters with a replica each.
type sixNodes struct {
	t      *testing.T
	nodes  []*redistest.Server
	admins []*redis.Client
}

func startSixNodes(t *testing.T) *sixNodes {
	t.Helper()
	c := &sixNodes{t: t}
	for range 6 {
		node := redistest.Start(t, redistest.WithConf("cluster-enabled", "yes"), redistest.WithConf("cluster-node-timeout", "500"),
			redistest.WithConf("cluster-replica-validity-factor", "0"), redistest.WithConf("repl-diskless-sync-delay", "0"))
		c.nodes = append(c.nodes, node)
		c.admins = append(c.admins, node.Client(t))
	}
	args := []string{"--cluster", "create"}
	for _, n := range c.nodes {
		args = append(args, n.Addr())
	}
	c.cli(append(args, "--cluster-replicas", "1", "--cluster-yes")...)
	c.settle()
	return c
}

// cli runs redis-cli.
func (c *sixNodes) cli(args ...string) {
	c.t.Helper()
	out, err := exec.CommandContext(c.t.Context(), "redis-cli", args...).CombinedOutput()
	require.NoError(c.t, err, "redis-cli %s: %s", args, out)
}

func (c *sixNodes) connect() redis.UniversalClient {
	o := new(redis.ClusterOptions)
	for _, n := range c.nodes {
		o.Addrs = append(o.Addrs, n.Addr())
	}
	return redis.NewClusterClient(o)
}

// masters are the nodes but for some that take themselves for masters and keep slots.
func (c *sixNodes) masters(but ...int) (masters []int) {
	for i, admin := range c.admins {
		if slices.Contains(but, i) {
			continue
		}
		nodes, err := admin.ClusterNodes(c.t.Context()).Result()
		if myself := strings.Fields(lineWith(nodes, "myself")); err == nil && len(myself) > 8 && strings.Contains(myself[2], "master") {
			masters = append(masters, i)
		}
	}
	return masters
}

func lineWith(text, with string) string {
	for l := range strings.Lines(text) {
		if strings.Contains(l, with) {
			return l
		}
	}
	return ""
}

// settle waits until all nodes are there, agree, and each master has a replica that is in step.
func (c *sixNodes) settle() {
	c.t.Helper()
	require.Eventually(c.t, func() bool {
		for _, admin := range c.admins {
			info, err := admin.ClusterInfo(c.t.Context()).Result()
			if err != nil || !strings.Contains(info, "cluster_state:ok") || !strings.Contains(info, "cluster_known_nodes:6") {
				return false
			}
			nodes, err := admin.ClusterNodes(c.t.Context()).Result()
			if err != nil || strings.Contains(nodes, "fail") || strings.Count(nodes, "slave") != 3 {
				return false
			}
		}
		masters := c.masters()
		for _, i := range masters {
			info, err := c.admins[i].Info(c.t.Context(), "replication").Result()
			if err != nil || !strings.Contains(info, "state=online") {
				return false
			}
		}
		return len(masters) == 3
	}, 40*time.Second, 20*time.Millisecond)
}

// failsOver does something to a master and waits for its replica to take its place.
func (c *sixNodes) failsOver(do func(master *redistest.Server)) *redistest.Server {
	c.t.Helper()
	before := c.masters()
	do(c.nodes[before[0]])
	require.Eventually(c.t, func() bool { return len(c.masters(before[0])) == 3 }, 40*time.Second, 20*time.Millisecond)
	return c.nodes[before[0]]
}

// reshard moves many slots from one master to another with redis-cli, which takes their keys with them one by one.
func (c *sixNodes) reshard(count int) {
	c.t.Helper()
	masters := c.masters()
	id := func(i int) string {
		id, err := c.admins[i].ClusterMyID(c.t.Context()).Result()
		require.NoError(c.t, err)
		return id
	}
	c.cli("--cluster", "reshard", c.nodes[masters[0]].Addr(), "--cluster-from", id(masters[0]), "--cluster-to", id(masters[1]),
		"--cluster-slots", fmt.Sprint(count), "--cluster-yes")
}

func TestClusterFailoversAndMovedSlotsUnderLoad(t *testing.T) {
	t.Parallel()
	c := startSixNodes(t)
	async := startLoad(t, c.connect, "async")
	confirmed := startLoad(t, c.connect, "confirmed", redislease.WithReplicas(1))
	goOn := func() { async.goesOn(); confirmed.goesOn() }
	goOn()
	const keeps = 40
	kept := keep(t, confirmed.stores[0], keeps)

	const moved = 1000
	some := false
	for i := range keeps {
		slot, err := c.admins[0].ClusterKeySlot(t.Context(), fmt.Sprintf("solotick:{confirmed:kept%d}", i)).Result()
		require.NoError(t, err)
		some = some || slot < moved
	}
	require.True(t, some, "what is moved has to be held")
	c.reshard(moved)
	goOn()
	kept.held()

	killed := c.failsOver((*redistest.Server).Kill)
	async.goesOn() // what the new master keeps waits for its replica
	killed.Restart()
	c.settle()
	goOn()

	// Of what a server that hangs has kept is told where it is kept now, long before its silence is noticed: who waits asks,
	// and so learns where that is.
	l := listen(t, openFor(t, c.connect(), redislease.WithTimeout(3*time.Second)))
	claims := make(map[string]lease.Claim)
	for i := range 20 {
		name := fmt.Sprint("heard", i)
		claims["solotick:{default:"+name+"}:told"] = waiting(lockOf(name, "a", "r", 1, 1))
		lockGranted(t, l, waiting(lockOf(name, "a", "r", 1, 1)))
		require.Equal(t, name, l.next(name))
	}
	channels, err := c.admins[c.masters()[0]].PubSubShardChannels(t.Context(), "solotick:{default:*").Result()
	require.NoError(t, err)
	require.NotEmpty(t, channels)
	frozen := c.failsOver((*redistest.Server).Freeze)
	anew := make(map[string]bool)
	require.Eventually(t, func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		_, _ = l.Claim(ctx, claims[channels[0]])
		for len(l.told) > 0 {
			anew["solotick:{default:"+<-l.told+"}:told"] = true
		}
		return !slices.ContainsFunc(channels, func(c string) bool { return !anew[c] })
	}, 20*time.Second, 20*time.Millisecond)
	l.end()
	async.goesOn()
	frozen.Thaw()
	c.settle()
	goOn()

	kept.settle()
	async.end()
	confirmed.end()
	async.tokensRise(t)
	confirmed.tokensRise(t)
	t.Logf("async: %d grants, %d overlaps; confirmed: %d grants", async.grants(), len(async.overlaps()), confirmed.grants())
	require.Empty(t, confirmed.overlaps())
	confirmed.neverAgain(t)
}
