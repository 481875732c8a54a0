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

// multiWait is one call of [Multi.Acquire].
type multiWait struct {
	*Multi
	ctx     context.Context
	began   time.Time
	limit   time.Duration // 0 for none
	longest int           // the lock for which inOrder waited longest
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

// inOrder takes the locks one after another, in the order of their names, and keeps what it has
// while it waits for the next. It returns no holds when one was lost meanwhile.
func (w *multiWait) inOrder() ([]*Hold, error) {
	order := make([]int, len(w.locks))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(w.locks[i].Name(), w.locks[j].Name()) })
	holds := make([]*Hold, len(w.locks))
	var longest time.Duration
	for n, i := range order {
		began := time.Now()
		err := w.take(i, holds)
		if n == 0 && err == nil && len(order) > 1 { // mostly the others are free
			err = w.takeFree(order[1:], holds)
		}
		if err != nil {
			_ = releaseAll(w.ctx, holds)
			return nil, err
		}
		if waited := time.Since(began); waited > longest {
			longest, w.longest = waited, i
		}
	}
	return w.ifValid(holds), nil
}

// take waits for a lock that is not held yet.
func (w *multiWait) take(i int, holds []*Hold) (err error) {
	if holds[i] == nil {
		holds[i], err = w.acquire(i)
	}
	return err
}

// takeFree claims locks at the same time. It keeps those before the first that is not granted: who
// waits for a lock must not hold any that comes after it. The error is one that waiting cannot
// change.
func (w *multiWait) takeFree(order []int, holds []*Hold) error {
	errs := w.tryOthers(w.ctx, holds)
	for _, err := range errs {
		if errors.Is(err, protocol.ErrPermanent) {
			return err
		}
	}
	var after []*Hold
	missing := false
	for _, i := range order {
		if missing {
			after = append(after, holds[i])
			holds[i] = nil
		}
		missing = missing || holds[i] == nil
	}
	_ = releaseAll(w.ctx, after)
	return nil
}

// longestFirst waits for the lock that took longest while it holds none, and then claims the others
// at once: the maximum hold of a lock that inOrder lost may be shorter than the wait for that one.
// It returns no holds when one of the others is not granted.
func (w *multiWait) longestFirst() ([]*Hold, error) {
	holds := make([]*Hold, len(w.locks))
	if err := w.take(w.longest, holds); err != nil {
		return nil, err
	}
	for i, err := range w.tryOthers(w.ctx, holds) {
		if err == nil {
			continue
		}
		_ = releaseAll(w.ctx, holds)
		if late := w.limitError(w.locks[i].Name(), err); late != err || errors.Is(err, protocol.ErrPermanent) { //nolint:errorlint // is it another?
			return nil, late
		}
		return nil, nil
	}
	return w.ifValid(holds), nil
}

// ifValid returns the holds if all are proved held. Otherwise it releases them.
func (w *multiWait) ifValid(holds []*Hold) []*Hold {
	if slices.ContainsFunc(holds, func(h *Hold) bool { return !h.Valid() }) {
		_ = releaseAll(w.ctx, holds)
		return nil
	}
	return holds
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
