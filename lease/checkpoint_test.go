package lease_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/lease"
)

// ofTick claims a tick that may be taken over.
func ofTick(name string, tick int64) protocol.Claim {
	c := claim(name)
	c.Tick, c.Takeovers = tick, 9
	return c
}

func checkpoint(l *lease.Lease, data string, sync bool) error {
	if err := l.Checkpoint(context.Background(), lease.Checkpoint{Data: []byte(data)}); err != nil || !sync {
		return err
	}
	return l.Sync(context.Background())
}

// stored returns what the store has of the tick of l, "" if that is nothing.
func stored(t *testing.T, store lease.Store, l *lease.Lease) string {
	t.Helper()
	list, err := store.Checkpoints(t.Context(), l.Name())
	require.NoError(t, err)
	for _, c := range list {
		if c.Tick == l.Tick() {
			return string(c.Data)
		}
	}
	return ""
}

func position(t *testing.T, l *lease.Lease) string {
	t.Helper()
	c, err := l.Position(t.Context())
	require.NoError(t, err)
	return string(c.Data)
}

func TestNewestCheckpointIsWrittenWithinAThirdOfTheTTL(t *testing.T) {
	forTerms(t, func(t *testing.T, ttl time.Duration) {
		if ttl < 50*time.Millisecond { // a call is given 10 ms
			return
		}
		synctest.Test(t, func(t *testing.T) {
			store := &faulty{}
			c := ofTick("job", 1)
			c.TTL = ttl
			l := acquire(t, newRenewer(t, store), c)
			for range 3 {
				before := store.checkpoints.Load()
				for i := range 100 {
					require.NoError(t, checkpoint(l, fmt.Sprint(i), false))
				}
				time.Sleep(ttl/3 - 1)
				require.Equal(t, "99", stored(t, store, l))
				require.Equal(t, before+1, store.checkpoints.Load())
			}
		})
	})
}

func TestSyncedCheckpointIsWrittenWhenItReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &faulty{onCheckpoint: answersAfter(time.Millisecond)}
		l := acquire(t, newRenewer(t, store), ofTick("job", 1))
		began := time.Now()
		require.NoError(t, checkpoint(l, "old", false))
		for i := range 5 {
			require.NoError(t, checkpoint(l, fmt.Sprint(i), true))
			require.Equal(t, fmt.Sprint(i), stored(t, store, l))
		}
		require.Equal(t, 5*time.Millisecond, time.Since(began))
	})
}

func TestHundredRunsCheckpointInOneCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &faulty{onCheckpoint: answersAfter(time.Millisecond)}
		k := newRenewer(t, store)
		var leases []*lease.Lease
		for i := range 100 {
			leases = append(leases, acquire(t, k, ofTick(fmt.Sprint("job", i), 1)))
		}
		var all sync.WaitGroup
		for range 3 {
			before := store.checkpoints.Load()
			for _, l := range leases {
				all.Go(func() { require.NoError(t, checkpoint(l, "here", true)) })
			}
			all.Wait()
			require.LessOrEqual(t, store.checkpoints.Load()-before, int64(2), "the first may go alone")
			time.Sleep(time.Second)
		}
	})
}

func TestRefusedCheckpointSaysTheCause(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(t *testing.T, store *faulty, l *lease.Lease)
		want []error
	}{
		"lost":      {func(_ *testing.T, _ *faulty, l *lease.Lease) { <-l.Context().Done() }, []error{lease.ErrFenced, lease.ErrLost}},
		"settled":   {func(t *testing.T, _ *faulty, l *lease.Lease) { require.NoError(t, l.Settle(t.Context(), "failed")) }, []error{lease.ErrReleased}},
		"abandoned": {func(_ *testing.T, _ *faulty, l *lease.Lease) { l.Abandon() }, []error{lease.ErrReleased}},
		"cancelled": {func(t *testing.T, store *faulty, l *lease.Lease) {
			_, err := store.Cancel(t.Context(), protocol.Cancel{Name: "job", Tick: 1, By: "me"})
			require.NoError(t, err)
			<-l.Context().Done()
		}, []error{lease.ErrCancelled}},
		"taken over": {func(t *testing.T, store *faulty, l *lease.Lease) {
			g := protocol.Checkpoint{Name: "job", Tick: 1, Token: l.Token() + 1, Data: []byte("newer"), Remaining: time.Minute}
			require.NoError(t, store.Checkpoint(t.Context(), []protocol.Checkpoint{g})[0])
		}, []error{lease.ErrFenced, lease.ErrLost}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &faulty{}
				if name == "lost" {
					store.onRenew = fails
				}
				l := acquire(t, newRenewer(t, store), ofTick("job", 1))
				c.end(t, store, l)
				for _, want := range c.want {
					require.ErrorIs(t, checkpoint(l, "late", true), want)
				}
				require.NotEqual(t, "late", stored(t, store, l))
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		store := &faulty{}
		k := newRenewer(t, store)
		gone := errors.New("gone")
		ctx, cancel := context.WithCancelCause(t.Context())
		l := acquire(t, k, ofTick("job", 1))
		cancel(gone)
		require.ErrorIs(t, l.Checkpoint(ctx, lease.Checkpoint{}), gone)
		require.Error(t, checkpoint(acquire(t, k, claim("lock")), "x", false), "a lock has no tick")
		require.ErrorIs(t, l.Checkpoint(t.Context(), lease.Checkpoint{Data: make([]byte, 4097)}), lease.ErrPermanent)
		store.onCheckpoint = hangs
		ctx, cancel = context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(gone) })
		require.NoError(t, l.Checkpoint(ctx, lease.Checkpoint{}))
		require.ErrorIs(t, l.Sync(ctx), gone)
	})
}

