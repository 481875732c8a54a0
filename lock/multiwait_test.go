package lock_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/memlease"
	"github.com/solotick/solotick/lock"
)

// TestWaitLimitBoundsSeveralLocksAsWhole has one lock or the other held all the time.
func TestWaitLimitBoundsSeveralLocksAsWhole(t *testing.T) {
	for name, limits := range map[string][2]time.Duration{
		"both": {300 * time.Millisecond, 300 * time.Millisecond}, "one": {0, 300 * time.Millisecond}, "shortest": {time.Hour, 300 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, store *memlease.Store) {
				p, q := start(t, store, "p"), start(t, store, "q")
				ctx, cancel := context.WithCancel(t.Context())
				var others sync.WaitGroup
				held := acquire(t, q.Mutex("a", lock.WithFairness()))
				others.Go(func() {
					for i := 1; ctx.Err() == nil; i++ {
						time.Sleep(100 * time.Millisecond)
						next := acquire(t, q.Mutex([]string{"a", "b"}[i%2], lock.WithFairness()))
						release(t, held)
						held = next
					}
				})
				began := time.Now()
				_, err := p.Multi(p.Mutex("a", lock.WithWaitTimeout(limits[0])), p.Mutex("b", lock.WithWaitTimeout(limits[1]))).Acquire(ctx)
				require.ErrorIs(t, err, lease.ErrHeld)
				require.ErrorContains(t, err, "wait timeout")
				require.InDelta(t, 300*time.Millisecond, time.Since(began), float64(50*time.Millisecond))
				cancel()
				others.Wait()
				release(t, held)
				time.Sleep(time.Second)
				requireFree(t, store, "a")
				requireFree(t, store, "b")
			})
		})
	}
}

// TestWhoWaitsForSeveralIsOvertakenSeldom has processes take plain mutexes together, in different
// orders, of which every fourth holder dies.
func TestWhoWaitsForSeveralIsOvertakenSeldom(t *testing.T) {
	const processes, each = 6, 60
	const most = 4 * processes
	bubble(t, func(t *testing.T, store *memlease.Store) {
		var mu sync.Mutex
		grants, worst, longest := 0, 0, time.Duration(0)
		var working sync.WaitGroup
		for i := range processes {
			working.Go(func() {
				p := process{}
				for n := range each {
					if p.Locks == nil {
						p = *joins(t, store, fmt.Sprintf("p%d.%d", i, n))
					}
					var locks []lock.Lock
					for _, name := range []int{i, i + 1, i + 2} {
						locks = append(locks, p.Mutex(fmt.Sprint("m", name%3), lock.WithTTL(2*time.Second)))
					}
					mu.Lock()
					before := grants
					mu.Unlock()
					began := time.Now()
					h, err := p.Multi(locks...).Acquire(t.Context())
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					worst, longest = max(worst, grants-before), max(longest, time.Since(began))
					grants++
					mu.Unlock()
					if rand.N(4) == 0 {
						p.link.cut(fails)
						p.Close()
						p = process{}
						continue
					}
					time.Sleep(rand.N(20 * time.Millisecond))
					if err := h.Release(t.Context()); err != nil {
						t.Error(err)
					}
				}
				if p.Locks != nil {
					p.Close()
				}
			})
		}
		working.Wait()
		t.Logf("overtaken %d times at most, waited %v at most", worst, longest)
		require.LessOrEqual(t, worst, most)
	})
}

// joins is start for a process that may die: it is closed by the test. Calls of its store take a
// moment.
func joins(t *testing.T, store *memlease.Store, holder string) *process {
	p := &process{t: t, link: &link{Store: store}}
	p.Locks = lock.New(p.link, lock.WithHolder(holder))
	p.link.cut(func(_ context.Context, do func() error) error {
		time.Sleep(rand.N(time.Millisecond))
		defer time.Sleep(rand.N(time.Millisecond))
		return do()
	})
	return p
}

// Multis that keep what they have do not wait for each other in a ring, whatever the order of their
// names.
func TestSeveralInOrderDoNotDeadlock(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlease.Store) {
		names := []string{"a", "b", "c", "d"}
		var working sync.WaitGroup
		for i := range 8 {
			p := joins(t, store, fmt.Sprint("p", i))
			defer p.Close()
			working.Go(func() {
				for range 30 {
					some := slices.Clone(names)
					rand.Shuffle(len(some), func(i, j int) { some[i], some[j] = some[j], some[i] })
					var locks []lock.Lock
					for _, name := range some[:2+rand.N(3)] {
						locks = append(locks, p.Mutex(name))
					}
					ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
					h, err := p.Multi(locks...).Acquire(ctx)
					if err != nil {
						t.Error(err)
					} else {
						time.Sleep(rand.N(50 * time.Millisecond))
						_ = h.Release(ctx)
					}
					cancel()
				}
			})
		}
		working.Wait()
		time.Sleep(time.Second)
		for _, name := range names {
			requireFree(t, store, name)
		}
	})
}

// TestSeveralLocksOutlastAShortMaxHold has one lock that may not be held for as long as the other
// has to be waited for.
func TestSeveralLocksOutlastAShortMaxHold(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlease.Store) {
		p, q := start(t, store, "p"), start(t, store, "q")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var others sync.WaitGroup
		for range 2 { // one holds it, and one waits for it
			others.Go(func() {
				for ctx.Err() == nil {
					h, err := q.Mutex("b", lock.WithFairness()).Acquire(ctx)
					if err == nil {
						time.Sleep(3 * time.Second)
						_ = h.Release(t.Context())
					}
				}
			})
		}
		synctest.Wait()
		h, err := p.Multi(p.Mutex("a", lock.WithMaxHold(time.Second)), p.Mutex("b")).Acquire(ctx)
		require.NoError(t, err)
		require.True(t, h.Valid())
		require.NoError(t, h.Release(t.Context()))
		cancel()
		others.Wait()
	})
}
