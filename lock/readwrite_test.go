package lock_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/memlease"
	"github.com/solotick/solotick/lock"
)

func TestReadersShareAndAWriterIsAlone(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlease.Store) {
		p, q := start(t, store, "p"), start(t, store, "q")
		l, m := p.ReadWrite("book"), q.ReadWrite("book")
		require.Equal(t, "book", l.Reader().Name())
		first, second := acquire(t, l.Reader()), acquire(t, m.Reader())
		third := acquire(t, l.Reader()) // of the same process: counted by itself
		require.Greater(t, second.Token(), first.Token())
		requireHeld(t, l.Writer())
		w := begin(t.Context(), m.Writer())
		w.waits(t)
		for _, h := range []*lock.Hold{first, second} {
			release(t, h)
			w.waits(t)
		}
		release(t, third)
		writer := w.granted(t)
		requireHeld(t, l.Writer())
		requireHeld(t, m.Reader())
		var readers []*acquisition
		for range 20 {
			readers = append(readers, begin(t.Context(), l.Reader()), begin(t.Context(), m.Reader()))
		}
		time.Sleep(time.Minute)
		release(t, writer)
		released := time.Now()
		for _, r := range readers { // all of them at once
			r.granted(t)
		}
		require.Zero(t, time.Since(released))
		for _, r := range readers {
			release(t, r.hold)
		}
		requireFree(t, store, "book")
	})
}

// Each reader has a lease of its own: one that dies frees what it held, and nothing else.
func TestADeadReaderFreesItselfOnly(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlease.Store) {
		p, dead, q := start(t, store, "p"), start(t, store, "dead"), start(t, store, "q")
		lives, dies := acquire(t, p.ReadWrite("book").Reader()), acquire(t, dead.ReadWrite("book").Reader())
		dead.link.cut(fails)
		w := begin(t.Context(), q.ReadWrite("book").Writer())
		time.Sleep(3 * ttl)
		w.waits(t)
		require.Error(t, dies.Context().Err())
		require.True(t, lives.Valid())
		release(t, lives)
		released := time.Now()
		next := w.granted(t)
		require.LessOrEqual(t, time.Since(released), soon)
		release(t, next)
	})
}

// The order decides who is granted the lock first when readers hold it, a writer waits, and another
// reader comes.
func TestOrderDecidesWhoIsNext(t *testing.T) {
	for name, c := range map[string]struct {
		opts          []lock.Option
		readerPushes  bool // in before the writer that waits
		writersPasses bool // the reader that came before it
	}{
		"by arrival":    {nil, false, false},
		"writers first": {[]lock.Option{lock.WithWritersFirst()}, false, true},
		"readers first": {[]lock.Option{lock.WithAnyOrder()}, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, store *memlease.Store) {
				p, q, r := start(t, store, "p"), start(t, store, "q"), start(t, store, "r")
				first := acquire(t, p.ReadWrite("book", c.opts...).Reader())
				writer := begin(t.Context(), q.ReadWrite("book", c.opts...).Writer())
				writer.waits(t)
				reader := begin(t.Context(), r.ReadWrite("book", c.opts...).Reader())
				if c.readerPushes {
					release(t, reader.granted(t))
					release(t, first)
					release(t, writer.granted(t))
					return
				}
				reader.waits(t)
				release(t, first)
				h := writer.granted(t)
				reader.waits(t)
				another := begin(t.Context(), p.ReadWrite("book", c.opts...).Writer())
				another.waits(t)
				release(t, h)
				synctest.Wait()
				order := []*acquisition{reader, another}
				if c.writersPasses {
					order = []*acquisition{another, reader}
				}
				h = order[0].granted(t)
				order[1].waits(t)
				release(t, h)
				release(t, order[1].granted(t))
				requireFree(t, store, "book")
			})
		})
	}
}

// Writers are not starved by readers that come and go without end.
func TestOverlappingReadersDoNotStarveAWriter(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlease.Store) {
		p, q := start(t, store, "p"), start(t, store, "q")
		ctx, end := context.WithCancel(t.Context())
		done := make(chan struct{}, 4)
		for i := range cap(done) {
			go func() {
				defer func() { done <- struct{}{} }()
				time.Sleep(time.Duration(i) * 10 * time.Millisecond)
				for ctx.Err() == nil {
					h, err := p.ReadWrite("book").Reader().Acquire(ctx)
					if err == nil {
						time.Sleep(40 * time.Millisecond)
						_ = h.Release(ctx)
					}
				}
			}()
		}
		time.Sleep(time.Second)
		w := begin(t.Context(), q.ReadWrite("book").Writer())
		release(t, w.granted(t))
		require.LessOrEqual(t, w.took, 40*time.Millisecond)
		end()
		for range cap(done) {
			<-done
		}
	})
}

// A waiter at the head of the queue that gives up lets the waiters behind it through.
func TestAWriterThatGivesUpLetsReadersThrough(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlease.Store) {
		p, q := start(t, store, "p"), start(t, store, "q")
		first := acquire(t, p.ReadWrite("book").Reader())
		writer := begin(t.Context(), q.ReadWrite("book", lock.WithWaitTimeout(10*time.Second)).Writer())
		writer.waits(t)
		reader := begin(t.Context(), p.ReadWrite("book").Reader())
		reader.waits(t)
		<-writer.done
		require.ErrorIs(t, writer.err, lease.ErrHeld)
		h := reader.granted(t)
		require.Equal(t, 10*time.Second, reader.took)
		release(t, h)
		release(t, first)
		requireFree(t, store, "book")
	})
}

// A claim that waits for the end of the hold from which its context is does not begin to wait: it
// would stop all newcomers.
func TestReaderThatWantsToWriteIsRefused(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlease.Store) {
		p, q := start(t, store, "p"), start(t, store, "q")
		rw := p.ReadWrite("catalogue")
		r := acquire(t, rw.Reader())
		inner, err := rw.Reader().Acquire(r.Context())
		require.NoError(t, err)
		for _, how := range []func(context.Context) (*lock.Hold, error){rw.Writer().Acquire, rw.Writer().TryAcquire} {
			_, err = how(inner.Context())
			require.ErrorIs(t, err, lease.ErrPermanent)
			require.ErrorContains(t, err, `"catalogue": the context is that of a hold of this lock`)
		}
		release(t, acquire(t, q.ReadWrite("catalogue").Reader()))
		release(t, inner)
		_, err = p.Multi(p.Mutex("other"), rw.Writer()).Acquire(r.Context())
		require.ErrorIs(t, err, lease.ErrPermanent)
		writes := begin(t.Context(), rw.Writer()) // another caller of this process
		writes.waits(t)
		release(t, r)
		release(t, writes.granted(t))

		// Holds under each other's contexts count together.
		s := p.Semaphore("calls", 10)
		six, err := s.Take(6).Acquire(t.Context())
		require.NoError(t, err)
		three, err := s.Take(3).Acquire(six.Context())
		require.NoError(t, err)
		_, err = s.Take(2).Acquire(three.Context())
		require.ErrorIs(t, err, lease.ErrPermanent)
		one, err := s.Take(1).Acquire(three.Context())
		require.NoError(t, err)
		for _, h := range []*lock.Hold{one, three, six} {
			release(t, h)
		}
	})
}
