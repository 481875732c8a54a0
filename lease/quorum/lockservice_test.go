package quorum_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/lease/quorum"
	"github.com/solotick/solotick/lock"
)

// Three processes share locks while one node dies and comes back empty, and then another hangs: no
// more hold them than may, tokens rise, no holder loses its lock, and no waiter waits for longer
// than before.
func TestLocksGoOnWhileNodesDie(t *testing.T) {
	for name, kind := range map[string]struct {
		limit int
		of    func(*lock.Locks) lock.Lock
	}{
		"mutex":     {1, func(s *lock.Locks) lock.Lock { return s.Mutex("l", lock.WithTTL(3*time.Second)) }},
		"fair":      {1, func(s *lock.Locks) lock.Lock { return s.Mutex("l", lock.WithFairness(), lock.WithTTL(3*time.Second)) }},
		"semaphore": {2, func(s *lock.Locks) lock.Lock { return s.Semaphore("l", 2, lock.WithTTL(3*time.Second)) }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				list := newFakeNodes(3)
				for _, n := range list {
					n.fault = func() fault { return fault{before: time.Millisecond, after: time.Millisecond} }
				}
				seen := &service{t: t, limit: kind.limit}
				ctx, cancel := context.WithCancel(t.Context())
				var working sync.WaitGroup
				for i := range 3 {
					s := lock.New(openFake(t, list, quorum.WithTimeout(time.Second), quorum.WithTTL(3*time.Second)), lock.WithHolder(fmt.Sprint("p", i)))
					t.Cleanup(s.Close)
					for range 2 {
						working.Go(func() { seen.work(ctx, kind.of(s)) })
					}
				}
				for _, then := range []func(){
					func() {},
					func() { list[0].set(true) },
					func() { list[0].empty(); list[0].set(false) },
					func() { list[1].hang(true) }, // the first counts again by now
					func() { list[1].hang(false) },
				} {
					then()
					before := seen.grants()
					time.Sleep(5 * time.Second)
					require.Greater(t, seen.grants()-before, 8)
				}
				cancel()
				working.Wait()
				require.Less(t, seen.longest, 3*time.Second)
			})
		})
	}
}

// service counts who holds a lock.
type service struct {
	t     *testing.T
	limit int

	mu      sync.Mutex
	held    int
	granted int
	token   int64
	last    time.Time     // when one was granted
	longest time.Duration // between two grants
}

func (s *service) grants() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.granted
}

func (s *service) work(ctx context.Context, l lock.Lock) {
	for {
		h, err := l.Acquire(ctx)
		if err != nil {
			if ctx.Err() == nil {
				s.t.Error(err)
			}
			return
		}
		s.begin(h)
		time.Sleep(rand.N(400 * time.Millisecond))
		if ctx.Err() == nil && h.Context().Err() != nil {
			s.t.Error(context.Cause(h.Context()))
		}
		s.end()
		if err := h.Release(context.WithoutCancel(ctx)); err != nil {
			s.t.Error(err)
		}
	}
}

func (s *service) begin(h *lock.Hold) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held++; s.held > s.limit {
		s.t.Errorf("%d hold a lock of %d", s.held, s.limit)
	}
	if s.limit == 1 && h.Token() <= s.token { // else the answers of two grants may overtake each other
		s.t.Errorf("token %d after %d", h.Token(), s.token)
	}
	s.token = h.Token()
	if now := time.Now(); s.granted == 0 {
		s.last = now
	} else {
		s.longest, s.last = max(s.longest, now.Sub(s.last)), now
	}
	s.granted++
}

func (s *service) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held--
}
