package lock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/memlease"
	"github.com/solotick/solotick/lock"
)

// soon is how long a waiter sleeps at most without a notification.
const soon = ticket / 3 * 6 / 5

func TestWaiterIsGrantedTheLockOnRelease(t *testing.T) {
	for name, opts := range map[string][]lock.Option{"any": nil, "fair": {lock.WithFairness()}} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, store *memlease.Store) {
				p, q := start(t, store, "p"), start(t, store, "q")
				h := acquire(t, p.Mutex("stock", opts...))
				w := begin(t.Context(), q.Mutex("stock", opts...))
				time.Sleep(time.Minute)
				w.waits(t)
				release(t, h)
				released := time.Now()
				next := w.granted(t)
				require.Zero(t, time.Since(released))
				require.Equal(t, time.Minute, w.took)
				require.Greater(t, next.Token(), h.Token())
				release(t, next)
				requireFree(t, store, "stock")
			})
		})
	}
}

// Whatever a waiter was doing when it is given up, it leaves nothing behind.
func TestWhoGivesUpLeavesNothingBehind(t *testing.T) {
	atFirst := func(f fault) func(*testing.T, *process) {
		return func(_ *testing.T, p *process) { p.link.set(func(l *link) { l.claim = f }) }
	}
	phases := map[string]struct {
		free    bool // the lock is
		prepare func(*testing.T, *process)
		before  func(*testing.T, *process) // it is given up
	}{
		"while the first claim hangs":                  {free: true, prepare: atFirst(hangs)},
		"when the answer to the first claim was lost":  {free: true, prepare: atFirst(losesTheReply)},
		"while the store is away":                      {free: true, prepare: atFirst(fails)},
		"when every answer was lost":                   {free: true, prepare: atFirst(failsAfterwards)},
		"in line":                                      {},
		"in line, while its claim hangs":               {prepare: atFirst(firstThen(2, nil, hangs))},
		"in line, when its answer was lost":            {prepare: atFirst(firstThen(2, nil, losesTheReply))},
		"as its place in line was lost with the reply": {prepare: atFirst(firstThen(1, nil, losesTheReply))},
		"in line, while the store is away":             {prepare: atFirst(firstThen(2, nil, fails))},
		"in the queue of the process": {prepare: func(t *testing.T, p *process) {
			ctx, giveUp := context.WithCancel(t.Context())
			before := begin(ctx, p.Mutex("stock"))
			before.waits(t)
			t.Cleanup(func() { giveUp(); <-before.done })
		}},
	}
	kinds := map[string]func(*process) lock.Lock{
		"any":    func(p *process) lock.Lock { return p.Mutex("stock") },
		"fair":   func(p *process) lock.Lock { return p.Mutex("stock", lock.WithFairness()) },
		"reader": func(p *process) lock.Lock { return p.ReadWrite("stock").Reader() },
	}
	ends := map[string]func(context.Context, *process) (context.Context, context.CancelFunc){
		"its context is cancelled": func(ctx context.Context, _ *process) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(5*time.Second, cancel)
			return ctx, cancel
		},
		"its context's deadline passes": func(ctx context.Context, _ *process) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, 5*time.Second)
		},
		"its process closes": func(ctx context.Context, p *process) (context.Context, context.CancelFunc) {
			t := time.AfterFunc(5*time.Second, p.Close)
			return ctx, func() { t.Stop() }
		},
	}
	for phase, in := range phases {
		for kind, of := range kinds {
			for end, ending := range ends {
				t.Run(phase+", "+kind+", "+end, func(t *testing.T) {
					bubble(t, func(t *testing.T, store *memlease.Store) {
						p, q := start(t, store, "p"), start(t, store, "q")
						var h *lock.Hold
						if !in.free {
							h = acquire(t, q.ReadWrite("stock", lock.WithAnyOrder()).Writer())
						}
						if in.prepare != nil {
							in.prepare(t, p)
						}
						ctx, cancel := ending(t.Context(), p)
						defer cancel()
						w := begin(ctx, of(p))
						<-w.done
						require.Equal(t, 5*time.Second, w.took)
						require.Error(t, w.err)
						if ctx.Err() != nil {
							require.ErrorIs(t, w.err, context.Cause(ctx))
						} else {
							require.ErrorIs(t, w.err, lock.ErrClosed)
						}
						if !in.free {
							time.Sleep(time.Second / 2)
							release(t, h)
						}
						time.Sleep(time.Second / 2)
						v, err := store.Lock(t.Context(), "stock")
						require.NoError(t, err)
						require.Empty(t, v.Queue)
						if phase != "in the queue of the process" || end == "its process closes" { // else the one before it has it
							require.Empty(t, v.Holds)
						}
					})
				})
			}
		}
	}
}

func TestWaitTimeoutEndsTheWaitOnly(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlease.Store) {
		p, q := start(t, store, "p"), start(t, store, "q")
		limited := q.Mutex("stock", lock.WithWaitTimeout(5*time.Second))
		h := acquire(t, p.Mutex("stock"))
		w := begin(t.Context(), limited)
		<-w.done
		require.Equal(t, 5*time.Second, w.took)
		require.ErrorIs(t, w.err, lease.ErrHeld)
		require.NotErrorIs(t, w.err, context.DeadlineExceeded)
		held, ok := errors.AsType[*lease.HeldError](w.err)
		require.True(t, ok)
		require.Equal(t, "p", held.Holder)
		require.ErrorContains(t, w.err, `gave up "stock" after 5s, its wait timeout`)

		w = begin(t.Context(), limited)
		time.Sleep(4 * time.Second)
		release(t, h)
		next := w.granted(t)
		time.Sleep(time.Minute)
		require.NoError(t, next.Context().Err())
		release(t, next)
		requireFree(t, store, "stock")
	})
}

func TestTheWaitLimitBoundsAClaimThatHangs(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlease.Store) {
		p := start(t, store, "p")
		p.link.cut(hangs)
		w := begin(t.Context(), p.Mutex("stock", lock.WithWaitTimeout(5*time.Second)))
		<-w.done
		require.Equal(t, 5*time.Second, w.took)
		require.ErrorContains(t, w.err, "the wait timeout has passed")

		p.link.cut(fails)
		_, err := p.Mutex("stock", lock.WithWaitTimeout(5*time.Second)).Acquire(t.Context())
		require.ErrorIs(t, err, errDown) // why it could not be said who holds it
	})
}

func TestAContextThatHasEndedAsksNothing(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlease.Store) {
		p := start(t, store, "p")
		why := errors.New("why")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(why)
		_, err := p.Mutex("stock").Acquire(ctx)
		require.ErrorIs(t, err, why)
		_, err = p.Mutex("stock").TryAcquire(ctx)
		require.ErrorIs(t, err, why)
		require.Zero(t, p.link.claims.Load())
	})
}

// A waiter that is notified as it gives up passes the notification on.
func TestLateNotificationIsPassedOn(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlease.Store) {
		p, q := start(t, store, "p"), start(t, store, "q")
		for range 200 {
			h := acquire(t, q.Mutex("stock"))
			first := begin(t.Context(), p.Mutex("stock"))
			first.waits(t)
			ctx, giveUp := context.WithCancel(t.Context())
			second := begin(ctx, p.Mutex("stock"))
			second.waits(t)
			third := begin(t.Context(), p.Mutex("stock"))
			third.waits(t)
			go giveUp()
			release(t, h)
			release(t, first.granted(t))
			if <-second.done; second.err == nil {
				release(t, second.hold)
			}
			release(t, third.granted(t))
			require.Less(t, third.took, time.Second)
		}
		requireFree(t, store, "stock")
	})
}
