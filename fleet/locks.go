package fleet

import (
	"context"
	"time"

	"github.com/solotick/solotick/internal/wire"
)

// ForceRelease takes the grant of a lock with this token away from its holder, and reports whether
// it was held. The holder works on until its next renewal, which is refused: its later writes have
// to be refused by its token.
func (f *Fleet) ForceRelease(ctx context.Context, lock string, token int64, act Act) (held bool, err error) {
	if err := act.check(); err != nil {
		return false, err
	}
	l, err := f.store.Lock(ctx, lock)
	if err != nil {
		return false, err
	}
	fact := act.fact(wire.FactReleased)
	fact.Lock, fact.Token = lock, token
	for _, h := range l.Holds {
		if h.Token == token {
			fact.Replica, fact.From = h.Holder, h.Since.Truncate(time.Millisecond)
		}
	}
	held, err = f.store.ForceRelease(ctx, lock, token)
	if err != nil && ctx.Err() == nil { // perhaps only the reply was lost
		held, err = f.store.ForceRelease(ctx, lock, token)
		held = err == nil && (held || fact.Replica != "")
	}
	if held {
		f.note(ctx, "", fact)
	}
	return held, err
}
