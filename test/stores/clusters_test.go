package stores

import (
	"path/filepath"
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

const clockOfServer = "a test cannot set its server's clock"

var etcd = kit{
	name:   "etcd",
	cannot: map[string]string{failedOver: noFailover, clockStepped: clockOfServer},
	start: func(t testing.TB) *server {
		s, err := servertest.Etcd()
		require.NoError(t, err)
		t.Cleanup(s.Stop)
		must := func(do func() error) func() { return func() { require.NoError(t, do()) } }
		backup, restore := coldBackup(t, filepath.Join(s.Dir, "data"), s.Kill, must(s.Run))
		return &server{
			addrs: []string{s.Addr(0)}, freeze: must(s.Freeze), thaw: must(s.Thaw), kill: s.Kill, restart: must(s.Run),
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
	open: func(addrs []string, namespace string) (lease.Store, error) {
		return etcdlease.Open("etcd://"+addrs[0], namespace)
	},
}

var natsJetStream = kit{
	name:   "NATS",
	cannot: map[string]string{failedOver: noFailover, clockStepped: clockOfServer},
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
	open: func(addrs []string, namespace string) (lease.Store, error) {
		return natslease.Open("nats://"+addrs[0], namespace)
	},
}

var zooKeeper = kit{
	name:   "ZooKeeper",
	cannot: map[string]string{failedOver: noFailover},
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
	open: func(addrs []string, namespace string) (lease.Store, error) {
		return zklease.Open("zk://"+addrs[0], namespace)
	},
}
