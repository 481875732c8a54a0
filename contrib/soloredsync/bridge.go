package soloredsync

import (
	"context"
	"errors"
	"time"

	"github.com/go-redsync/redsync/v4"

	"github.com/solotick/solotick/internal/expiring"
)

// Bridge makes every mutex two: redsync's, in the keys of old, and ours. So replicas with it
// exclude those that still use redsync, and those that use this package without it. It is for a
// deployment replica by replica: see docs/migrate/redsync.md.
//
// A mutex is locked when both are, the old one first. With [WithKeepAlive] the old one is extended
// as long as ours is held.
func Bridge(old *redsync.Redsync) RedsyncOption {
	return func(r *Redsync) {
		if old == nil {
			r.fault = errors.Join(r.fault, errors.New("soloredsync: bridge: nil must be a Redsync"))
			return
		}
		r.old = old
	}
}

func (r *Redsync) oldMutex(name string, expiry time.Duration) *redsync.Mutex {
	if r.old == nil {
		return nil
	}
	return r.old.NewMutex(name, redsync.WithExpiry(expiry))
}

// keepOldLocked extends the old mutex while ours is held, if that is renewed.
func (m *Mutex) keepOldLocked() {
	if m.old == nil || !m.keepAlive {
		return
	}
	m.kept = expiring.Refresh(m.hold.Context(), m.expiry, func(ctx context.Context) { _, _ = m.old.ExtendContext(ctx) })
}

// unlockOldLocked unlocks the old mutex, if there is one. That it has expired is no error: ours
// counts.
func (m *Mutex) unlockOldLocked(ctx context.Context) error {
	if m.old == nil {
		return nil
	}
	m.awaitKeptLocked()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	taken := new(redsync.ErrTaken)
	if _, err := m.old.UnlockContext(ctx); err != nil && !errors.Is(err, redsync.ErrLockAlreadyExpired) && !errors.As(err, &taken) {
		return err
	}
	return nil
}

// awaitKeptLocked waits until the old mutex, which is not safe for concurrent use, is extended no
// more: our hold is over.
func (m *Mutex) awaitKeptLocked() {
	if m.kept != nil {
		<-m.kept
		m.kept = nil
	}
}
