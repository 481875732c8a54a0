package lock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/lease"
)

// freeTries is how often a [Multi] waits for a single lock before it takes all in order.
const freeTries = 3

// multiWait is one call of [Multi.Acquire].
type multiWait struct {
	*Multi
	ctx   context.Context
	began time.Time
	limit time.Duration // 0 for none
}

// waitLimit returns the shortest wait timeout of the locks; 0 when none has one.
func (l *Multi) waitLimit() (shortest time.Duration) {
	for _, m := range l.locks {
		if m, ok := m.(partial); ok {
			if d := m.waitLimit(); d > 0 && (shortest == 0 || d < shortest) {
				shortest = d
			}
		}
	}
	return shortest
}

// acquire waits for one of the locks, within the remaining timeout.
func (w *multiWait) acquire(i int) (*Hold, error) {
	l, ok := w.locks[i].(partial)
	if !ok {
		return w.locks[i].Acquire(w.ctx)
	}
	remaining := l.waitLimit() // a negative one is an error
	if w.limit > 0 && remaining >= 0 {
		if remaining = w.limit - time.Since(w.began); remaining <= 0 {
			h, err := l.TryAcquire(w.ctx)
			return h, w.limitError(l.Name(), err)
		}
	}
	return l.withWaitLimit(remaining).Acquire(w.ctx)
}

// limitError returns the error of a passed timeout if another holds the lock, else err.
func (w *multiWait) limitError(name string, err error) error {
	if waited := time.Since(w.began); errors.Is(err, lease.ErrHeld) && w.limit > 0 && waited >= w.limit {
		return fmt.Errorf("lock: gave up %q after %s, its wait timeout: %w", name, waited.Round(time.Millisecond), err)
	}
	return err
}

// waitForOne waits for one lock while it holds none, and then tries the others. If one of them is
// not granted, it returns no holds and the lock to wait for next.
func (w *multiWait) waitForOne(first int) (holds []*Hold, next int, err error) {
	h, err := w.acquire(first)
	if err != nil {
		return nil, first, err
	}
	holds = make([]*Hold, len(w.locks))
	holds[first] = h
	if next, err = w.tryOthers(w.ctx, holds); err == nil {
		return holds, next, nil
	}
	if late := w.limitError(w.locks[next].Name(), err); late != err || errors.Is(err, protocol.ErrPermanent) { //nolint:errorlint // is it another?
		return nil, next, late
	}
	return nil, next, nil
}

// inOrder takes the locks one after another, in the order of their names. It returns no holds when
// one was lost meanwhile.
func (w *multiWait) inOrder() ([]*Hold, error) {
	order := make([]int, len(w.locks))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(w.locks[i].Name(), w.locks[j].Name()) })
	holds := make([]*Hold, len(w.locks))
	var taken []*Hold
	for _, i := range order {
		h, err := w.acquire(i)
		if err != nil {
			_ = releaseAll(w.ctx, taken)
			return nil, err
		}
		holds[i], taken = h, append(taken, h)
	}
	if slices.ContainsFunc(taken, func(h *Hold) bool { return !h.Valid() }) {
		_ = releaseAll(w.ctx, taken)
		return nil, nil
	}
	return holds, nil
}

func (l simple) byArrival() partial {
	if l.claim.Order == protocol.OrderAny {
		l.claim.Order = protocol.OrderArrival
	}
	return l
}

func (l simple) waitLimit() time.Duration { return l.settings.waitTimeout }

func (l simple) withWaitLimit(d time.Duration) partial {
	l.settings.waitTimeout = d
	return l
}

func (l *Reentrant) byArrival() partial { return l.with(l.mutex.byArrival()) }

func (l *Reentrant) waitLimit() time.Duration { return l.mutex.waitLimit() }

func (l *Reentrant) withWaitLimit(d time.Duration) partial { return l.with(l.mutex.withWaitLimit(d)) }

func (l *Reentrant) with(mutex partial) *Reentrant {
	return &Reentrant{&Mutex{simple: mutex.(simple)}, l.key}
}
