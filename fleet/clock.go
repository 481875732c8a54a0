package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/solotick/solotick/internal/heartbeat"
)

// ErrClock is matched by the error of a command that was refused because the store's clock cannot
// be trusted. Nothing has changed.
var ErrClock = errors.New("fleet: the store's clock cannot be trusted")

// clockError says how far the store's clock is from this machine's, while no live replica vouches
// for it.
type clockError struct {
	Ahead time.Duration // of this machine's clock; below 0 when it is behind
}

func (e *clockError) Error() string {
	return fmt.Sprintf("fleet: the store's clock is %s ahead of this machine's, and no live replica trusts it, so nothing was changed: "+
		"check the time on both machines, and try again", e.Ahead.Round(time.Millisecond))
}

// Is makes errors.Is(err, ErrClock) true.
func (e *clockError) Is(target error) bool { return target == ErrClock }

// clockLimit is how far the store's clock may be from this machine's, and for how long a request
// holds by it.
const clockLimit = 15 * time.Second

// until returns the latest time of the store at which a request that is made now may change
// anything, or an error that matches [ErrClock].
func (f *Fleet) until(ctx context.Context) (time.Time, error) {
	began := time.Now()
	now, _, err := f.store.Time(ctx)
	if err != nil {
		return time.Time{}, err
	}
	took := time.Since(began)
	ahead := now.Sub(began.Add(took / 2).Round(0))
	if ahead.Abs() <= clockLimit+took/2 {
		return now.Add(clockLimit), nil
	}
	members, err := f.store.Members(ctx)
	if err != nil {
		return time.Time{}, err
	}
	for _, m := range heartbeats(members) {
		if m.Clock == heartbeat.ClockTrusted && now.Sub(m.LastHeartbeat) <= m.Life && m.LastHeartbeat.Sub(now) <= clockLimit {
			return now.Add(clockLimit), nil
		}
	}
	return time.Time{}, &clockError{Ahead: ahead}
}
