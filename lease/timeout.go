package lease

import (
	"context"
	"sync"
	"time"
)

// limited is a context with a deadline that makes a timer only when somebody waits for it. A store
// in this process answers without, and the timer would be a good part of the cost.
type limited struct {
	context.Context // the parent
	deadline        time.Time

	mu     sync.Mutex
	made   context.Context // nil until it is needed
	cancel context.CancelFunc
}

func newLimited(parent context.Context, d time.Duration) *limited {
	return &limited{Context: parent, deadline: time.Now().Add(d)}
}

// timed returns the context with the timer.
func (c *limited) timed() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.made == nil {
		c.made, c.cancel = context.WithDeadline(c.Context, c.deadline)
	}
	return c.made
}

// current returns the context that knows whether c has ended.
func (c *limited) current() context.Context {
	c.mu.Lock()
	made := c.made
	c.mu.Unlock()
	switch {
	case made != nil:
		return made
	case c.Context.Err() == nil && !time.Now().Before(c.deadline):
		return c.timed()
	default:
		return c.Context
	}
}

// cut ends c now, for those that wait for it.
func (c *limited) cut() {
	c.timed()
	c.stop()
}

// stop ends c. A later look may find it alive if nobody has waited for it before.
func (c *limited) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cancel != nil {
		c.cancel()
	}
}

func (c *limited) Deadline() (time.Time, bool) {
	if d, ok := c.Context.Deadline(); ok && d.Before(c.deadline) {
		return d, true
	}
	return c.deadline, true
}

func (c *limited) Done() <-chan struct{} { return c.timed().Done() }
func (c *limited) Err() error            { return c.current().Err() }
func (c *limited) Value(key any) any     { return c.current().Value(key) }
