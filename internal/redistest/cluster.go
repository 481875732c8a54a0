package redistest

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// settleBound is for how long a Cluster or Sentinels may take to agree, on a loaded machine.
const settleBound = 60 * time.Second

// Cluster is a Redis Cluster of three masters with a replica each.
type Cluster struct {
	Nodes  []*Server
	Admins []*redis.Client // one for each node, which may do everything

	t testing.TB
}

// StartCluster starts a Cluster, each server with opts, and returns when all six agree. They take a
// master for lost after 1.5 s: much less, and a busy machine loses masters that are well.
func StartCluster(t testing.TB, opts ...Option) *Cluster {
	t.Helper()
	c := &Cluster{t: t}
	opts = append([]Option{
		WithConf("cluster-enabled", "yes"), WithConf("cluster-node-timeout", "1500"),
		WithConf("cluster-replica-validity-factor", "0"), WithConf("repl-diskless-sync-delay", "0"),
	}, opts...)
	for range 6 {
		node := Start(t, opts...)
		c.Nodes = append(c.Nodes, node)
		c.Admins = append(c.Admins, node.Client(t))
	}
	c.CLI(append(append([]string{"--cluster", "create"}, c.Addrs()...), "--cluster-replicas", "1", "--cluster-yes")...)
	c.Settle()
	return c
}

// Addrs are the addresses of all six.
func (c *Cluster) Addrs() (addrs []string) {
	for _, n := range c.Nodes {
		addrs = append(addrs, n.Addr())
	}
	return addrs
}

// CLI runs redis-cli, as a user who may do everything.
func (c *Cluster) CLI(args ...string) {
	c.t.Helper()
	args = append([]string{"--user", admin, "--pass", admin, "--no-auth-warning"}, args...)
	if out, err := exec.CommandContext(c.t.Context(), "redis-cli", args...).CombinedOutput(); err != nil {
		c.t.Fatalf("redis-cli %s: %v: %s", args, err, out)
	}
}

// Masters are the indices of the nodes, but for some, that take themselves for masters and keep
// slots.
func (c *Cluster) Masters(but ...int) (masters []int) {
	for i, admin := range c.Admins {
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

// Settle waits until all nodes are there, agree, and each master has a replica that is in step.
func (c *Cluster) Settle() {
	c.t.Helper()
	c.await("the Cluster does not settle", func() bool {
		for _, admin := range c.Admins {
			info, err := admin.ClusterInfo(c.t.Context()).Result()
			if err != nil || !strings.Contains(info, "cluster_state:ok") || !strings.Contains(info, "cluster_known_nodes:6") {
				return false
			}
			nodes, err := admin.ClusterNodes(c.t.Context()).Result()
			if err != nil || strings.Contains(nodes, "fail") || strings.Count(nodes, "slave") != 3 {
				return false
			}
		}
		masters := c.Masters()
		for _, i := range masters {
			info, err := c.Admins[i].Info(c.t.Context(), "replication").Result()
			if err != nil || !strings.Contains(info, "state=online") {
				return false
			}
		}
		return len(masters) == 3
	})
}

// FailOver does something to a master, waits for its replica to take its place, and returns the old
// master.
func (c *Cluster) FailOver(do func(master *Server)) *Server {
	c.t.Helper()
	before := c.Masters()
	do(c.Nodes[before[0]])
	c.await("no replica is promoted", func() bool { return len(c.Masters(before[0])) == 3 })
	return c.Nodes[before[0]]
}

// Reshard moves count slots from one master to another with redis-cli, which takes their keys with
// them one by one.
func (c *Cluster) Reshard(count int) {
	c.t.Helper()
	masters := c.Masters()
	id := func(i int) string {
		id, err := c.Admins[i].ClusterMyID(c.t.Context()).Result()
		if err != nil {
			c.t.Fatalf("ask a node for its id: %v", err)
		}
		return id
	}
	c.CLI("--cluster", "reshard", c.Nodes[masters[0]].Addr(), "--cluster-from", id(masters[0]), "--cluster-to", id(masters[1]),
		"--cluster-slots", fmt.Sprint(count), "--cluster-yes")
	// A replica that is promoted before it knows of the last slots never serves them.
	c.await("the nodes do not agree whose the slots are", func() bool {
		owners := map[string]bool{}
		for _, admin := range c.Admins {
			owners[slotOwners(admin.ClusterNodes(c.t.Context()).Val())] = true
		}
		return len(owners) == 1
	})
}

// slotOwners returns, in order, each master's id and slots out of what CLUSTER NODES answers.
func slotOwners(nodes string) string {
	var owners []string
	for l := range strings.Lines(nodes) {
		if f := strings.Fields(l); len(f) > 8 {
			owners = append(owners, fmt.Sprint(f[0], f[8:]))
		}
	}
	slices.Sort(owners)
	return strings.Join(owners, "\n")
}

// await waits until done, and says what each node knows of the others when that takes too long.
func (c *Cluster) await(failure string, done func() bool) {
	c.t.Helper()
	if holdsInTime(done) {
		return
	}
	for i, admin := range c.Admins {
		nodes, err := admin.ClusterNodes(c.t.Context()).Result()
		c.t.Logf("%s: %v\n%s", c.Nodes[i].Addr(), err, nodes)
	}
	c.t.Fatalf("%s in %s", failure, settleBound)
}

// await waits until done.
func await(t testing.TB, failure string, done func() bool) {
	t.Helper()
	if !holdsInTime(done) {
		t.Fatalf("%s in %s", failure, settleBound)
	}
}

func holdsInTime(done func() bool) bool {
	for end := time.Now().Add(settleBound); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

// Connect makes a client of the Cluster, which may do everything, and is closed at the end of t.
func (c *Cluster) Connect(t testing.TB) *redis.ClusterClient {
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: c.Addrs(), Username: admin, Password: admin})
	t.Cleanup(func() { _ = client.Close() })
	return client
}
