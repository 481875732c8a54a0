package daemon

import (
	"container/list"
	"context"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"
)

const (
	// maxConnections is how many connections the server has at most, and descriptorShare the part of
	// the process's file descriptors: runs and the store need theirs.
	maxConnections  = 2500
	descriptorShare = 4
	// fullInterval is the time between two lines of the log that say there are too many.
	fullInterval = time.Minute
)

// connections bounds those of the server. A new one takes the place of the one that has waited
// longest without a request in progress; where each has one, the new one is closed. It is safe for
// concurrent use.
type connections struct {
	most   int
	logger *slog.Logger

	mu   sync.Mutex
	open *list.List // of *connection; the one that was used last is last
	said time.Time
}

// connection is one of them.
type connection struct {
	net.Conn
	of      *connections
	element *list.Element // nil once it is closed
	serving bool          // a request is in progress
}

func newConnections(logger *slog.Logger) *connections {
	return &connections{most: connectionLimit(), logger: logger, open: list.New()}
}

// connectionLimit is the limit that follows from the process's file descriptors.
func connectionLimit() int {
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		return maxConnections
	}
	return int(min(maxConnections, max(files.Cur/descriptorShare, 1)))
}

// listener accepts connections within the bound.
type listener struct {
	net.Listener
	conns *connections
}

// Accept implements [net.Listener].
func (l listener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if c := l.conns.add(conn); c != nil {
			return c, nil
		}
		_ = conn.Close() // nobody has used it
	}
}

// add makes room for a connection; it returns nil where there is none.
func (c *connections) add(conn net.Conn) *connection {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open.Len() >= c.most {
		if now := time.Now(); now.Sub(c.said) >= fullInterval {
			c.said = now
			c.logger.Warn("too many HTTP connections; those that ask for nothing are closed", slog.Int("connections", c.most))
		}
		idle := c.open.Front()
		for idle != nil && idle.Value.(*connection).serving {
			idle = idle.Next()
		}
		if idle == nil {
			return nil
		}
		_ = idle.Value.(*connection).closeLocked()
	}
	made := &connection{Conn: conn, of: c}
	made.element = c.open.PushBack(made)
	return made
}

// Close implements [net.Conn].
func (c *connection) Close() error {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	return c.closeLocked()
}

func (c *connection) closeLocked() error {
	if c.element != nil {
		c.of.open.Remove(c.element)
		c.element = nil
	}
	return c.Conn.Close()
}

// set says whether a request is in progress.
func (c *connection) set(serving bool) {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	c.serving = serving
	if c.element != nil {
		c.of.open.MoveToBack(c.element)
	}
}

type connectionKey struct{}

// withConnection makes the connection known to the requests on it.
func withConnection(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, conn)
}

// marked marks the connections on which a request is in progress.
func marked(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, ok := r.Context().Value(connectionKey{}).(*connection); ok {
			c.set(true)
			defer c.set(false)
		}
		handler.ServeHTTP(w, r)
	})
}
