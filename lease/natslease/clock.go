package natslease

import (
	"context"
	"sync"
	"time"

	"github.com/solotick/solotick/internal/steady"
)

// lookEvery is how old what is known of the servers' clock may be.
const lookEvery = time.Second

// clock is what is known of the clock of the server that leads the stream. Its answers have the
// time. It was at most the half of a round trip ago, or that much later.
type clock struct {
	mu    sync.Mutex
	known bool
	at    steady.Instant
	time  time.Time     // at that instant
	step  time.Duration // is added, by tests
}

func (c *clock) now() (now time.Time, fresh bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	passed := c.at.Until(steady.Now())
	return c.time.Add(passed + c.step), c.known && passed < lookEvery
}

// learn notes the time of an answer that was asked for at an instant.
func (c *clock) learn(asked steady.Instant, then time.Time) {
	answered := steady.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known, c.at, c.time = true, answered, then.Add(asked.Until(answered)/2)
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
