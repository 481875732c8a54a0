package stores

import (
	"net"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/proxytest"
	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/redislease"
)

// failingOver is a Redis whose replica takes its place: the link between them fails first, and what
// comes then is lost unless somebody waits for it.
func failingOver(name string, options ...redislease.Option) kit {
	k := kit{
		name: name, successor: "to its replica, which is cut off before",
		cannot: map[string]string{
			serverFrozen: asAlone, serverKilled: asAlone, emptied: asAlone, restored: asAlone, clockStepped: asAlone,
		},
		start: func(t testing.TB) *server {
			primary := redistest.Start(t, redistest.WithConf("repl-diskless-sync-delay", "0"))
			link := proxytest.New(t, primary.Addr())
			follower := redistest.Start(t, redistest.WithReplicaOfAddr(link.Addr()))
			admin := follower.Client(t)
			require.Eventually(t, func() bool {
				role, err := admin.Do(t.Context(), "ROLE").Slice()
				return err == nil && role[0] == "slave" && role[3] == "connected"
			}, patience, 10*time.Millisecond)
			front := proxytest.New(t, primary.Addr())
			asked := func() float64 { return scripts(t, primary) }
			return &server{addrs: []string{front.Addr()}, requests: asked, failOver: func(before func()) {
				link.Cut()
				before()
				primary.Kill()
				require.NoError(t, admin.ReplicaOf(t.Context(), "NO", "ONE").Err())
				front.Move(follower.Addr())
				primary.Restart() // empty
				host, port, err := net.SplitHostPort(follower.Addr())
				require.NoError(t, err)
				require.NoError(t, primary.Client(t).ReplicaOf(t.Context(), host, port).Err())
			}}
		},
		lasting: func(t testing.TB) *server {
			primary := redistest.Start(t, redistest.WithAOF())
			follower := redistest.Start(t, redistest.WithAOF(), redistest.WithReplicaOf(primary))
			return &server{addrs: []string{primary.Addr()}, all: ofRedis(primary, follower)}
		},
		open: func(addrs []string, namespace string) (lease.Store, error) {
			return openRedis(addrs, namespace, options...)
		},
	}
	if len(options) == 0 {
		for _, s := range outages {
			k.cannot[s.fault] = asDurable
		}
	}
	return k
}

const anotherLeader = "to another of three servers: the leader is killed, and was alone before, with the two others frozen"

// member is a server of a cluster that has a leader.
type member struct {
	addr                        string
	leads                       func() bool
	freeze, thaw, kill, restart func()
}

// cluster is a cluster whose leader is alone first, and then lost. It comes back when another leads.
func cluster(t testing.TB, members []member) *server {
	s := new(server)
	for _, m := range members {
		s.addrs = append(s.addrs, m.addr)
	}
	leader := func() (i int) {
		require.Eventually(t, func() bool {
			i = slices.IndexFunc(members, func(m member) bool { return m.leads() })
			return i >= 0
		}, patience, 20*time.Millisecond)
		return i
	}
	s.all = power{
		freeze: each(members, func(m member) { m.freeze() }), thaw: each(members, func(m member) { m.thaw() }),
		kill: each(members, func(m member) { m.kill() }), restart: each(members, func(m member) { m.restart() }),
	}
	s.failOver = func(before func()) {
		first := leader()
		others := slices.Delete(slices.Clone(members), first, first+1)
		for _, m := range others {
			m.freeze()
		}
		before()
		members[first].kill()
		for _, m := range others {
			m.thaw()
		}
		require.NotEqual(t, first, leader())
		members[first].restart()
	}
	return s
}
