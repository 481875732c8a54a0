// Package proxytest is a TCP proxy between a client and a Redis server, for tests. It delays,
// holds, swallows and cuts what passes, loses replies, and counts the commands.
//
// It does to a connection what a network does, with two differences. A connection is always
// accepted, because that is the kernel's work, not the proxy's; one that cannot be carried on is
// reset at once. And a fault takes effect on bytes that the proxy has not passed on yet. Bytes that
// were on their way when the fault began may still arrive.
package proxytest

import (
	"context"
	"net"
	"sync"
	"testing"
)

// Proxy listens on a loopback address and carries each connection to one upstream address. It
// starts healthy. All methods are safe for concurrent use.
type Proxy struct {
	listener net.Listener
	ctx      context.Context // the test's
	wg       sync.WaitGroup  // of every goroutine of the proxy

	mu       sync.Mutex
	upstream string
	closed   bool
	conns    map[*conn]struct{}
	faults   faults
	counts   counts
}

// New starts a proxy in front of upstream, host:port, which need not answer yet. It ends, with all
// its connections, at the end of t.
func New(t testing.TB, upstream string) *Proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("proxy: %v", err)
	}
	p := &Proxy{
		upstream: upstream,
		listener: listener,
		ctx:      t.Context(),
		conns:    make(map[*conn]struct{}),
		faults:   faults{changed: make(chan struct{})},
		counts:   newCounts(),
	}
	p.wg.Go(p.listen)
	t.Cleanup(func() {
		_ = listener.Close()
		p.mu.Lock()
		p.closed = true
		p.mu.Unlock()
		p.resetConns(func(*conn) bool { return true })
		p.wg.Wait()
	})
	return p
}

// Addr returns the host:port that clients dial. It stays the same whatever the faults.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Move resets all connections, and carries new ones to another upstream, as when the name of a service
// comes to lead to another server.
func (p *Proxy) Move(upstream string) {
	p.mu.Lock()
	p.upstream = upstream
	p.mu.Unlock()
	p.resetConns(func(*conn) bool { return true })
}

func (p *Proxy) listen() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.wg.Go(func() { p.connect(client.(*net.TCPConn)) })
	}
}

func (p *Proxy) connect(client *net.TCPConn) {
	p.mu.Lock()
	p.counts.connections++
	upstream := p.upstream
	p.mu.Unlock()
	server, err := new(net.Dialer).DialContext(p.ctx, "tcp", upstream)
	if err != nil {
		reset(client)
		return
	}
	c := newConn(p, client, server.(*net.TCPConn))
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.faults.cut || p.upstream != upstream {
		c.resetEnds()
		return
	}
	p.conns[c] = struct{}{}
	c.startLocked()
}

// resetConns resets the connections that match picks, which is called with mu held.
func (p *Proxy) resetConns(match func(*conn) bool) {
	var picked []*conn
	p.mu.Lock()
	for c := range p.conns {
		if match(c) {
			picked = append(picked, c)
		}
	}
	p.mu.Unlock()
	for _, c := range picked {
		c.close(true)
	}
}
