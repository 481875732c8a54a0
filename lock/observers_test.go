package lock_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/lease/memlease"
	"github.com/solotick/solotick/lock"
)

func TestHarmfulObserverHarmsNoLock(t *testing.T) {
	for name, harm := range map[string]func(forever <-chan struct{}){
		"blocks": func(forever <-chan struct{}) { <-forever },
		"panics": func(<-chan struct{}) { panic("no") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				forever := make(chan struct{})
				var dropped, events atomic.Int64 // observers are called by several goroutines
				locks := lock.New(new(memlease.Store),
					lock.WithObserver(func(lock.Event) { harm(forever) }),
					lock.WithSyncObserver(func(e lock.Event) {
						if d, ok := e.(lock.EventsDropped); ok {
							dropped.Add(int64(d.Count))
						} else {
							events.Add(1)
						}
					}),
					lock.WithSyncObserver(func(lock.Event) { panic("no") }))
				const rounds = 10_000
				for range rounds {
					h, err := locks.Mutex("stock").Acquire(t.Context())
					require.NoError(t, err)
					require.NoError(t, h.Release(t.Context()))
				}
				synctest.Wait()
				require.EqualValues(t, 2*rounds, events.Load())
				require.Positive(t, dropped.Load())
				began := time.Now()
				locks.Close()
				require.LessOrEqual(t, time.Since(began), 4*time.Second)
				close(forever)
			})
		})
	}
}
