package scheduler

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/solotick/solotick/internal/chain"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/sleep"
	"github.com/solotick/solotick/internal/steady"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/scheduler/internal/admission"
)

// Causes of the context of a run or of a leader task, for errors.Is.
var (
	ErrStopping = errors.New("scheduler: the replica is stopping")              // the shutdown grace is over; also of [Scheduler.WaitReady]
	ErrPaused   = errors.New("scheduler: the job is paused")                    // of a leader task
	ErrRemoved  = errors.New("scheduler: the job was removed or defined again") // of a leader task
)

// run is one run of a tick by this replica.
type run struct {
	c       *contender
	lease   *lease.Lease
	about   jobs.Run
	job     *jobs.Job // as it was defined when the run began
	spec    *jobs.Spec
	replace bool // another tick of the job may replace it
	room    admission.Taken
	left    bool // to the next tick of the job, which waits for it
	work    func(ctx context.Context, run jobs.Run, then func(error))

	began time.Time // the zero time when the lease had ended before
	over  time.Time // when the handler returned
	took  time.Duration
	err   error // what the handler returned
	cause error // why the lease's context had ended by then

	checkpoint sync.Mutex // while one is made of the one before

	again   time.Time // the tick that it runs again; the zero time for none
	before  *wire.Run // of the holder from which the tick was taken over
	retried retries
}

// withoutPermit is the context of a run that must not begin.
var withoutPermit = func() context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(lease.ErrLost)
	return ctx
}()

// begin keeps the lease of a granted tick alive, and starts the run. The contender must be locked.
func (s *Scheduler) begin(c *contender, claim protocol.Claim, a protocol.Answer, sent steady.Instant) *lease.Lease {
	room, ok := c.Room.HandOver(c.Spec.Weight)
	parent := s.runs
	switch {
	case !ok:
		parent = withoutPermit
	case room.Permit != nil:
		parent = room.Permit.Context()
	}
	l := s.renewer.Keep(parent, claim, a, sent)
	if room.Permit != nil {
		room.Permit.Bound(l)
	}
	l.AwaitStart()
	c.working.Add(1)
	s.working.Add()
	s.ending.Add()
	r := &run{c: c, lease: l, job: c.Job, spec: c.Spec, replace: c.Spec.Overlap == jobs.Replace && c.Room.Limited(), room: room, about: jobs.Run{
		Namespace: s.namespace, Job: c.job, Key: c.key, Replica: s.replica,
		Tick: time.UnixMilli(claim.Tick).UTC(), Token: a.Token, Attempt: l.Attempt(), Payload: jobs.Payload(a.Payload),
	}}
	r.about.Lease = (*held)(r)
	if a.Again != 0 {
		r.again = time.UnixMilli(a.Again).UTC()
	}
	r.work = chain.NewThen(c.Job, chain.Hooks{Wrappers: s.wrappers, OnRetry: r.onRetry, BeforeAttempt: r.recordAttempt, Stopping: s.stopped})
	if a.Former != nil {
		r.before = runBefore(a)
	}
	go r.handle()
	return l
}

// handle calls the handler in a goroutine of its own, because a handler may change its goroutine,
// or end it.
func (r *run) handle() {
	if !r.lease.Valid() || r.lease.Context().Err() != nil { // perhaps the answer to the claim came so late
		r.done()
		return
	}
	if r.about.Attempt > 1 && !r.goOn() {
		r.done()
		return
	}
	if r.c.s.observed {
		r.started()
	}
	r.began = time.Now()
	r.lease.Started()
	if r.lease.Context().Err() != nil { // an observer of [WithSyncObserver] has blocked for too long
		r.handled(context.Cause(r.lease.Context()))
		return
	}
	shown := r.about
	if !r.again.IsZero() {
		shown.Tick, shown.Again = r.again, shown.Tick
	}
	r.work(r.lease.Context(), shown, r.handled)
}

// known returns what a handler was shown as the fleet knows it.
func known(shown jobs.Run) jobs.Run {
	shown.Tick, shown.Again = shown.Identity(), time.Time{}
	return shown
}

// held is the lease as the handler of a run sees it.
type held run

func (h *held) Deadline() time.Time { return h.lease.Deadline() }
func (h *held) Valid() bool         { return h.lease.Valid() }

func (h *held) OnRenewal(f func(deadline time.Time)) (stop func()) { return h.lease.OnRenewal(f) }

