package lock_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/lease/memlease"
	"github.com/solotick/solotick/lock"
)

func TestTryAcquireReleasesUnknownGrants(t *testing.T) {
	for name, f := range map[string]fault{"the reply is lost": failsAfterwards, "no reply comes": losesTheReply} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, store *memlease.Store) {
				p := start(t, store, "p")
				p.link.set(func(l *link) { l.claim, l.release = f, firstThen(5, fails, nil) })
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				_, err := p.Mutex("stock").TryAcquire(ctx)
				require.Error(t, err)
				time.Sleep(2 * time.Second)
				requireFree(t, store, "stock")
			})
		})
	}
}

// However many do not know what they were granted, few goroutines see to it.
func TestAnOutageLeavesFewGoroutinesBehind(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlease.Store) {
		p := start(t, store, "p")
		synctest.Wait()
		p.link.set(func(l *link) { l.claim, l.release = failsAfterwards, fails })
		before := runtime.NumGoroutine()
		for i := range 1000 {
			_, err := p.Mutex(fmt.Sprintf("stock%d", i)).TryAcquire(t.Context())
			require.ErrorIs(t, err, errDown)
		}
		synctest.Wait()
		require.Less(t, runtime.NumGoroutine(), before+50)
		time.Sleep(time.Second)
		p.link.cut(nil)
		time.Sleep(2 * time.Second)
		for i := range 1000 {
			requireFree(t, store, fmt.Sprintf("stock%d", i))
		}
		require.Less(t, p.link.releases.Load(), int64(1300))
		require.LessOrEqual(t, runtime.NumGoroutine(), before)

		// What has run out by itself is not given back any more.
		p.link.cut(failsAfterwards)
		_, err := p.Mutex("stock").TryAcquire(t.Context())
		require.ErrorIs(t, err, errDown)
		time.Sleep(ttl)
		releases := p.link.releases.Load()
		time.Sleep(ttl)
		require.Equal(t, releases, p.link.releases.Load())
	})
}

// A lock that was granted without one's knowing is not held against those of the same process, nor
// oneself.
func TestGrantWhoseAnswerWasLostIsFoundAgain(t *testing.T) {
	for name, opts := range map[string][]lock.Option{"any": nil, "fair": {lock.WithFairness()}} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, store *memlease.Store) {
				p, q := start(t, store, "p"), start(t, store, "q")
				h := acquire(t, q.Mutex("stock", opts...))
				first := begin(t.Context(), p.Mutex("stock", opts...))
				first.waits(t) // the process's queue is not empty
				p.link.set(func(l *link) { l.claim = firstThen(1, failsAfterwards, nil) })
				release(t, h)
				synctest.Wait() // first is granted it, and does not know
				second := begin(t.Context(), p.Mutex("stock", opts...))
				got := first.granted(t)
				require.Less(t, first.took, time.Second/10)
				second.waits(t)
				release(t, got)
				release(t, second.granted(t))
				requireFree(t, store, "stock")
			})
		})
	}
}

func TestUnknownGrantIsFoundBeforeQueueing(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlease.Store) {
		p, q := start(t, store, "p"), start(t, store, "q")
		h := acquire(t, q.Mutex("stock"))
		queued := begin(t.Context(), p.Mutex("stock"))
		queued.waits(t)
		p.link.set(func(l *link) { // messages are lost, so that the lock is free for a while
			l.deaf = names
			l.claim = firstThen(1, failsAfterwards, nil)
		})
		release(t, h)
		began := time.Now()
		w := begin(t.Context(), p.Mutex("stock")) // is granted it, and does not know
		release(t, w.granted(t))
		require.Less(t, time.Since(began), time.Second/10)
		release(t, queued.granted(t))
		requireFree(t, store, "stock")
	})
}
