package scheduler

import (
	"context"
	"time"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease"
)

// retries are the failed runs under one lease that were followed by another run, for the history.
type retries struct {
	runs  []wire.Run // the newest, oldest first
	began time.Time  // when the one that follows them did, by fleet time
}

// maxRetryError bounds the text of an error that is kept until the tick is settled, in bytes.
const maxRetryError = 256

func (c *contender) onRetry(run jobs.Run, err error, wait time.Duration) {
	failed := wire.Run{
		Attempt: run.Attempt, Ended: c.s.clock.Now().Truncate(time.Millisecond), End: wire.RunRetried, Error: protocol.Cut(err.Error(), maxRetryError),
	}
	c.mu.Lock()
	if c.retried == nil {
		c.retried = make(map[int64]retries)
	}
	r := c.retried[run.Token]
	failed.Started, r.began = r.began, failed.Ended
	r.runs = append(r.runs[max(0, len(r.runs)-wire.MaxRetried+1):], failed)
	c.retried[run.Token] = r
	spec := c.Spec
	c.unlock()
	c.s.failing.Add(run, spec, err, failed.Ended, wait)
	c.s.observe(RunRetried{Run: run, Err: err, Wait: wait})
}

// recordAttempt records a retry in the store, so that a takeover continues its count. The lease
// stays good even if that fails.
func (c *contender) recordAttempt(ctx context.Context, run jobs.Run) {
	if l, ok := run.Lease.(*lease.Lease); ok {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		_ = l.SetAttempt(ctx, run.Attempt)
	}
	c.mu.Lock()
	defer c.unlock()
	if r, ok := c.retried[run.Token]; ok {
		r.began = c.s.clock.Now().Truncate(time.Millisecond)
		c.retried[run.Token] = r
	}
}

// takeRetries returns and forgets the failed runs under a lease that has ended.
func (c *contender) takeRetries(token int64) retries {
	c.mu.Lock()
	defer c.unlock()
	r, known := c.retried[token]
	if known {
		delete(c.retried, token)
		c.s.failing.End(c.name, token)
	}
	return r
}

// runBefore returns the last run of the holder from which a tick was taken over.
func runBefore(a protocol.Answer) *wire.Run {
	r := &wire.Run{
		Attempt: a.Former.Attempt, Replica: a.Former.Holder, Token: a.Former.Token, Started: time.UnixMicro(a.Former.Token),
		Ended: a.Former.Ended, End: wire.RunExpired,
	}
	if r.Ended.IsZero() {
		r.Ended, r.End = a.Now, wire.RunReleased
	}
	return r
}
