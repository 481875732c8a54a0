package natslease

import (
	"context"
	"time"

	"github.com/solotick/solotick/internal/steady"
)

// lookEvery is how old what is known of the servers' clock may be.
const lookEvery = time.Second

// leader is the server that leads the stream, whichever that is: its answers have the time.
const leader = "leader"

// Clock implements casstore.Medium.
func (m *medium) Clock(ctx context.Context) (time.Time, error) {
	if looked := m.looked.Load(); looked == 0 || steady.Instant(looked).Until(steady.Now()) > lookEvery {
		if _, err := m.look(ctx); err != nil {
			return time.Time{}, m.failed(err)
		}
	}
	now, _ := m.clock.Now()
	return now.Add(time.Duration(m.step.Load())), nil
}
