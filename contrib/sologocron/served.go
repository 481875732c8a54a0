package sologocron

import (
	"context"
	"time"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/lease"
)

// ranElsewhere is the note of a tick that was granted to a replica and that it did not run, since
// another replica had run in between.
const ranElsewhere = "ran on another replica"

// since returns when the period that a call stands for began, at fleet time now: with this
// replica's call before, or with the Locker. A replica has the same period as the others for the
// same job, so a run of another one within it is the run of this period. No period and no phase
// need to be known for that.
//
// Clocks that differ let the run of one tick come that much before the call of another replica. So
// the period begins half a grain before the call at the latest.
func (l *Locker) since(job string, called, now time.Time) time.Time {
	l.mu.Lock()
	before, ok := l.calls[job]
	if !ok {
		before = l.made
	}
	l.calls[job] = called
	l.mu.Unlock()
	return now.Add(-max(called.Sub(before), l.grain/2))
}

// servedSince reports whether another replica has run the job since a moment, or runs it.
func (l *Locker) servedSince(ctx context.Context, name string, since time.Time) (served bool, watermark int64, err error) {
	r, err := l.store.Inspect(ctx, name)
	if err != nil {
		return false, 0, err
	}
	other := func(tick int64, holder string) bool { return tick > since.UnixMilli() && holder != l.holder }
	for _, open := range r.Open {
		served = served || other(open.Tick, open.Holder)
	}
	for _, s := range r.Settled {
		served = served || other(s.Tick, s.Holder) && s.Note != ranElsewhere
	}
	return served, r.Watermark, nil
}

// acquireNext is granted a tick at fleet time now, unless another replica has run since.
func (l *Locker) acquireNext(ctx context.Context, name string, since, now time.Time) (*lease.Lease, error) {
	served, watermark, err := l.servedSince(ctx, name, since)
	if err != nil {
		return nil, err
	}
	if served {
		return nil, lease.ErrDecided
	}
	held, err := l.acquire(ctx, name, max(now.UnixMilli(), watermark+1), time.Time{})
	if err != nil {
		return nil, err
	}
	// Nobody else is granted a tick as long as this one is held. So what ran between the look and
	// the grant is seen now, and nothing comes after it.
	served, _, err = l.servedSince(ctx, name, since)
	if err == nil && !served {
		return held, nil
	}
	if err == nil {
		err = lease.ErrDecided
	}
	held.SetNote(ranElsewhere)
	_ = held.Settle(context.WithoutCancel(ctx), protocol.OutcomeSkipped) // it runs out, otherwise
	return nil, err
}
