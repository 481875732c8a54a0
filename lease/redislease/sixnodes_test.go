package redislease_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/lease/redislease"
)

// sixNodes are a Cluster of three masters with a replica each.
type sixNodes struct {
	*redistest.Cluster
	nodes  []*redistest.Server
	admins []*redis.Client
}

func startSixNodes(t *testing.T) *sixNodes {
	t.Helper()
	c := redistest.StartCluster(t)
	return &sixNodes{c, c.Nodes, c.Admins}
}

func (c *sixNodes) connect() redis.UniversalClient {
	return redis.NewClusterClient(&redis.ClusterOptions{Addrs: c.Addrs()})
}

func (c *sixNodes) masters(but ...int) []int { return c.Masters(but...) }
func (c *sixNodes) settle()                  { c.Settle() }
func (c *sixNodes) reshard(count int)        { c.Reshard(count) }

func (c *sixNodes) failsOver(do func(master *redistest.Server)) *redistest.Server {
	return c.FailOver(do)
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

	moved := int64(slots)
	for i := range keeps {
		slot, err := c.admins[0].ClusterKeySlot(t.Context(), redislease.Key("confirmed", fmt.Sprint("kept", i))).Result()
		require.NoError(t, err)
		moved = min(moved, slot+1) // so that some of the leases move
	}
	require.Less(t, moved, int64(slots/3))
	c.reshard(int(moved))
	goOn()
	kept.held()

	killed := c.failsOver((*redistest.Server).Kill)
	async.goesOn() // what the new master keeps waits for its replica
	killed.Restart()
	c.settle()
	goOn()

	// The server that keeps a lock now notifies its waiters, long before anybody notices that the old
	// one hangs: waiters poll, and so learn which server that is.
	l := listen(t, openFor(t, c.connect(), redislease.WithTimeout(3*time.Second)))
	l.begins()
	channels, err := c.admins[c.masters()[0]].PubSubShardChannels(t.Context(), "solotick:{default/*").Result()
	require.NoError(t, err)
	require.NotEmpty(t, channels)
	name := "heard"
	for i := 0; !slices.Contains(channels, queueChannelOf(name)); i++ {
		name = fmt.Sprint("heard", i)
	}
	frozen := c.failsOver((*redistest.Server).Freeze)
	require.Eventually(t, func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		_, _ = l.ClaimLock(ctx, waiting(lockOf(name, "a", "r", 1, 1)))
		for len(l.notified) > 0 {
			if <-l.notified == "" {
				return true
			}
		}
		return false
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
