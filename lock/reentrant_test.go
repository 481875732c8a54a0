package lock_test

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/memlease"
	"github.com/solotick/solotick/lock"
)

func TestReentrantLockIsAcquiredAgainForNothing(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlease.Store) {
		p, q := start(t, store, "p"), start(t, store, "q")
		l := p.Reentrant("stock")
		require.Equal(t, "stock", l.Name())
		outer := acquire(t, l)
		inner, err := l.Acquire(outer.Context())
		require.NoError(t, err)
		innermost, err := p.Reentrant("stock").TryAcquire(inner.Context()) // another value, the same lock
		require.NoError(t, err)
		require.Equal(t, []int64{outer.Token(), outer.Token()}, []int64{inner.Token(), innermost.Token()})
		require.EqualValues(t, 1, p.link.claims.Load())

		for _, stranger := range []lock.Lock{l, q.Reentrant("stock")} { // without such a context
			requireHeld(t, stranger)
		}
		_, err = q.Reentrant("stock").TryAcquire(outer.Context()) // another process's store of contexts
		require.ErrorIs(t, err, lease.ErrHeld)
		other, err := p.Reentrant("other").Acquire(outer.Context())
		require.NoError(t, err)

		for _, h := range []*lock.Hold{innermost, innermost, inner} { // releasing one twice counts once
			release(t, h)
			require.True(t, outer.Valid())
			requireHeld(t, q.Reentrant("stock"))
		}
		require.Zero(t, p.link.releases.Load())
		release(t, outer)
		require.False(t, outer.Valid())
		require.NoError(t, other.Release(t.Context()))
		requireFree(t, store, "stock")
	})
}

func TestAContextThatOutlivesItsHoldAcquiresNothing(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlease.Store) {
		p := start(t, store, "p")
		l := p.Reentrant("stock")
		h := acquire(t, l)
		ended := context.WithoutCancel(h.Context())
		release(t, h)
		_, err := l.Acquire(ended)
		require.ErrorIs(t, err, lock.ErrOver)
		next := acquire(t, l) // by another owner
		_, err = l.TryAcquire(ended)
		require.ErrorIs(t, err, lock.ErrOver)
		release(t, next)
	})
}

func TestAnInnerHoldOutlivesTheOuterOne(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlease.Store) {
		p, q := start(t, store, "p"), start(t, store, "q")
		l := p.Reentrant("stock")
		outer := acquire(t, l)
		inner, err := l.Acquire(outer.Context())
		require.NoError(t, err)
		release(t, outer)
		require.True(t, inner.Valid())
		require.NoError(t, inner.Context().Err())
		time.Sleep(3 * ttl)
		require.True(t, inner.Valid())
		requireHeld(t, q.Reentrant("stock"))
		release(t, inner)
		require.Error(t, inner.Context().Err())
		requireFree(t, store, "stock")
	})
}

func TestLossOfReentrantLockEndsAllInside(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlease.Store) {
		p := start(t, store, "p")
		l := p.Reentrant("stock")
		outer := acquire(t, l)
		// A caller that detaches a context, for work that must be finished, is still notified of the
		// loss.
		detached, err := l.Acquire(context.WithoutCancel(outer.Context()))
		require.NoError(t, err)
		inner, err := l.Acquire(detached.Context())
		require.NoError(t, err)
		release(t, detached)
		require.NoError(t, inner.Context().Err(), "it is still held")
		p.link.cut(fails)
		<-outer.Context().Done()
		synctest.Wait()
		for _, h := range []*lock.Hold{detached, inner} {
			require.ErrorIs(t, context.Cause(h.Context()), lease.ErrLost)
			require.False(t, h.Valid())
		}
		for _, ctx := range []context.Context{inner.Context(), context.WithoutCancel(inner.Context())} {
			_, err = l.Acquire(ctx)
			require.ErrorIs(t, err, lease.ErrLost)
		}
		p.link.cut(nil)
		release(t, inner)
		release(t, outer)
	})
}

func TestInnerAcquireThatIsGivenUpHoldsNothing(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlease.Store) {
		p := start(t, store, "p")
		l := p.Reentrant("stock")
		outer := acquire(t, l)
		ctx, cancel := context.WithCancel(outer.Context())
		cancel()
		_, err := l.Acquire(ctx)
		require.ErrorIs(t, err, context.Canceled)
		release(t, outer)
		requireFree(t, store, "stock")
	})
}

