package stores

import (
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/proxytest"
	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/redislease"
)

// front is the address of a service that moves from one server to another.
type front struct {
	listener net.Listener
	wg       sync.WaitGroup

	mu       sync.Mutex
	upstream string
	conns    map[net.Conn]bool
}

func newFront(t testing.TB, upstream string) *front {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	f := &front{listener: listener, upstream: upstream, conns: map[net.Conn]bool{}}
	f.wg.Go(f.listen)
	t.Cleanup(func() {
		_ = listener.Close()
		f.move("")
		f.wg.Wait()
	})
	return f
}

func (f *front) listen() {
	for {
		client, err := f.listener.Accept()
		if err != nil {
			return
		}
		f.wg.Go(func() { f.carry(client) })
	}
}

func (f *front) carry(client net.Conn) {
	defer func() { _ = client.Close() }()
	f.mu.Lock()
	server, err := net.Dial("tcp", f.upstream)
	if err != nil {
		f.mu.Unlock()
		return
	}
	f.conns[client], f.conns[server] = true, true
	f.mu.Unlock()
	f.wg.Go(func() {
		_, _ = io.Copy(server, client)
		_ = server.Close()
	})
	_, _ = io.Copy(client, server)
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.conns, client)
	delete(f.conns, server)
}

// move breaks all connections; new ones reach another server, or none.
func (f *front) move(upstream string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.upstream = upstream
	for c := range f.conns {
		_ = c.Close()
	}
}

// failingOver is a Redis whose replica takes its place: the link between them fails first, and what
// comes then is lost unless somebody waits for it.
func failingOver(name string, options ...redislease.Option) kit {
	return kit{
		name: name,
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
			f := newFront(t, primary.Addr())
			asked := func() float64 { return scripts(t, primary) }
			return &server{addrs: []string{f.listener.Addr().String()}, requests: asked, failOver: func(before func()) {
				link.Cut()
				before()
				primary.Kill()
				require.NoError(t, admin.ReplicaOf(t.Context(), "NO", "ONE").Err())
				f.move(follower.Addr())
				primary.Restart() // empty
				host, port, err := net.SplitHostPort(follower.Addr())
				require.NoError(t, err)
				require.NoError(t, primary.Client(t).ReplicaOf(t.Context(), host, port).Err())
			}}
		},
		open: func(addrs []string, namespace string) (lease.Store, error) {
			return openRedis(addrs, namespace, options...)
		},
	}
}
