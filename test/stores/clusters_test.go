package stores

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/solotick/solotick/internal/natstest"
	"github.com/solotick/solotick/internal/servertest"
	"github.com/solotick/solotick/internal/zktest"
	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/etcdlease"
	"github.com/solotick/solotick/lease/natslease"
	"github.com/solotick/solotick/lease/zklease"
)

const (
	clockOfServer = "a test cannot set its server's clock"
	anotherLeader = "to another of three servers: the leader is killed, and was alone before, with the two others frozen"
)

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

var etcd = kit{
	name: "etcd", successor: anotherLeader,
	cannot: map[string]string{clockStepped: clockOfServer},
	start: func(t testing.TB) *server {
		s, err := servertest.Etcd()
		require.NoError(t, err)
		t.Cleanup(s.Stop)
		backup, restore := coldBackup(t, filepath.Join(s.Dir, "data"), s.Kill, must(t, s.Run))
		return &server{
			addrs: []string{s.Addr(0)}, freeze: must(t, s.Freeze), thaw: must(t, s.Thaw), kill: s.Kill, restart: must(t, s.Run),
			empty: func() {
				admin, err := clientv3.New(clientv3.Config{Endpoints: []string{s.Addr(0)}})
				require.NoError(t, err)
				_, err = admin.Delete(t.Context(), "\x00", clientv3.WithFromKey())
				require.NoError(t, err)
				require.NoError(t, admin.Close())
			},
			backup: backup, restore: restore,
		}
	},
	replicated: func(t testing.TB) *server {
		members, err := servertest.EtcdCluster()
		require.NoError(t, err)
		var list []member
		for _, m := range members {
			t.Cleanup(m.Stop)
			list = append(list, member{
				addr: m.Addr(0), leads: func() bool { return servertest.EtcdLeader(members) == m },
				freeze: must(t, m.Freeze), thaw: must(t, m.Thaw), kill: m.Kill, restart: must(t, m.Run),
			})
		}
		return cluster(t, list)
	},
	open: func(addrs []string, namespace string) (lease.Store, error) {
		return etcdlease.Open("etcd://"+strings.Join(addrs, ","), namespace)
	},
}

var natsJetStream = kit{
	name: "NATS", successor: anotherLeader,
	cannot: map[string]string{clockStepped: clockOfServer},
	start: func(t testing.TB) *server {
		s := natstest.Start(t)
		backup, restore := coldBackup(t, s.Dir(), s.Kill, s.Restart)
		return &server{
			addrs: []string{s.Addr()}, freeze: s.Freeze, thaw: s.Thaw, kill: s.Kill, restart: s.Restart,
			empty: func() {
				admin, err := jetstream.New(s.Connect(t))
				require.NoError(t, err)
				for name := range admin.StreamNames(t.Context()).Name() {
					require.NoError(t, admin.DeleteStream(t.Context(), name))
				}
			},
			backup: backup, restore: restore,
		}
	},
	replicated: func(t testing.TB) *server {
		servers := natstest.StartCluster(t)
		admin := natstest.Connect(t, natstest.URL(servers...))
		var list []member
		for _, m := range servers {
			list = append(list, member{
				addr: m.Addr(), leads: func() bool { return natstest.Leader(t, admin, "KV_solotick", servers) == m },
				freeze: m.Freeze, thaw: m.Thaw, kill: m.Kill, restart: m.Restart,
			})
		}
		return cluster(t, list)
	},
	open: func(addrs []string, namespace string) (lease.Store, error) {
		return natslease.Open(fmt.Sprintf("nats://%s?replicas=%d", strings.Join(addrs, ","), len(addrs)), namespace)
	},
}

var zooKeeper = kit{
	name: "ZooKeeper", successor: anotherLeader,
	start: func(t testing.TB) *server {
		s := zktest.StartWithClock(t)
		var kept string
		return &server{
			addrs:  []string{s.Addr()},
			freeze: func() { s.Freeze(t) }, thaw: func() { s.Thaw(t) }, kill: s.Kill, restart: func() { s.Restart(t) },
			empty: func() {
				s.Kill()
				time.Sleep(outage)
				s.Restore(t, "")
			},
			backup: func() { kept = s.Backup(t) },
			restore: func() {
				s.Kill()
				time.Sleep(outage)
				s.Restore(t, kept)
			},
			stepClock: func(ahead time.Duration) { s.SetClock(t, ahead) },
		}
	},
	replicated: func(t testing.TB) *server {
		servers := zktest.StartEnsemble(t, 3)
		var list []member
		for _, m := range servers {
			list = append(list, member{
				addr: m.Addr(), leads: func() bool { return zktest.Leader(servers) == m },
				freeze: func() { m.Freeze(t) }, thaw: func() { m.Thaw(t) }, kill: m.Kill, restart: func() { m.Restart(t) },
			})
		}
		return cluster(t, list)
	},
	open: func(addrs []string, namespace string) (lease.Store, error) {
		return zklease.Open("zk://"+strings.Join(addrs, ","), namespace)
	},
}
