package lock_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/memlease"
	"github.com/solotick/solotick/lock"
)

func TestSeveralLocksAreHeldAllOrNone(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlease.Store) {
		p, q := start(t, store, "p"), start(t, store, "q")
		m := p.Multi(p.Mutex("a"), p.ReadWrite("b").Reader(), p.Semaphore("c", 3).Take(2))
		in := acquire(t, q.Semaphore("c", 3).Take(2))
		_, err := m.TryAcquire(t.Context())
		require.ErrorIs(t, err, lease.ErrHeld)
		requireFree(t, store, "a")
		requireFree(t, store, "b")
		release(t, in)

		h, err := m.TryAcquire(t.Context())
		require.NoError(t, err)
		require.True(t, h.Valid())
		holds := h.Holds()
		require.Equal(t, []string{"a", "b", "c"}, []string{holds[0].Name(), holds[1].Name(), holds[2].Name()})
		for _, l := range []lock.Lock{q.Mutex("a"), q.ReadWrite("b").Writer(), q.Semaphore("c", 3).Take(2)} {
			requireHeld(t, l)
		}
		require.NoError(t, h.Release(t.Context()))
		require.NoError(t, h.Release(t.Context()))
		require.ErrorIs(t, context.Cause(h.Context()), lease.ErrReleased)
		require.False(t, h.Valid())
		for _, name := range []string{"a", "b", "c"} {
			requireFree(t, store, name)
		}
		require.EqualValues(t, 6, p.link.claims.Load())
	})
}

// While it waits for one it holds those before it, and is in nobody's way for those after it.
func TestWhoWaitsForSeveralHoldsThoseBefore(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlease.Store) {
		p, q := start(t, store, "p"), start(t, store, "q")
		names := []string{"a", "b", "c"}
		locks := []lock.Lock{p.Mutex("c"), p.Mutex("a"), p.Mutex("b")}
		for i := range names {
			in := acquire(t, q.Mutex(names[i]))
			got := make(chan *lock.MultiHold)
			began := time.Now()
			go func() {
				h, err := p.Multi(locks...).Acquire(t.Context())
				if err != nil {
					t.Error(err)
				}
				got <- h
			}()
			time.Sleep(time.Minute)
			for j := range names {
				switch {
				case j < i:
					requireHeld(t, q.Mutex(names[j]))
				case j > i:
					requireFree(t, store, names[j])
				}
			}
			release(t, in)
			h := <-got
			require.Equal(t, time.Minute, time.Since(began))
			require.NoError(t, h.Release(t.Context()))
		}
	})
}

func TestLossOfOneOfSeveralEndsTheirContext(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlease.Store) {
		p := start(t, store, "p")
		h, err := p.Multi(p.Mutex("a"), p.Mutex("b")).Acquire(t.Context())
		require.NoError(t, err)
		synctest.Wait()
		_, err = p.ForceRelease(t.Context(), "b", h.Holds()[1].Token())
		require.NoError(t, err)
		synctest.Wait()
		require.ErrorIs(t, context.Cause(h.Context()), lease.ErrLost)
		require.False(t, h.Valid())
		require.ErrorIs(t, h.Release(t.Context()), protocol.ErrFenced)
		requireFree(t, store, "a")
		requireFree(t, store, "b")
	})
}

// Their context ends before any of them can be granted to another.
func TestContextOfSeveralEndsBeforeTheirRelease(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlease.Store) {
		p := start(t, store, "p")
		h, err := p.Multi(p.Mutex("a"), p.Mutex("b")).Acquire(t.Context())
		require.NoError(t, err)
		p.link.set(func(l *link) {
			l.release = func(_ context.Context, do func() error) error {
				if h.Context().Err() == nil {
					t.Error("one is given back while the context lives")
				}
				return do()
			}
		})
		require.NoError(t, h.Release(t.Context()))
	})
}

func TestWhoGivesUpWaitingForSeveralLeavesNothing(t *testing.T) {
	for name, f := range map[string]fault{"in line": nil, "away": firstThen(2, nil, hangs)} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, store *memlease.Store) {
				p, q := start(t, store, "p"), start(t, store, "q")
				in := acquire(t, q.Mutex("b"))
				p.link.set(func(l *link) { l.claim = f })
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				defer cancel()
				_, err := p.Multi(p.Mutex("a"), p.Mutex("b")).Acquire(ctx)
				require.ErrorIs(t, err, context.DeadlineExceeded)
				_, err = p.Multi(p.Mutex("a"), p.Mutex("b")).TryAcquire(ctx)
				require.ErrorIs(t, err, context.DeadlineExceeded)
				release(t, in)
				time.Sleep(time.Second)
				requireFree(t, store, "a")
				requireFree(t, store, "b")
			})
		})
	}
}

