package zklease

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/solotick/solotick/internal/casstore"
	"github.com/solotick/solotick/internal/steady"
)

// reckonFor is for how long the leader's time is reckoned from what it said last.
const reckonFor = time.Second

// clock reckons the leader's time: each write says when it was made, in milliseconds.
type clock struct {
	casstore.Clock

	mu    sync.Mutex
	asked steady.Instant // when the newest answer was asked for; 0 for never
	ahead time.Duration  // in tests: by how much the leader's clock was set
}

// learn takes what the answer to a request says that was sent at that instant.
func (c *clock) learn(sent steady.Instant, milliseconds int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = max(c.asked, sent)
	at := time.UnixMilli(milliseconds).Add(c.ahead)
	c.Observe("leader", sent, steady.Now(), at, at.Add(time.Millisecond))
}

// fresh reports whether the leader has said its time lately.
func (c *clock) fresh() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.asked != 0 && c.asked.Until(steady.Now()) < reckonFor
}

// Clock implements [casstore.Medium]: the leader says when it was written to.
func (m *medium) Clock(ctx context.Context) (time.Time, error) {
	if !m.clock.fresh() {
		err := m.within(ctx, func(t *tree) error {
			_, err := m.writeClock(ctx, t)
			return err
		})
		if err != nil {
			return time.Time{}, err
		}
	}
	now, _ := m.clock.Now()
	return now, nil
}

func (m *medium) writeClock(ctx context.Context, t *tree) (*zk.Stat, error) {
	sent := steady.Now()
	stat, _, err := ask(ctx, m.link, func(c *zk.Conn) (*zk.Stat, error) { return c.Set(t.path+"/clock", nil, -1) })
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return nil, errGone
	case err != nil:
		return nil, m.at(t.path, err)
	}
	m.clock.learn(sent, stat.Mtime)
	return stat, nil
}
