package lease

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/steady"
)

// Margin is for tests that compare instants exactly.
var Margin = margin

// AcquireAs is Acquire for a claim with all fields that stores know.
func (k *Renewer) AcquireAs(ctx context.Context, c protocol.Claim) (*Lease, error) {
	if c.Request == "" {
		c.Request = protocol.NewRequest()
	}
	return k.acquire(ctx, c)
}

// Suspendable lets the test suspend the machine: what the returned function is called with passes,
// though the monotonic clock stands still.
func Suspendable(t *testing.T) (suspend func(time.Duration)) {
	var total atomic.Int64
	t.Cleanup(steady.ReplaceSuspended(func(time.Time) time.Duration { return time.Duration(total.Load()) }))
	return func(d time.Duration) { total.Add(int64(d)) }
}