func TestWhatIsWrongWithSeveralLocksIsSaid(t *testing.T) {
	p := lock.New(new(memlease.Store))
	defer p.Close()
	for want, m := range map[string]*lock.Multi{
		"at least one":       p.Multi(),
		`"a" is there twice`: p.Multi(p.Mutex("a"), p.Mutex("b"), p.Mutex("a")),
		`name: "/"`:          p.Multi(p.Mutex("a"), p.Mutex("/")),
		`locks[1]: nil must`: p.Multi(p.Mutex("a"), nil),
		`locks[0]: nil must`: p.Multi((*lock.Mutex)(nil), p.Mutex("a")),
	} {
		_, err := m.Acquire(t.Context())
		require.ErrorContains(t, err, want)
		require.ErrorIs(t, err, lease.ErrPermanent)
		_, err = m.TryAcquire(t.Context())
		require.ErrorContains(t, err, want)
	}
}

// A re-entrant lock among them is held by what runs under their context.
func TestReentrantLockAmongSeveralCanBeEnteredAgain(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlease.Store) {
		p := start(t, store, "p")
		a, b := p.Reentrant("a"), p.Reentrant("b")
		h, err := p.Multi(a, p.Mutex("c"), b).Acquire(t.Context())
		require.NoError(t, err)
		inner, err := p.Multi(b, a).TryAcquire(h.Context())
		require.NoError(t, err)
		require.Equal(t, h.Holds()[0].Token(), inner.Holds()[1].Token())
		require.NoError(t, h.Release(t.Context()))
		require.True(t, inner.Valid())
		requireHeld(t, a)
		require.NoError(t, inner.Release(t.Context()))
		requireFree(t, store, "a")
		requireFree(t, store, "b")
	})
}

// Philosophers who take both forks at once all eat, in whatever order they name them.
func TestWhoTakeSeveralTogetherDoNotDeadlock(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlease.Store) {
		const philosophers, meals = 5, 20
		var eating sync.WaitGroup
		began := time.Now()
		for i := range philosophers {
			p := start(t, store, fmt.Sprintf("p%d", i))
			left, right := fmt.Sprintf("fork%d", i), fmt.Sprintf("fork%d", (i+1)%philosophers)
			eating.Go(func() {
				for range meals {
					h, err := p.Multi(p.Mutex(left), p.Mutex(right)).Acquire(t.Context())
					if err != nil {
						t.Error(err)
						return
					}
					time.Sleep(rand.N(100 * time.Millisecond))
					if err := h.Release(t.Context()); err != nil {
						t.Error(err)
					}
				}
			})
		}
		eating.Wait()
		require.Less(t, time.Since(began), time.Minute)
	})
}

// All of the locks are held or none, as they were granted, while other callers come and go.
func TestSeveralLocksAreAllOrNone(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		store := new(memlease.Store)
		locks := lock.New(store)
		defer locks.Close()
		type held struct {
			names []string
			hold  interface {
				Release(context.Context) error
				Valid() bool
			}
		}
		var holds []held
		taken := func() map[string]bool {
			m := map[string]bool{}
			for _, h := range holds {
				for _, n := range h.names {
					m[n] = true
				}
			}
			return m
		}
		r.Repeat(map[string]func(*rapid.T){
			"take some": func(r *rapid.T) {
				names := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}), 1, 4, rapid.ID[string]).Draw(r, "names")
				var of []lock.Lock
				free := true
				for _, n := range names {
					of = append(of, locks.Mutex(n))
					free = free && !taken()[n]
				}
				h, err := locks.Multi(of...).TryAcquire(context.Background())
				require.Equal(r, free, err == nil)
				if err == nil {
					holds = append(holds, held{names, h})
				} else {
					require.ErrorIs(r, err, lease.ErrHeld)
				}
			},
			"take one": func(r *rapid.T) {
				name := rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}).Draw(r, "name")
				h, err := locks.Mutex(name).TryAcquire(context.Background())
				require.Equal(r, !taken()[name], err == nil)
				if err == nil {
					holds = append(holds, held{[]string{name}, h})
				}
			},
			"release": func(r *rapid.T) {
				if len(holds) == 0 {
					r.Skip()
				}
				i := rapid.IntRange(0, len(holds)-1).Draw(r, "hold")
				require.NoError(r, holds[i].hold.Release(context.Background()))
				require.False(r, holds[i].hold.Valid())
				holds = append(holds[:i], holds[i+1:]...)
			},
			"": func(r *rapid.T) {
				in := taken()
				for _, name := range []string{"a", "b", "c", "d", "e"} {
					v, err := locks.Inspect(context.Background(), name)
					require.NoError(r, err)
					require.Equal(r, in[name], len(v.Holds) > 0, name)
				}
				for _, h := range holds {
					require.True(r, h.hold.Valid())
				}
			},
		})
	})
}
