package benchmarks

import (
	"bytes"
	"context"
	"net"
	"strconv"
	"sync/atomic"
)

// wire counts the commands that its connections send, for clients of every make.
type wire struct{ sent atomic.Int64 }

func (w *wire) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	c, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return &countedConn{Conn: c, wire: w}, nil
}

// countedConn follows the written bytes just enough to know where commands begin: *N, and then N
// times $LENGTH and so many bytes, each with a line end behind it. It is written to by one
// goroutine at a time.
type countedConn struct {
	net.Conn
	wire *wire
	line []byte // what has come of a header
	skip int    // bytes of an argument that are still to come
}

// Write implements net.Conn.
func (c *countedConn) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		if c.skip > 0 {
			n := min(c.skip, len(rest))
			c.skip -= n
			rest = rest[n:]
			continue
		}
		end := bytes.IndexByte(rest, '\n')
		if end < 0 {
			c.line = append(c.line, rest...)
			break
		}
		header := append(c.line, rest[:end]...)
		c.line, rest = c.line[:0], rest[end+1:]
		switch header[0] {
		case '*':
			c.wire.sent.Add(1)
		case '$':
			length, _ := strconv.Atoi(string(bytes.TrimSpace(header[1:])))
			c.skip = length + 2
		}
	}
	return c.Conn.Write(p)
}
