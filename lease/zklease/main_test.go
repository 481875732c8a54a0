package zklease_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/solotick/solotick/internal/zktest"
	"github.com/solotick/solotick/lease/zklease"
)

// shared is a server that tests share which do nothing to it.
var shared *zktest.Server

// breakable are servers that one test at a time has for itself. It may break them, and leaves them
// serving.
type breakable struct {
	launch func() ([]*zktest.Server, error)

	mu      sync.Mutex
	servers []*zktest.Server // nil before the first test
}

var single = breakable{launch: func() ([]*zktest.Server, error) {
	s, err := zktest.LaunchWithClock()
	return []*zktest.Server{s}, err
}}

var ensemble = breakable{launch: func() ([]*zktest.Server, error) {
	return zktest.LaunchEnsemble(3, "syncLimit=25", "maxSessionTimeout=60000")
}}

func (b *breakable) take(t *testing.T) []*zktest.Server {
	t.Helper()
	b.mu.Lock()
	t.Cleanup(func() {
		if t.Failed() { // it may have left them broken
			b.stop()
		}
		b.mu.Unlock()
	})
	if b.servers == nil {
		servers, err := b.launch()
		require.NoError(t, err)
		b.servers = servers
	}
	return b.servers
}

func (b *breakable) stop() {
	for _, s := range b.servers {
		s.Stop()
	}
	b.servers = nil
}

func TestMain(m *testing.M) {
	if what := strings.Fields(os.Getenv(asked)); len(what) > 0 {
		if err := contend(what); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	flag.Parse()
	err := flag.Set("test.parallel", "6") // they wait more than they compute
	if err != nil {
		panic(err)
	}
	if shared, err = zktest.Launch(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	shared.Stop()
	single.stop()
	ensemble.stop()
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

var namespaces atomic.Int64

// fresh returns a namespace that nobody has used.
func fresh() string { return fmt.Sprintf("fleet-%d", namespaces.Add(1)) }

// open opens a store on a server, in a namespace of the test's own unless that is given.
func open(t testing.TB, addr, namespace string, opts ...zklease.Option) *zklease.Store {
	t.Helper()
	if namespace == "" {
		namespace = fresh()
	}
	s, err := zklease.Open("zk://"+strings.TrimPrefix(addr, "zk://"), namespace, append([]zklease.Option{zklease.WithTimeout(20 * time.Second)}, opts...)...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// connect returns a connection to look inside with.
func connect(t testing.TB, addr string) *zk.Conn {
	t.Helper()
	c, events, err := zk.Connect([]string{addr}, 4*time.Second, zk.WithLogger(silent{}))
	require.NoError(t, err)
	t.Cleanup(func() {
		c.Close()
		for range events {
		}
	})
	return c
}

type silent struct{}

func (silent) Printf(string, ...any) {}

// removeAll removes a node and all below it, in one step.
func removeAll(c *zk.Conn, path string) error {
	ops, err := removals(c, path)
	if err == nil {
		_, err = c.Multi(ops...)
	}
	return err
}

func removals(c *zk.Conn, path string) (ops []any, err error) {
	children, _, err := c.Children(path)
	for _, child := range children {
		if err == nil {
			var below []any
			below, err = removals(c, path+"/"+child)
			ops = append(ops, below...)
		}
	}
	return append(ops, &zk.DeleteRequest{Path: path, Version: -1}), err
}