// Checkpoint is [jobs.Run.Checkpoint], and so on.
func (h *held) Checkpoint(ctx context.Context, position []byte) error {
	return h.change(ctx, func(c *lease.Checkpoint) { c.Data, c.Revision = position, h.job.Revision() })
}

func (h *held) Progress(ctx context.Context, percent int, text string) error {
	return h.change(ctx, func(c *lease.Checkpoint) { c.Percent, c.Text = percent, text })
}

func (h *held) Sync(ctx context.Context) error { return h.lease.Sync(ctx) }

func (h *held) change(ctx context.Context, change func(*lease.Checkpoint)) error {
	h.checkpoint.Lock()
	defer h.checkpoint.Unlock()
	c, err := h.lease.Position(ctx) // from memory: see goOn
	if err != nil {
		return err
	}
	change(&c)
	return h.lease.Checkpoint(ctx, c)
}

// goOn gives a further attempt the position of those before. It tries until the store answers or
// the lease ends, and then reports false: an attempt must not begin again what is done already.
//
//go:noinline
func (r *run) goOn() bool {
	for try := 0; ; try++ {
		ctx, cancel := context.WithTimeout(r.lease.Context(), time.Second)
		c, err := r.lease.Position(ctx)
		cancel()
		if err == nil || errors.Is(err, lease.ErrPermanent) { // then nobody can read what is there
			r.about.Position, r.about.PositionRevision = c.Data, c.Revision
			return r.lease.Context().Err() == nil
		}
		if !sleep.For(r.lease.Context(), sleep.Backoff(try, 25*time.Millisecond, 500*time.Millisecond)) {
			return false
		}
	}
}

// started is not part of handle, whose frame is to be small: handlers begin on a small stack.
//
//go:noinline
func (r *run) started() {
	r.c.s.observe(RunStarted{Run: r.about, Lag: r.c.s.clock.Now().Sub(r.about.Tick)})
}

func (r *run) handled(err error) {
	r.err, r.cause = err, context.Cause(r.lease.Context())
	r.about.Attempt = r.lease.Attempt()
	r.done()
}

// done leaves the rest to another goroutine, because the handler may have changed this one.
func (r *run) done() {
	s := r.c.s
	r.over = time.Now()
	r.took = r.over.Sub(r.began)
	r.c.working.Add(-1)
	s.working.Remove()
	if r.left = r.replace && r.c.inherit(r.room); !r.left {
		s.capacity.Return(r.room)
	}
	s.queue.End(r.settle)
}

// settle decides what becomes of the tick.
func (r *run) settle() {
	c, l, s := r.c, r.lease, r.c.s
	defer s.ending.Remove()
	if r.left {
		defer c.bequeathed()
	}
	if len(r.retried.runs) > 0 {
		s.failing.End(r.about)
	}
	switch {
	case r.began.IsZero():
		r.giveBack()
	case r.err != nil && errors.Is(r.cause, lease.ErrLost):
		s.observe(RunLost{Run: r.about, Err: r.err, Cause: r.cause, Took: r.took, Held: r.took})
		r.giveBack()
	case errors.Is(r.err, jobs.ErrLeaseEnding):
		s.observe(RunLost{Run: r.about, Err: r.err, Cause: jobs.ErrLeaseEnding, Took: r.took, Held: r.took})
		r.giveBack()
	case r.stopped() && !r.once():
		if why := l.Release(s.ends); why != nil {
			s.observe(RunLost{Run: r.about, Err: r.err, Cause: why, Took: r.took, Held: time.Since(r.began)})
		} else {
			s.observe(RunReleased{Run: r.about, Err: r.err, Took: r.took, Held: time.Since(r.began)})
		}
		c.ended(l, true)
	default:
		outcome := wire.Succeeded
		by := r.cancelledBy()
		switch {
		case by != "": // also without an error: the work was not done to its end
			outcome = wire.Cancelled
		case r.err == nil:
		case errors.Is(r.cause, protocol.ErrReplaced):
			outcome = wire.Replaced
		case r.stopped():
			outcome = wire.Lost
		default:
			outcome = wire.Failed
		}
		why := r.end(outcome)
		if why == nil {
			c.mu.Lock()
			c.Ended.Add(outcome, s.clock.Ms())
			c.mu.Unlock()
		}
		switch {
		case why != nil:
			s.observe(RunLost{Run: r.about, Err: r.err, Cause: why, Took: r.took, Held: time.Since(r.began)})
		case s.observed || r.err != nil:
			s.observe(RunSettled{Run: r.about, Outcome: outcome, Err: r.err, By: by, Took: r.took, Held: time.Since(r.began)})
		}
		c.ended(l, why != nil)
	}
}

