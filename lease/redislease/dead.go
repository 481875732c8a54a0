package redislease

import (
	"context"
	"net"
	"syscall"
	"time"
)

// quietly makes a dial that fails look like a connection that fails at once. go-redis writes each
// failed dial to a log which all clients of the process share, many times a second while Redis is
// away. That log is the application's, so it is left alone. The error itself reaches the caller
// either way.
func quietly(dial dialer) dialer {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return deadConn{&dialError{err}}, nil //nolint:nilerr // every call on it returns the error
		}
		return conn, nil
	}
}

// deadConn is a connection on which every call fails with the error of its dial.
type deadConn struct{ err error }

func (c deadConn) Read([]byte) (int, error)         { return 0, c.err }
func (c deadConn) Write([]byte) (int, error)        { return 0, c.err }
func (c deadConn) Close() error                     { return nil }
func (c deadConn) LocalAddr() net.Addr              { return deadAddr{} }
func (c deadConn) RemoteAddr() net.Addr             { return deadAddr{} }
func (c deadConn) SetDeadline(time.Time) error      { return nil }
func (c deadConn) SetReadDeadline(time.Time) error  { return nil }
func (c deadConn) SetWriteDeadline(time.Time) error { return nil }

type deadAddr struct{}

// SyscallConn reports to go-redis, which calls it before it uses an idle connection, that this one
// is dead.
func (c deadConn) SyscallConn() (syscall.RawConn, error) { return nil, c.err }

// dialError is one more layer, since go-redis removes one.
type dialError struct{ err error }

func (e *dialError) Error() string { return e.err.Error() }
func (e *dialError) Unwrap() error { return e.err }

func (deadAddr) Network() string { return "none" }
func (deadAddr) String() string  { return "not connected" }
