package stores

import (
	"testing"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/solotick/solotick/internal/servertest"
	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/etcdlease"
)

var etcd = kit{
	name: "etcd",
	cannot: map[string]string{
		failedOver:   noFailover,
		clockStepped: "its clock is the machine's, which a test cannot set",
	},
	start: func(t testing.TB) *server {
		s, err := servertest.Etcd()
		require.NoError(t, err)
		t.Cleanup(s.Stop)
		must := func(do func() error) func() { return func() { require.NoError(t, do()) } }
		backup, restore := coldBackup(t, s.Dir, s.Kill, must(s.Run))
		return &server{
			addrs: []string{s.Addr(0)}, freeze: must(s.Freeze), thaw: must(s.Thaw), kill: s.Kill, restart: must(s.Run),
			backup: backup, restore: restore,
			empty: func() {
				admin, err := clientv3.New(clientv3.Config{Endpoints: []string{s.Addr(0)}})
				require.NoError(t, err)
				defer func() { require.NoError(t, admin.Close()) }()
				_, err = admin.Delete(t.Context(), "", clientv3.WithFromKey())
				require.NoError(t, err)
			},
		}
	},
	open: func(addrs []string, namespace string) (lease.Store, error) {
		return etcdlease.New(clientv3.Config{Endpoints: addrs}, namespace)
	},
}
