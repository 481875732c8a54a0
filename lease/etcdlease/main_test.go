package etcdlease_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/goleak"

	"github.com/solotick/solotick/internal/servertest"
	"github.com/solotick/solotick/lease/etcdlease"
)

func TestMain(m *testing.M) {
	if what := strings.Fields(os.Getenv(asked)); len(what) > 0 {
		if err := contend(what); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	flag.Parse()
	if err := flag.Set("test.parallel", "8"); err != nil { // they wait more than they compute
		panic(err)
	}
	code := m.Run()
	if shared.server != nil {
		shared.server.Stop()
	}
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

var shared struct {
	once   sync.Once
	server *servertest.Server
	err    error
}

// server is one that no test disturbs.
func server(t testing.TB) *servertest.Server {
	t.Helper()
	shared.once.Do(func() { shared.server, shared.err = servertest.Etcd() })
	require.NoError(t, shared.err)
	return shared.server
}

// own starts a server that the test may disturb.
func own(t testing.TB, args ...string) *servertest.Server {
	t.Helper()
	s, err := servertest.Etcd(args...)
	require.NoError(t, err)
	t.Cleanup(s.Stop)
	return s
}

func configOf(servers ...*servertest.Server) (c clientv3.Config) {
	for _, s := range servers {
		c.Endpoints = append(c.Endpoints, s.Addr(0))
	}
	return c
}

// prefix is one that nobody else has.
func prefix() string { return fmt.Sprintf("test-%08x", rand.Uint32()) }

// open opens a store; without a WithPrefix its keys are its own.
func open(t testing.TB, config clientv3.Config, opts ...etcdlease.Option) *etcdlease.Store {
	t.Helper()
	all := append([]etcdlease.Option{etcdlease.WithTimeout(20 * time.Second), etcdlease.WithPrefix(prefix())}, opts...)
	s, err := etcdlease.New(config, "fleet", all...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}