// stopped reports whether the run failed because the replica stops: it was cancelled after the
// grace, or waited for its next attempt.
func (r *run) stopped() bool {
	return r.err != nil && (errors.Is(r.cause, ErrStopping) || errors.Is(r.err, chain.ErrGivenUp) && r.c.s.stopping.Load())
}

// end settles the tick, and records what people will want to know of the run.
func (r *run) end(outcome lease.Outcome) error {
	s := r.c.s
	note := wire.Note{Started: s.clock.At(r.began), Ended: s.clock.At(r.over), By: r.cancelledBy(), Before: r.before}
	note.Renewals, note.Margin = r.lease.Renewals()
	note.Margins = r.lease.Margins()
	if note.Retried = r.retried.runs; len(note.Retried) > 0 {
		note.Retried[0].Started = cmp.Or(note.Retried[0].Started, note.Started)
		note.Again = r.retried.began
	}
	if r.err != nil {
		note.Error = r.err.Error()
	}
	if outcome == wire.Lost && r.stopped() {
		note.Reason = wire.ReasonStopping
	}
	r.lease.SetNote(note.Within(wire.NoteLimit(*r.spec)))
	return r.lease.Settle(s.ends, outcome)
}

// once reports whether the job's delivery is at most once.
func (r *run) once() bool { return r.spec.Delivery == jobs.AtMostOnce }

// cancelledBy returns who had cancelled the run when its handler returned, or "".
func (r *run) cancelledBy() string {
	if e, ok := errors.AsType[*protocol.CancelledError](r.cause); ok {
		return e.By
	}
	return ""
}

// giveBack releases a lease that is lost or nearly so, and under which the tick was not settled. If
// nobody was granted the tick since, the others need not wait for the lease to run out. If nobody
// may be granted it, the release settles the tick.
func (r *run) giveBack() {
	c, l := r.c, r.lease
	switch lost, ok := errors.AsType[*lease.LostError](context.Cause(l.Context())); {
	case ok && lost.Reason == protocol.LostFenced && lost.Token == l.Token(): // else it was the permit
		l.Abandon()
	case time.Until(l.Deadline()) <= 0:
		// The replica that asks for the tick takes it over or settles it as lost, and may have done
		// so. A store that has forgotten that would believe a release.
		l.Abandon()
	case !r.once():
		_ = l.Release(c.s.ends) // else the lease runs out
	case r.end(wire.Lost) == nil:
		c.s.observe(TicksSkipped{Job: c.job, Key: c.key, To: r.about.Tick, Count: 1, Outcome: wire.Lost, Reason: wire.ReasonTakeovers})
	}
	c.ended(l, true)
}

// retries are the failed runs under one lease that were followed by another run, for the history.
type retries struct {
	runs  []wire.Run // the newest, oldest first
	began time.Time  // when the one that follows them did, by fleet time
}

// maxRetryError bounds the text of an error that is kept until the tick is settled, in bytes.
const maxRetryError = 256

// onRetry keeps the failed attempt for the history.
func (r *run) onRetry(shown jobs.Run, err error, wait time.Duration) {
	s, about := r.c.s, known(shown)
	failed := wire.Run{
		Attempt: about.Attempt, Started: r.retried.began, Ended: s.clock.Now().Truncate(time.Millisecond), End: wire.RunRetried,
		Error: protocol.Cut(err.Error(), maxRetryError),
	}
	r.retried.began = failed.Ended
	r.retried.runs = append(r.retried.runs[max(0, len(r.retried.runs)-wire.MaxRetried+1):], failed)
	s.failing.Add(about, r.spec, err, failed.Ended, wait)
	s.observe(RunRetried{Run: about, Err: err, Wait: wait})
}

// recordAttempt records a retry in the store, so that a takeover continues its count. The lease
// stays good even if that fails.
func (r *run) recordAttempt(ctx context.Context, about *jobs.Run) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_ = r.lease.SetAttempt(ctx, about.Attempt)
	if c, err := r.lease.Position(ctx); err == nil { // from memory: see goOn
		about.Position, about.PositionRevision = c.Data, c.Revision
	}
	r.retried.began = r.c.s.clock.Now().Truncate(time.Millisecond)
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
