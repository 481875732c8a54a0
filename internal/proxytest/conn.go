package proxytest

import (
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// conn carries one client's connection. For each direction one goroutine reads and another
// delivers, so that latency does not limit how much is under way.
type conn struct {
	proxy *Proxy
	ends  [directions]*net.TCPConn // by the direction that is read from it: the client, the server
	done  chan struct{}            // closed with the connection
	once  sync.Once

	dialogue dialogue

	// guarded by Proxy.mu
	holed    [directions]bool // bytes of this direction were swallowed
	finished int              // directions that have delivered their end
}

// parcel is the result of one read: bytes, or the reason why there will be no more.
type parcel struct {
	read  time.Time
	bytes []byte
	end   error
}

func newConn(p *Proxy, client, server *net.TCPConn) *conn {
	return &conn{
		proxy: p,
		ends:  [directions]*net.TCPConn{Requests: client, Replies: server},
		done:  make(chan struct{}),
	}
}

func (c *conn) startLocked() {
	for d := range Direction(directions) {
		// With the sockets' own buffers this bounds what a partition holds, as the buffers of a
		// network do.
		parcels := make(chan parcel, 64)
		c.proxy.wg.Go(func() { c.receive(d, parcels) })
		c.proxy.wg.Go(func() { c.deliver(d, parcels) })
	}
}

func (c *conn) receive(d Direction, parcels chan<- parcel) {
	for {
		buf := make([]byte, 32<<10)
		n, err := c.ends[d].Read(buf)
		now := time.Now()
		if n > 0 {
			c.arrive(d, n)
			if d == Requests {
				c.count(buf[:n])
			}
		}
		select {
		case parcels <- parcel{read: now, bytes: buf[:n], end: err}:
		case <-c.done:
			return
		}
		if err != nil {
			return
		}
	}
}

// arrive counts bytes, and decides at once whether they are lost. A test that sees them counted, or
// the command in them, then knows what became of them.
func (c *conn) arrive(d Direction, n int) {
	c.proxy.mu.Lock()
	defer c.proxy.mu.Unlock()
	c.proxy.counts.bytes[d] += int64(n)
	c.holed[d] = c.holed[d] || c.proxy.faults.lines[d].swallow
}

// count counts the commands that a client has sent, whether or not they will reach the server.
func (c *conn) count(p []byte) {
	commands, roundTrips := c.dialogue.requests(p)
	c.proxy.countCommands(commands, roundTrips)
}

func (c *conn) deliver(d Direction, parcels <-chan parcel) {
	for {
		var next parcel
		select {
		case next = <-parcels:
		case <-c.done:
			return
		}
		switch c.await(d, next.read) {
		case closed:
			return
		case swallowed:
			continue
		case due:
		}
		if !c.pass(d, next.bytes) {
			return
		}
		switch {
		case next.end == nil:
		case errors.Is(next.end, io.EOF):
			c.finish(d)
			return
		default:
			c.close(true)
			return
		}
	}
}

type fate int

const (
	due       fate = iota // to be delivered now
	swallowed             // never to be delivered
	closed                // overtaken by the end of the connection
)

// await waits until a parcel is due under the faults of the moment, which may change meanwhile.
func (c *conn) await(d Direction, read time.Time) fate {
	for {
		c.proxy.mu.Lock()
		line, changed := c.proxy.faults.lines[d], c.proxy.faults.changed
		c.holed[d] = c.holed[d] || line.swallow
		holed := c.holed[d]
		c.proxy.mu.Unlock()

		var timer <-chan time.Time
		switch left := line.delay - time.Since(read); {
		case holed:
			return swallowed
		case line.hold: // only a change helps
		case left <= 0:
			return due
		default:
			timer = time.After(left)
		}
		select {
		case <-timer:
		case <-changed:
		case <-c.done:
			return closed
		}
	}
}

// pass writes bytes to their target, up to a reply that is to be lost. It reports whether the
// connection goes on.
func (c *conn) pass(d Direction, p []byte) bool {
	whole := len(p)
	if d == Replies {
		p = p[:c.dialogue.replies(p, c.proxy.losesReply)]
	}
	if len(p) > 0 {
		if _, err := c.target(d).Write(p); err != nil {
			c.close(true)
			return false
		}
	}
	if len(p) < whole {
		c.close(false)
		return false
	}
	return true
}

// target is where the bytes of a direction go.
func (c *conn) target(d Direction) *net.TCPConn { return c.ends[1-d] }

// finish ends the stream to the target: nothing more will come. The other direction goes on until
// it has ended too.
func (c *conn) finish(d Direction) {
	_ = c.target(d).CloseWrite()
	c.proxy.mu.Lock()
	c.finished++
	both := c.finished == directions
	c.proxy.mu.Unlock()
	if both {
		c.close(false)
	}
}

// close ends both connections, either way or with a reset.
func (c *conn) close(hard bool) {
	c.once.Do(func() {
		close(c.done)
		if hard {
			c.resetEnds()
		} else {
			_ = c.ends[Requests].Close()
			_ = c.ends[Replies].Close()
		}
		c.proxy.mu.Lock()
		delete(c.proxy.conns, c)
		c.proxy.mu.Unlock()
	})
}

// resetEnds closes both ends so that their peers notice at once, and lose the bytes that were not
// sent yet.
func (c *conn) resetEnds() {
	for _, end := range c.ends {
		reset(end)
	}
}

func reset(c *net.TCPConn) {
	_ = c.SetLinger(0)
	_ = c.Close()
}
