package stores

import (
	"context"
	"maps"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/redislease"
)

// announced are the addresses of servers that clients learn from each other, and, behind them, their
// ports: a replica knows by these which of its proxies leads to which server.
func announced(servers []*redistest.Server) (addrs []string) {
	var ports []string
	for _, s := range servers {
		_, port, _ := net.SplitHostPort(s.Addr())
		addrs, ports = append(addrs, s.Addr()), append(ports, port)
	}
	return append(addrs, ports...)
}

// through returns the addresses of what announced returned, and a dialer that takes the proxy of a
// server where there is one.
func through(addrs []string) ([]string, func(ctx context.Context, network, addr string) (net.Conn, error)) {
	n := len(addrs) / 2
	ways := map[string]string{}
	for i, port := range addrs[n:] {
		ways[port] = addrs[i]
	}
	return addrs[:n], func(ctx context.Context, network, addr string) (net.Conn, error) {
		if _, port, err := net.SplitHostPort(addr); err == nil && ways[port] != "" {
			addr = ways[port]
		}
		return (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, network, addr)
	}
}

const sentinels = 3

var redisSentinel = kit{
	name: "Redis Sentinel, wait_replicas: 2", successor: "to one of two replicas; both were frozen before",
	cannot: map[string]string{restored: asAlone, clockStepped: asAlone},
	start: func(t testing.TB) *server {
		w := redistest.StartWatched(t, []redistest.Option{redistest.WithAOF()}, nil)
		everyone := append(slices.Collect(maps.Values(w.Servers)), w.Sentinels...)
		var one *redistest.Server
		master := func() *redistest.Server {
			one = w.Master()
			return one
		}
		s := &server{
			addrs: announced(everyone), all: ofRedis(everyone...), settle: w.Settle,
			freeze: func() { master().Freeze() }, thaw: func() { one.Thaw() },
			kill: func() { master().Kill() }, restart: func() { one.Restart() },
			empty: func() { master().Flush() },
		}
		s.failOver = func(before func()) {
			first := master()
			var replicas []*redistest.Server
			for _, r := range w.Servers {
				if r != first {
					replicas = append(replicas, r)
				}
			}
			others := ofRedis(replicas...)
			others.freeze()
			before()
			w.FailOver(func(*redistest.Server) {
				first.Kill()
				others.thaw()
			})
			first.Restart()
		}
		return s
	},
	open: func(addrs []string, namespace string) (lease.Store, error) {
		addrs, dial := through(addrs)
		return redislease.New(redis.NewFailoverClient(&redis.FailoverOptions{
			MasterName: redistest.MasterName, SentinelAddrs: addrs[len(addrs)-sentinels:], Dialer: dial,
		}), namespace, redislease.WithReplicas(2)) // all: with one of them Sentinel may promote the other
	},
}

var redisCluster = kit{
	name: "Redis Cluster, wait_replicas: 1", successor: "one of three masters to its replica; all replicas were frozen before",
	cannot: map[string]string{restored: asAlone, clockStepped: asAlone},
	start: func(t testing.TB) *server {
		c := redistest.StartCluster(t, redistest.WithAOF())
		var one *redistest.Server
		master := func() *redistest.Server {
			one = c.Nodes[c.Masters()[0]]
			return one
		}
		return &server{
			addrs: announced(c.Nodes), all: ofRedis(c.Nodes...), settle: c.Settle,
			freeze: func() { master().Freeze() }, thaw: func() { one.Thaw() },
			kill: func() { master().Kill() }, restart: func() { one.Restart() },
			empty: func() {
				for _, i := range c.Masters() {
					c.Nodes[i].Flush()
				}
			},
			failOver: func(before func()) {
				masters := c.Masters()
				var replicas []*redistest.Server
				for i, n := range c.Nodes {
					if !slices.Contains(masters, i) {
						replicas = append(replicas, n)
					}
				}
				others := ofRedis(replicas...)
				others.freeze()
				before()
				c.Nodes[masters[0]].Kill()
				others.thaw()
				require.Eventually(t, func() bool { return len(c.Masters(masters[0])) == 3 }, patience, 20*time.Millisecond)
				c.Nodes[masters[0]].Restart()
			},
		}
	},
	open: func(addrs []string, namespace string) (lease.Store, error) {
		addrs, dial := through(addrs)
		return redislease.New(redis.NewClusterClient(&redis.ClusterOptions{Addrs: addrs, Dialer: dial}), namespace, redislease.WithReplicas(1))
	},
}
