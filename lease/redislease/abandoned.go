package redislease

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/sleep"
)

// abandonedClaims are the grants that nobody will hold: too few replicas have them, and the claims
// have failed. They are released in the background, since the caller may not wait any longer.
type abandonedClaims struct {
	life context.Context // of the store
	end  context.CancelFunc

	mu      sync.Mutex
	closed  bool
	pending map[claimID]chan struct{} // closed when the grant is released or has run out
	all     sync.WaitGroup
}

// claimID identifies a claim to the server.
type claimID struct {
	name            string
	lock            bool
	tick            int64
	holder, request string
}

func claimIDOf(c *protocol.Claim) claimID {
	return claimID{name: c.Name, tick: c.Tick, holder: c.Holder, request: c.Request}
}

func newAbandonedClaims() *abandonedClaims {
	u := &abandonedClaims{pending: map[claimID]chan struct{}{}}
	u.life, u.end = context.WithCancel(context.Background())
	return u
}

// add has what a claim was granted released. It is over at the latest when its TTL is.
func (u *abandonedClaims) add(id claimID, ttl time.Duration, release func(ctx context.Context) error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.closed || u.pending[id] != nil {
		return
	}
	done := make(chan struct{})
	u.pending[id] = done
	u.all.Go(func() {
		ctx, cancel := context.WithTimeout(u.life, ttl)
		defer cancel()
		giveUp(ctx, release)
		u.mu.Lock()
		delete(u.pending, id)
		u.mu.Unlock()
		close(done)
	})
}

func giveUp(ctx context.Context, release func(ctx context.Context) error) {
	const least, most = 25 * time.Millisecond, time.Second
	for failures := 0; ; failures++ {
		err := release(ctx)
		if err == nil || errors.Is(err, protocol.ErrFenced) || errors.Is(err, ErrReplicas) {
			return // released, whether or not the replicas know
		}
		if !sleep.For(ctx, sleep.Backoff(failures, least, most)) {
			return
		}
	}
}

// await waits until an earlier grant of the same claim is released. Else the same request would be
// granted a lease that is about to be released.
func (u *abandonedClaims) await(ctx context.Context, id claimID) error {
	u.mu.Lock()
	done := u.pending[id]
	u.mu.Unlock()
	if done == nil {
		return nil
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// close ends the releases that are under way and waits for them.
func (u *abandonedClaims) close() {
	u.mu.Lock()
	u.closed = true
	u.mu.Unlock()
	u.end()
	u.all.Wait()
}
