package lock_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/lease/memlease"
)

// network is between a process and the store. A request travels on when its caller has left, and may
// overtake another: so do those on several connections.
type network struct {
	*memlease.Store
	loses bool // requests and replies; and some requests come only after their caller's timeout

	mu   sync.Mutex
	rand *rand.Rand
}

const (
	networkLatency = 5 * time.Millisecond // at most, each way
	networkTimeout = time.Second
	networkLate    = 3 * time.Second // at most, of requests
)

func (n *network) draw(d time.Duration) time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	return time.Duration(n.rand.Int64N(int64(d)))
}

// chance is true p times in a hundred where the network loses.
func (n *network) chance(p int) bool {
	return n.loses && n.draw(100) < time.Duration(p)
}

// carry sends a request whose reply is kept by do.
func (n *network) carry(ctx context.Context, do func()) error {
	there, back := n.draw(networkLatency), n.draw(networkLatency)
	if n.chance(5) {
		there = n.draw(networkLate)
	}
	lost, unanswered := n.chance(5), n.chance(5)
	replied := make(chan struct{})
	if !lost {
		time.AfterFunc(there, func() {
			do()
			if !unanswered {
				time.AfterFunc(back, func() { close(replied) })
			}
		})
	}
	timeout := time.NewTimer(networkTimeout)
	defer timeout.Stop()
	select {
	case <-replied:
		return nil
	case <-timeout.C:
		return errDown
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (n *network) ClaimLock(ctx context.Context, c protocol.LockClaim) (protocol.LockAnswer, error) {
	var a protocol.LockAnswer
	var err error
	if failed := n.carry(ctx, func() { a, err = n.Store.ClaimLock(context.Background(), c) }); failed != nil {
		return protocol.LockAnswer{}, failed
	}
	return a, err
}

func (n *network) RenewLocks(ctx context.Context, grants []protocol.LockGrant) []error {
	var replied []error // late, too, when the caller has left: then it is nobody's
	failed := n.carry(ctx, func() { replied = n.Store.RenewLocks(context.Background(), grants) })
	if failed == nil {
		return replied
	}
	answers := make([]error, len(grants))
	for i := range answers {
		answers[i] = failed
	}
	return answers
}

func (n *network) ReleaseLock(ctx context.Context, g protocol.LockGrant) error {
	var err error
	if failed := n.carry(ctx, func() { err = n.Store.ReleaseLock(context.Background(), g) }); failed != nil {
		return failed
	}
	return err
}
