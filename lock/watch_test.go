package lock_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/lease/memlease"
	"github.com/solotick/solotick/lock"
)

// sight is one result of a watch: the holders, or an error.
type sight struct {
	holders []string
	err     error
	at      time.Time
}

func holdersOf(v lock.State) (holders []string) {
	for _, h := range v.Holds {
		holders = append(holders, h.Holder)
	}
	return holders
}

// watch watches in a goroutine until ctx ends, and then closes the channel.
func watch(ctx context.Context, p *process, name string) <-chan sight {
	seen := make(chan sight, 1000)
	go func() {
		defer close(seen)
		for v, err := range p.Watch(ctx, name) {
			seen <- sight{holdersOf(v), err, time.Now()}
		}
	}()
	return seen
}

func TestWatchSeesNotifiedHoldersAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlease.Store) {
		p, q, r := start(t, store, "p"), start(t, store, "q"), start(t, store, "r")
		ctx, end := context.WithCancel(t.Context())
		seen := watch(ctx, r, "stock")
		require.Empty(t, (<-seen).holders)
		for range 3 {
			for holder, m := range map[string]*process{"p": p, "q": q} {
				time.Sleep(10 * time.Second)
				require.Empty(t, seen, "nothing has changed")
				h := acquire(t, m.Mutex("stock", lock.WithBroadcast()))
				acquired := time.Now()
				s := <-seen
				require.Equal(t, []string{holder}, s.holders)
				require.Equal(t, acquired, s.at)
				time.Sleep(time.Minute)
				require.Empty(t, seen, "a renewal changes nothing")
				release(t, h)
				released := time.Now()
				s = <-seen
				require.Empty(t, s.holders)
				require.Equal(t, released, s.at)
			}
		}
		end()
		_, more := <-seen
		require.False(t, more)
	})
}

func TestWatchSeesOtherHoldersWithinASecond(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlease.Store) {
		p, r := start(t, store, "p"), start(t, store, "r")
		r.link.set(func(l *link) { l.deaf = names })
		ctx, end := context.WithCancel(t.Context())
		seen := watch(ctx, r, "pool")
		<-seen
		first := acquire(t, p.Semaphore("pool", 2))
		acquired := time.Now()
		s := <-seen
		require.Len(t, s.holders, 1)
		require.LessOrEqual(t, s.at.Sub(acquired), 1200*time.Millisecond)
		second := acquire(t, p.Semaphore("pool", 2))
		require.Len(t, (<-seen).holders, 2)

		// A lease that runs out causes no notification.
		p.link.cut(fails)
		v, err := store.Lock(t.Context(), "pool")
		require.NoError(t, err)
		runsOut := time.Now().Add(max(v.Holds[0].Remaining, v.Holds[1].Remaining))
		for s = <-seen; len(s.holders) > 0; s = <-seen {
		}
		require.GreaterOrEqual(t, s.at, runsOut)
		require.LessOrEqual(t, s.at.Sub(runsOut), time.Second/50)
		p.link.cut(nil)
		release(t, first)
		release(t, second)
		end()
		for range seen {
		}
	})
}

func TestWatchReportsAnOutageOnce(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlease.Store) {
		p, r := start(t, store, "p"), start(t, store, "r")
		h := acquire(t, p.Mutex("stock"))
		ctx, end := context.WithCancel(t.Context())
		seen := watch(ctx, r, "stock")
		require.Equal(t, []string{"p"}, (<-seen).holders)
		for range 2 {
			r.link.set(func(l *link) { l.look = fails })
			time.Sleep(10 * time.Second)
			require.ErrorIs(t, (<-seen).err, errDown)
			require.Empty(t, seen)
			r.link.set(func(l *link) { l.look = nil })
			time.Sleep(2 * time.Second)
			s := <-seen
			require.NoError(t, s.err)
			require.Equal(t, []string{"p"}, s.holders)
		}
		end()
		for range seen { // until it has ended
		}
		release(t, h)
	})
}

func TestAWatchEndsWithItsProcess(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlease.Store) {
		p := start(t, store, "p")
		seen := watch(t.Context(), p, "stock")
		require.NoError(t, (<-seen).err)
		synctest.Wait()
		p.Close()
		require.ErrorIs(t, (<-seen).err, lock.ErrClosed)
		_, more := <-seen
		require.False(t, more)
		for _, err := range p.Watch(t.Context(), "stock") {
			require.ErrorIs(t, err, lock.ErrClosed)
		}
	})
}
