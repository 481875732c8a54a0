//go:build unix && !linux

package supervisor

import (
	"time"

	"github.com/solotick/solotick/jobs/exec/internal/bootclock"
)

// alarm sends on c at an instant, or a little before.
type alarm struct {
	c     chan struct{} // of size 1: wake-ups coalesce
	timer *time.Timer
}

func newAlarm() (*alarm, error) {
	a := &alarm{c: make(chan struct{}, 1)}
	a.timer = time.AfterFunc(time.Hour, func() {
		select {
		case a.c <- struct{}{}:
		default:
		}
	})
	return a, nil
}

// set moves the alarm. No wait is longer than a second, because the timer may stand still during
// sleep while the instants go by. loop sets the alarm again when it is woken.
func (a *alarm) set(at bootclock.Instant) {
	a.timer.Reset(min(bootclock.Now().Until(at), time.Second))
}
