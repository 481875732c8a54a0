package redislease

import (
	"context"
	"maps"
	"net"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// askSentinel is how often Sentinel is asked which server is the master, since nobody notifies
	// a client of a new one. A master that was replaced may go on answering for as long as Sentinel
	// takes to reach it.
	askSentinel = time.Second

	// sentinelBound is for how long a dial may ask one Sentinel after another.
	sentinelBound = time.Minute
)

// usesSentinel reports whether o are the options of a client made by [redis.NewFailoverClient]. Its
// dialer asks Sentinel for the master each time.
func usesSentinel(o *redis.Options) bool { return o.Addr == "FailoverClient" }

// masterFollower dials the master of the moment, and closes the connections to any other server
// when that is not the one it was.
type masterFollower struct {
	dial dialer

	mu     sync.Mutex
	master string
	conns  map[*followedConn]struct{}
}

func newMasterFollower(dial dialer) *masterFollower {
	return &masterFollower{dial: dial, conns: map[*followedConn]struct{}{}}
}

// followedConn is a connection that its follower may close.
type followedConn struct {
	net.Conn
	masterFollower *masterFollower
}

// Close implements [net.Conn].
func (c *followedConn) Close() error {
	c.masterFollower.mu.Lock()
	delete(c.masterFollower.conns, c)
	c.masterFollower.mu.Unlock()
	return c.Conn.Close()
}

// followedSocket is one that go-redis can ask whether it is dead, before it is used.
type followedSocket struct {
	*followedConn
	syscall.Conn
}

func (f *masterFollower) connect(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := f.dial(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	c := &followedConn{Conn: conn, masterFollower: f}
	for _, stale := range f.add(c) {
		_ = stale.Close()
	}
	if socket, ok := conn.(syscall.Conn); ok {
		return followedSocket{c, socket}, nil
	}
	return c, nil
}

// add returns the connections that c shows to be stale.
func (f *masterFollower) add(c *followedConn) (stale []*followedConn) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if master := c.RemoteAddr().String(); f.master != master {
		f.master = master
		stale = slices.Collect(maps.Keys(f.conns)) // of the one before
	}
	f.conns[c] = struct{}{}
	return stale
}

// follow asks for the master until life ends.
func (f *masterFollower) follow(life context.Context) {
	t := time.NewTicker(askSentinel)
	defer t.Stop()
	for {
		select {
		case <-life.Done():
			return
		case <-t.C:
		}
		if conn, err := f.connect(life, "tcp", ""); err == nil {
			_ = conn.Close()
		}
	}
}

// withinLife lets a dial go on when its caller may not wait any longer. go-redis leaves a Sentinel
// that does not answer only when the dial has waited for it to the end.
func withinLife(life context.Context, dial dialer) dialer {
	type made struct {
		conn net.Conn
		err  error
	}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		done, gone := make(chan made), make(chan struct{})
		defer close(gone)
		go func() {
			ctx, cancel := context.WithTimeout(life, sentinelBound)
			defer cancel()
			conn, err := dial(ctx, network, addr)
			select {
			case done <- made{conn, err}:
			case <-gone:
				if err == nil {
					_ = conn.Close()
				}
			}
		}()
		select {
		case m := <-done:
			return m.conn, m.err
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}
