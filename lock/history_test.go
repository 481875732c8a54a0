package lock_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/lease/memlease"
	"github.com/solotick/solotick/lock"
)

// seedOf draws the seed of the random faults and workers, or takes it from the environment.
func seedOf(t *testing.T) uint64 {
	seed := rand.Uint64()
	if text := os.Getenv("LOCK_SEED"); text != "" {
		given, err := strconv.ParseUint(text, 10, 64)
		require.NoError(t, err, "LOCK_SEED")
		seed = given
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("again with LOCK_SEED=%d", seed)
		}
	})
	return seed
}

// Workers of several processes, over links that lose and delay and fail, hold no more than there is
// at any time, with tokens that rise from grant to grant.
func TestHistoriesAreThoseOfALock(t *testing.T) {
	seed := seedOf(t)
	short := []lock.Option{lock.WithTTL(3 * time.Second), lock.WithWaiterTTL(600 * time.Millisecond)}
	with := func(opts ...lock.Option) []lock.Option { return append(opts, short...) }
	either := func(r *rand.Rand, a, b lock.Lock) lock.Lock {
		if r.IntN(3) == 0 {
			return b
		}
		return a
	}
	for name, c := range map[string]struct {
		limit int
		of    func(*rand.Rand, *lock.Locks) lock.Lock
	}{
		"mutex":     {1, func(_ *rand.Rand, s *lock.Locks) lock.Lock { return s.Mutex("l", short...) }},
		"fair":      {1, func(_ *rand.Rand, s *lock.Locks) lock.Lock { return s.Mutex("l", with(lock.WithFairness())...) }},
		"reentrant": {1, func(_ *rand.Rand, s *lock.Locks) lock.Lock { return s.Reentrant("l", short...) }},
		"semaphore": {5, func(r *rand.Rand, s *lock.Locks) lock.Lock {
			return either(r, s.Semaphore("l", 5, short...), taking{s.Semaphore("l", 5, short...).Take(3), 3})
		}},
		"read-write": {protocol.MaxPermits, func(r *rand.Rand, s *lock.Locks) lock.Lock {
			l := s.ReadWrite("l", short...)
			return either(r, l.Reader(), taking{l.Writer(), protocol.MaxPermits})
		}},
		"writers first": {protocol.MaxPermits, func(r *rand.Rand, s *lock.Locks) lock.Lock {
			l := s.ReadWrite("l", with(lock.WithWritersFirst())...)
			return either(r, l.Reader(), taking{l.Writer(), protocol.MaxPermits})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, store *memlease.Store) {
				h := &history{}
				ctx, end := context.WithTimeout(t.Context(), 5*time.Minute)
				defer end()
				var running sync.WaitGroup
				for i := range uint64(3) {
					p := start(t, store, fmt.Sprintf("p%d", i))
					running.Go(func() { disturb(ctx, p.link, rand.New(rand.NewPCG(seed, i))) })
					for j := range uint64(3) {
						r := rand.New(rand.NewPCG(seed, 100+10*i+j))
						running.Go(func() {
							for ctx.Err() == nil {
								h.work(ctx, c.of(r, p.Locks), int(3*i+j), r)
							}
						})
					}
				}
				running.Wait()
				synctest.Wait()
				require.Greater(t, h.granted.Load(), int64(20), "otherwise it proves little")
				require.Positive(t, h.lost.Load())
				result := porcupine.CheckOperationsTimeout(permitsModel(c.limit), h.operations, 20*time.Second)
				if result != porcupine.Ok {
					for _, o := range h.operations {
						t.Logf("%d to %d: %+v", o.Call, o.Return, o.Input)
					}
				}
				require.Equal(t, porcupine.Ok, result)
			})
		})
	}
}

// taking is a lock of several permits.
type taking struct {
	lock.Lock
	n int
}