func TestNextAttemptGetsThePosition(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, l *lease.Lease){
		"released": func(t *testing.T, l *lease.Lease) { require.NoError(t, l.Release(t.Context())) },
		"died": func(_ *testing.T, l *lease.Lease) {
			time.Sleep(5 * time.Second) // a third of the TTL
			l.Abandon()
			time.Sleep(20 * time.Second)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &faulty{}
				first := acquire(t, newRenewer(t, store), ofTick("job", 1))
				require.Empty(t, position(t, first))
				require.NoError(t, checkpoint(first, "here", false))
				require.Equal(t, "here", position(t, first), "also before it is written")
				other := acquire(t, newRenewer(t, store), ofTick("job", 2))
				require.NoError(t, checkpoint(other, "elsewhere", true))
				end(t, first)

				k := newRenewer(t, store)
				second := acquire(t, k, byAnother(ofTick("job", 1)))
				require.Equal(t, 2, second.Attempt())
				require.Equal(t, "here", position(t, second))
				require.NoError(t, checkpoint(second, "there", false))
				require.Equal(t, "there", position(t, second))
				require.NoError(t, second.Settle(t.Context(), "failed"))
				require.Equal(t, "there", stored(t, store, second), "for people")
			})
		})
	}
}

func TestSuccessClearsTheCheckpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &faulty{}
		k := newRenewer(t, store)
		l := acquire(t, k, ofTick("job", 1))
		require.NoError(t, l.Settle(t.Context(), lease.OutcomeSucceeded))
		synctest.Wait()
		require.Zero(t, store.checkpoints.Load(), "one that made none costs nothing")

		l = acquire(t, k, ofTick("job", 2))
		require.NoError(t, checkpoint(l, "here", true))
		require.NoError(t, checkpoint(l, "there", false))
		require.NoError(t, l.Settle(t.Context(), lease.OutcomeSucceeded))
		synctest.Wait()
		require.Empty(t, stored(t, store, l))

		l = acquire(t, k, ofTick("job", 3))
		require.NoError(t, checkpoint(l, "here", true))
		require.NoError(t, l.Release(t.Context()))
		l = acquire(t, k, byAnother(ofTick("job", 3)))
		require.Equal(t, "here", position(t, l))
		require.NoError(t, l.Settle(t.Context(), lease.OutcomeSucceeded))
		synctest.Wait()
		require.Empty(t, stored(t, store, l), "of the attempt before")
	})
}

func TestFailedCheckpointsEndNothing(t *testing.T) {
	for name, f := range map[string]fault{"fails": fails, "loses the reply": losesTheReply, "hangs": hangs} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var works atomic.Bool
				store := &faulty{onCheckpoint: func(ctx context.Context, do func() error) error {
					if works.Load() {
						return do()
					}
					return f(ctx, do)
				}}
				l := acquire(t, newRenewer(t, store), ofTick("job", 1))
				require.NoError(t, checkpoint(l, "here", false))
				_ = checkpoint(l, "there", false)
				require.Error(t, l.Sync(t.Context()))
				time.Sleep(time.Minute)
				requireHeld(t, l)
				require.Error(t, checkpoint(l, "there", false), "what was made a minute ago is not written")
				require.Equal(t, "there", position(t, l))
				works.Store(true)
				time.Sleep(5 * time.Second)
				require.Equal(t, "there", stored(t, store, l))
				require.NoError(t, checkpoint(l, "done", false))

				works.Store(false)
				began := time.Now()
				require.NoError(t, l.Settle(t.Context(), "failed"))
				require.LessOrEqual(t, time.Since(began), time.Second)
			})
		})
	}
}
