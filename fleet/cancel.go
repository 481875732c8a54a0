package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
)

// Cancelled is the answer to [Fleet.Cancel].
type Cancelled struct {
	// Status is pending when a replica runs the tick, and is notified; settled when it has ended as
	// cancelled; not_open when it was settled otherwise, or never opened.
	Status    protocol.CancelStatus `api:"status"`
	Job       string                `api:"job"`
	Tick      time.Time             `api:"tick"`
	ID        string                `api:"id"`      // the tick's identity, as jobs.Run.TickID
	By        string                `api:"by"`      // who cancelled it first; empty when it was not open
	Replica   string                `api:"replica"` // that runs it, of pending
	Remaining time.Duration         `api:"left_ms"` // of its lease, after which the tick is settled as cancelled even if that replica is gone

	Entry *Entry `api:"entry"` // the tick's entry once Await has returned; Cancel leaves it nil
}

// ErrNotCancellable is returned by [Fleet.Cancel] for a leader task.
var ErrNotCancellable = errors.New("fleet: a leader task starts again wherever its run ends: pause it to end it")

// Cancel ends a tick of a job that is open: it is settled as cancelled, and never runs again. A
// replica that runs it is notified at once and cancels the run's context with a
// [*lease.CancelledError]. One that is frozen or gone keeps the tick until its lease runs out. A
// tick that waits, also for a replica to take it over, is settled at once. To repeat a cancel
// changes nothing. It returns before the run has ended: see [Fleet.Await].
//
// It returns [ErrUnknown] for a job that no replica has ever contended for, and
// [ErrNotCancellable] for the zero time, which is the tick of a leader task.
func (f *Fleet) Cancel(ctx context.Context, job string, tick time.Time, act Act) (Cancelled, error) {
	if tick.IsZero() {
		return Cancelled{}, fmt.Errorf("job %q: %w", job, ErrNotCancellable)
	}
	request := protocol.Cancel{Name: job, Tick: tick.UnixMilli(), By: act.By}
	if err := errors.Join(act.check(), request.Validate()); err != nil {
		return Cancelled{}, err
	}
	var a protocol.Cancelled
	_, err := again(ctx, func() (err error) {
		a, err = f.store.Cancel(ctx, request)
		return err
	})
	if err != nil {
		return Cancelled{}, named(job, err)
	}
	if a.By == act.By && a.Status != protocol.CancelNotOpen { // not of one that another has cancelled before
		fact := act.fact(wire.FactCancelled)
		fact.Tick = tick
		f.Note(ctx, job, fact)
	}
	return Cancelled{
		Status: a.Status, Job: job, Tick: tick.UTC(), ID: f.tickID(job, tick), By: a.By, Replica: a.Holder, Remaining: a.Remaining,
	}, nil
}

// Open returns the ticks of a job that are not settled, newest first. That of a leader task has the
// zero time.
func (f *Fleet) Open(ctx context.Context, job string) ([]Entry, error) {
	r, err := f.store.Inspect(ctx, job)
	if err != nil {
		return nil, err
	}
	if r.Watermark == 0 && r.Token == 0 && len(r.Open) == 0 {
		return nil, fmt.Errorf("job %q: %w", job, protocol.ErrUnknown)
	}
	return entries(f.namespace, r)[:len(r.Open)], nil
}

// cancelled explains a tick that was cancelled.
func (r *reasoner) cancelled(e Entry) string {
	by := r.Say("It was cancelled")
	if e.CancelledBy != "" {
		by = r.Say("It was cancelled by %s%s", e.CancelledBy, r.because(e.CancelReason))
	}
	switch {
	case e.Token == 0:
		return r.Say("%s at %s, before it ran.", by, r.when(e.Ended))
	case e.Reason == wire.ReasonCancelled:
		return r.Say("%s. %s ran it from %s (attempt %d, token %d), and its lease had ended when the tick was settled at %s.",
			by, e.Replica, r.when(e.Started), e.Attempts, e.Token, r.when(e.Ended))
	case e.Error == "":
		return r.Say("%s. %s ran it from %s to %s (attempt %d, token %d), and the run ended without an error.",
			by, e.Replica, r.when(e.Started), r.when(e.Ended), e.Attempts, e.Token)
	}
	return r.Say("%s. %s ran it from %s to %s: attempt %d, token %d%s",
		by, e.Replica, r.when(e.Started), r.when(e.Ended), e.Attempts, e.Token, r.quoted(e.Error))
}

// cancelling says of a tick that runs that it was cancelled.
func (w said) cancelling(e Entry) string {
	if e.CancelledBy == "" {
		return ""
	}
	return w.Say(" %s has cancelled it%s, and the lease is not renewed any more.", e.CancelledBy, w.because(e.CancelReason))
}
