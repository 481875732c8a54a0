package stores

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/natstest"
	"github.com/solotick/solotick/internal/servertest"
	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/etcdlease"
	"github.com/solotick/solotick/lease/natslease"
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
				s.Kill()
				require.NoError(t, s.Empty())
				require.NoError(t, s.Run())
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
				s.Kill()
				require.NoError(t, os.RemoveAll(s.Dir()))
				s.Restart()
			},
			backup: backup, restore: restore,
		}
	},
	open: func(addrs []string, namespace string) (lease.Store, error) {
		return natslease.Open("nats://"+addrs[0], namespace)
	},
}