// disturb breaks the link, and mends it, until ctx ends.
func disturb(ctx context.Context, l *link, r *rand.Rand) {
	bounded := func(f fault) fault { // as on a network with a timeout
		return func(ctx context.Context, do func() error) error {
			ctx, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			return f(ctx, do)
		}
	}
	late := func(_ context.Context, do func() error) error {
		time.Sleep(700 * time.Millisecond) // whatever has become of the caller: as a frozen network delivers
		return do()
	}
	slow := func(_ context.Context, do func() error) error {
		err := do()
		time.Sleep(700 * time.Millisecond)
		return err
	}
	faults := []fault{fails, failsAfterwards, bounded(hangs), bounded(losesTheReply), late, slow}
	for ctx.Err() == nil {
		switch r.IntN(6) {
		case 0:
			l.cut(faults[r.IntN(len(faults))])
		case 1:
			l.set(func(l *link) { l.claim = faults[r.IntN(len(faults))] })
		case 2:
			l.set(func(l *link) { l.renew = faults[r.IntN(len(faults))] })
		case 3:
			l.set(func(l *link) { l.release = faults[r.IntN(len(faults))] })
		case 4:
			l.hangUp(errDown)
		case 5: // grants are not renewed from now on
			l.set(func(l *link) { l.claim, l.renew = slow, fails })
			linger(ctx, 4*time.Second)
		}
		linger(ctx, time.Duration(r.Int64N(int64(6*time.Second))))
		l.cut(nil)
		l.hangUp(nil)
		linger(ctx, time.Duration(r.Int64N(int64(4*time.Second))))
	}
}

func linger(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// history has the steps of all workers, in the order of a counter: virtual time stands still for
// too long.
type history struct {
	clock, granted, lost atomic.Int64

	mu         sync.Mutex
	operations []porcupine.Operation
}

func (h *history) add(s step, call int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.operations = append(h.operations, porcupine.Operation{ClientId: s.owner, Input: s, Call: call, Return: h.clock.Add(1)})
}

// work holds the lock once, if it is granted, for a while: where it can be entered again, several
// times.
func (h *history) work(ctx context.Context, l lock.Lock, owner int, r *rand.Rand) {
	s := step{action: grants, n: 1, owner: owner}
	if t, ok := l.(taking); ok {
		s.n = t.n
	}
	wait, cancel := context.WithTimeout(ctx, time.Duration(r.Int64N(int64(10*time.Second))))
	defer cancel()
	call := h.clock.Add(1)
	// The hold's context must not end with the wait's.
	held, err := acquireWithin(wait, ctx, l, r.IntN(4) == 0)
	if err != nil {
		linger(ctx, time.Duration(r.Int64N(int64(time.Second))))
		return
	}
	s.token = held.Token()
	h.add(s, call)
	h.granted.Add(1)
	h.hold(held, s, l, r, 0)
}

// acquireWithin acquires with a parent of the hold's context that outlives the wait.
func acquireWithin(wait, parent context.Context, l lock.Lock, once bool) (*lock.Hold, error) {
	if once {
		return l.TryAcquire(parent)
	}
	ctx, cancel := context.WithCancel(parent)
	stop := context.AfterFunc(wait, cancel)
	h, err := l.Acquire(ctx)
	if err != nil || !stop() { // it is to be released at once
		cancel()
	}
	return h, err
}

func (h *history) hold(held *lock.Hold, s step, l lock.Lock, r *rand.Rand, depth int) {
	most := 3 * time.Second
	if r.IntN(4) == 0 { // so long that some are lost
		most = 20 * time.Second
	}
	until := time.Now().Add(time.Duration(r.Int64N(int64(most))))
	valid := h.clock.Add(1) // when it was surely held last
	for time.Now().Before(until) && held.Context().Err() == nil {
		if _, ok := l.(*lock.Reentrant); ok && depth < 3 && r.IntN(8) == 0 {
			call := h.clock.Add(1)
			if inner, err := l.Acquire(held.Context()); err == nil {
				in := s
				in.action = enters
				h.add(in, call)
				h.hold(inner, s, l, r, depth+1)
			}
		}
		linger(held.Context(), 50*time.Millisecond)
		now := h.clock.Add(1)
		if !held.Valid() {
			break
		}
		valid = now
	}
	s.action = ends
	if held.Valid() {
		valid = h.clock.Add(1)
		if !held.Valid() {
			h.lost.Add(1)
		}
	} else {
		h.lost.Add(1)
		h.add(s, valid)
		_ = held.Release(context.Background())
		return
	}
	_ = held.Release(context.Background())
	h.add(s, valid)
}
