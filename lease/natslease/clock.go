package natslease

import (
	"context"
	"sync"
	"time"

	"github.com/solotick/solotick/internal/steady"
)

const (
	// lookEvery is how old what is known of the servers' clock may be.
	lookEvery = time.Second
	// mostHeld is how far the clock may be put back without going back: it stands still instead.
	mostHeld = 100 * time.Millisecond
)

// clock reckons the clock of the server that leads the stream: its answers have the time.
type clock struct {
	mu     sync.Mutex
	known  bool
	at     steady.Instant // of the last answer
	offset time.Duration  // of the server's clock, in Unix time, from this process's
	last   time.Time      // what was returned last
	step   time.Duration  // is added, by tests
}

// now returns the time, and whether an answer is new enough to rely on it.
func (c *clock) now() (now time.Time, fresh bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	local := steady.Now()
	now = time.Unix(0, int64(local)).Add(c.offset + c.step)
	if back := c.last.Sub(now); back > 0 && back < mostHeld {
		now = c.last
	}
	c.last = now
	return now, c.known && c.at.Until(local) < lookEvery
}

// learn notes the time of an answer that was asked for at an instant. The server has read its clock
// between then and now. So the offset is within bounds, and what was known of it stays if it is.
func (c *clock) learn(asked steady.Instant, then time.Time) {
	answered := steady.Now()
	least := time.Duration(then.UnixNano()) - time.Duration(answered)
	most := time.Duration(then.UnixNano()) - time.Duration(asked)
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.known {
		c.offset = (least + most) / 2
	}
	c.known, c.at, c.offset = true, answered, min(max(c.offset, least), most)
}

// Clock implements casstore.Medium.
func (m *medium) Clock(ctx context.Context) (time.Time, error) {
	now, fresh := m.clock.now()
	if fresh {
		return now, nil
	}
	if _, err := m.look(ctx); err != nil {
		return time.Time{}, m.failed(err)
	}
	now, _ = m.clock.now()
	return now, nil
}
