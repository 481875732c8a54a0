package etcdlease_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/driver"
	"github.com/solotick/solotick/lease/driver/drivertest"
	"github.com/solotick/solotick/lease/etcdlease"
	"github.com/solotick/solotick/lease/leasetest"
)

// exact returns a store that knows the clock of the shared server: while one comes to know it, its time
// goes ahead in steps.
func exact(t *testing.T) *etcdlease.Store {
	s := open(t, configOf(server(t)))
	require.Eventually(t, func() bool {
		_, _, err := s.Time(t.Context())
		f, factsErr := s.Facts(t.Context())
		return err == nil && factsErr == nil && f.Members[0].Uncertain > 0 && f.Members[0].Uncertain < 20*time.Millisecond
	}, time.Minute, 50*time.Millisecond)
	return s
}

func TestValuesKeepTheContract(t *testing.T) {
	t.Parallel()
	config := configOf(server(t))
	exact := exact(t)
	drivertest.Run(t, func(t *testing.T) driver.Store { return open(t, config).Adopt(exact).Values() })
}

// The cases share the server, each with a prefix of its own.
func TestStoreKeepsTheContract(t *testing.T) {
	config := configOf(server(t))
	admin, err := clientv3.New(config)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, admin.Close()) })
	var prefixes sync.Map
	exact := exact(t)
	leasetest.Run(t, func(t *testing.T) lease.Store {
		name := prefix()
		s := open(t, config, etcdlease.WithPrefix(name)).Adopt(exact)
		prefixes.Store(s, name)
		return s
	},
		leasetest.Within(func(t *testing.T, f func(*testing.T)) { t.Parallel(); f(t) }),
		leasetest.WithTTL(100*time.Millisecond),
		leasetest.WithForget(func(t *testing.T, s lease.Store) {
			name, _ := prefixes.Load(s)
			_, err := admin.Delete(t.Context(), name.(string)+"/", clientv3.WithPrefix())
			require.NoError(t, err)
		}),
		leasetest.WithClockStep(func(_ *testing.T, s lease.Store, d time.Duration) { s.(*etcdlease.Store).Step(d) }))
}

func TestUnusableSettingsAreRefusedTogether(t *testing.T) {
	_, err := etcdlease.New(clientv3.Config{Endpoints: []string{"ftp://h"}}, "a b", etcdlease.WithTimeout(1), etcdlease.WithPrefix("/"), nil)
	for _, part := range []string{`namespace "a b"`, "timeout 1ns", `prefix "/"`, "options[2]", `config.Endpoints[0]: "ftp://h"`} {
		require.ErrorContains(t, err, part)
	}
	for url, part := range map[string]string{
		"etcd://":                 "host 1",
		"etcd://h:1,:2":           "host 2",
		"etcd://user@h":           "must come together",
		"etcd://h?ca_file=x":      "with etcds",
		"etcds://h?ca_file=/none": "ca_file",
		"etcd://u:a%zz@h":         "cannot be read",
		"redis://h":               "must be etcd or etcds",
	} {
		_, err := etcdlease.Open(url, "fleet")
		require.ErrorContains(t, err, part, url)
	}
}

func TestURLNamesMembersUserAndPrefix(t *testing.T) {
	c, prefix, err := etcdlease.Parse("etcd://u:p%2Fw@h,i:4/a/b/")
	require.NoError(t, err)
	require.Equal(t, []string{"h:2379", "i:4"}, c.Endpoints)
	require.Equal(t, []string{"u", "p/w", "a/b"}, []string{c.Username, c.Password, prefix})
	c, _, err = etcdlease.Parse("etcds://[::1]")
	require.NoError(t, err)
	require.Equal(t, []string{"[::1]:2379"}, c.Endpoints)
	require.NotNil(t, c.TLS)
}

func TestFactsNameEveryMember(t *testing.T) {
	t.Parallel()
	s := open(t, configOf(server(t)))
	_, _, err := s.Time(t.Context())
	require.NoError(t, err)
	f, err := s.Facts(t.Context())
	require.NoError(t, err)
	require.Len(t, f.Members, 1)
	m := f.Members[0]
	require.NoError(t, m.Err)
	require.True(t, m.Leader)
	require.False(t, m.TooOld)
	require.NotEmpty(t, m.Version)
	require.Positive(t, m.Size)
	require.Less(t, m.Ahead.Abs(), m.Uncertain+time.Second)
	require.Empty(t, f.Alarms)
}