// Released holds cost nothing while others of the same lease come and go.
func TestReleasedInnerHoldsTakeNoMemory(t *testing.T) {
	store := new(memlease.Store)
	locks := lock.New(store)
	defer locks.Close()
	l := locks.Reentrant("stock")
	outer := acquire(t, l)
	enter := func() *lock.Hold {
		h, err := l.Acquire(context.WithoutCancel(outer.Context()))
		require.NoError(t, err)
		return h
	}
	const pairs = 20_000
	inUse := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before, one := inUse(), enter()
	for range pairs { // never only one
		other := enter()
		release(t, one)
		require.Error(t, one.Context().Err())
		one = other
	}
	require.Less(t, inUse(), before+pairs*100)
	release(t, one)
	release(t, outer)
	requireFree(t, store, "stock")
}

// The context of a hold continues while another that was made from it is held.
func TestInnerContextLastsWithWhatIsInside(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlease.Store) {
		p := start(t, store, "p")
		l := p.Reentrant("stock")
		outer := acquire(t, l)
		detached, err := l.Acquire(context.WithoutCancel(outer.Context()))
		require.NoError(t, err)
		inside, err := l.Acquire(context.WithoutCancel(detached.Context()))
		require.NoError(t, err)
		release(t, detached)
		release(t, outer)
		require.NoError(t, detached.Context().Err())
		release(t, inside)
		require.ErrorIs(t, context.Cause(detached.Context()), lease.ErrReleased)
		requireFree(t, store, "stock")
	})
}

// What an owner holds is held until as many holds have been released as were granted, whatever
// contexts they were made from and in whatever order they are released.
func TestReentrantHoldsAreCounted(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		store := new(memlease.Store)
		locks := lock.New(store)
		defer locks.Close()
		l := locks.Reentrant("stock")
		type owned struct {
			hold  *lock.Hold
			owner int
			over  bool
		}
		var (
			holds []*owned // also those that were released
			owner int      // of the last grant
			count int      // of its holds
			token int64
		)
		pick := func(r *rapid.T) *owned {
			if len(holds) == 0 {
				r.Skip()
			}
			return holds[rapid.IntRange(0, len(holds)-1).Draw(r, "hold")]
		}
		r.Repeat(map[string]func(*rapid.T){
			"enter from outside": func(r *rapid.T) {
				h, err := l.TryAcquire(context.Background())
				if count > 0 {
					require.ErrorIs(r, err, lease.ErrHeld)
					return
				}
				require.NoError(r, err)
				require.Greater(r, h.Token(), token)
				owner, count, token = owner+1, 1, h.Token()
				holds = append(holds, &owned{hold: h, owner: owner})
			},
			"enter from inside": func(r *rapid.T) {
				from := pick(r)
				ctx := from.hold.Context()
				switch rapid.IntRange(0, 2).Draw(r, "context") {
				case 0:
					ctx = context.WithoutCancel(ctx)
				case 1:
					inner, cancel := context.WithCancel(ctx)
					defer cancel() // too early for the lock acquired with it: that is still held
					ctx = inner
				}
				h, err := l.TryAcquire(ctx)
				if from.owner != owner || count == 0 {
					require.ErrorIs(r, err, lock.ErrOver)
					return
				}
				if ctx.Err() != nil { // its parent was cancelled, or its hold was released
					require.Error(r, err)
					return
				}
				require.NoError(r, err)
				require.Equal(r, token, h.Token())
				count++
				holds = append(holds, &owned{hold: h, owner: owner})
			},
			"release": func(r *rapid.T) {
				o := pick(r)
				require.NoError(r, o.hold.Release(context.Background()))
				if !o.over {
					o.over = true
					count--
				}
			},
			"": func(r *rapid.T) {
				for _, o := range holds {
					inside := o.owner == owner && count > 0
					require.Equal(r, inside, o.hold.Valid())
					if !inside {
						require.Eventually(r, func() bool { return o.hold.Context().Err() != nil }, 10*time.Second, time.Microsecond)
					}
				}
				v, err := locks.Inspect(context.Background(), "stock")
				require.NoError(r, err)
				require.Equal(r, count > 0, len(v.Holds) == 1)
			},
		})
	})
}
