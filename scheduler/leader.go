package scheduler

import (
	"github.com/solotick/solotick/scheduler/internal/plan"
	"github.com/solotick/solotick/scheduler/internal/storehealth"

	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/solotick/solotick/internal/chain"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/sleep"
	"github.com/solotick/solotick/internal/steady"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease"
)

// leader runs a leader task on this replica whenever it holds the job's lease, a plain lock. One
// goroutine does it all.
//
//	it                      meanwhile another replica
//	holds the lease         waits: until the lease would run out, or until it is notified of its end
//	stops with its replica  takes over at once: the handler is cancelled first, without waiting for the shutdown grace
//	dies or freezes         takes over within a TTL
//	finds the job paused    waits too: the handler is cancelled, and nobody runs it until the job is resumed
//	has its handler return  waits: the handler is called again, later each time, under the same lease
type leader struct {
	s       *Scheduler
	job     *jobs.Job
	handler atomic.Pointer[jobs.Handler]
	wake    sleep.Signal
	leads   atomic.Bool             // the handler runs, or will again
	cancel  context.CancelCauseFunc // nil before it is started; guarded by Scheduler.updating

	since  time.Time       // since when the store remembered at the last claim; zero before the first
	forgot bool            // that was not always so
	paused *protocol.Pause // as the store said last, should it forget it

	defined bool // the record has taken this definition
}

func newLeader(s *Scheduler, job *jobs.Job) *leader {
	l := &leader{s: s, job: job, wake: sleep.NewSignal()}
	l.setHandler(job)
	return l
}

// setHandler makes the next call use the handler of job, whose definition is the same as before.
func (l *leader) setHandler(job *jobs.Job) {
	handler := chain.Recover(chain.Wrapped(job.Handler(), l.s.wrappers))
	l.handler.Store(&handler)
}

// end makes the leader give up its lease for good. Scheduler.updating must be locked.
func (l *leader) end(cause error) {
	if l.cancel != nil {
		l.cancel(cause)
	}
}

const (
	leaderRetry = 200 * time.Millisecond // between two claims that fail
	leaderLook  = 5 * time.Second        // between two looks whether the job is paused
	restAfter   = 2                      // a handler that ran for so many of the longest waits is called again after the least
)

// run contends until ctx ends.
func (l *leader) run(ctx context.Context) {
	spec := l.job.Spec()
	c := protocol.Claim{Name: spec.Name, Holder: l.s.replica, Request: l.s.request(), TTL: l.s.ttl}
	for ctx.Err() == nil {
		answer, sent, err := l.claim(c)
		wait := leaderRetry + rand.N(leaderRetry)
		switch {
		case err != nil: // the same request again: it may have been granted
		case answer.Status == protocol.Granted:
			l.s.facts.tookOver(c.Name, 0, answer)
			l.holdUntilPaused(ctx, c, answer, sent)
			c.Request, wait = l.s.request(), 0
		case answer.Status == protocol.Held:
			c.Request = l.s.request()
			wait = answer.Remaining + rand.N(50*time.Millisecond)
		case answer.Status == protocol.OutOfBounds: // the same request again, after a look at the clock
			l.s.clockSeen(time.Now(), time.Now(), answer.Now)
		default: // it is paused
			wait = leaderLook
			c.Request = l.s.request()
		}
		l.waitFor(ctx, wait)
	}
}

// claim asks for the lock unless the job is paused. It makes the record if there is none, so that
// the job can be paused. It reads the pause itself, because no store checks it for a plain lock.
func (l *leader) claim(c protocol.Claim) (a protocol.Answer, sent steady.Instant, err error) {
	remaining, err := l.unsure()
	if err != nil || remaining > 0 {
		return protocol.Answer{Status: protocol.Held, Remaining: remaining}, sent, err
	}
	ctx, cancel := l.s.call()
	defer cancel()
	switch err := l.readPause(ctx); {
	case err != nil:
		return a, sent, err
	case l.job.Spec().Paused || l.paused != nil:
		return protocol.Answer{Status: protocol.Paused}, sent, nil
	}
	sent, began := steady.Now(), time.Now()
	c.Until = l.s.takeoverUntil() // the lock may be another's
	a, err = l.s.store.Claim(ctx, c)
	l.s.answered(storehealth.ClaimKind(a, err), time.Since(began), err)
	return a, sent, err
}

// readPause reads whether the job is paused, and makes the record if there is none.
func (l *leader) readPause(ctx context.Context) error {
	began := time.Now()
	y := protocol.Sync{
		Name: l.job.Name(), Watermark: l.s.clock.Ms(), Revision: l.job.ScheduleRevision(), Schedule: plan.ScheduleText(l.job), Paused: l.paused,
		Policy: wire.PolicyOf(l.job.Spec()), Defines: !l.defined, Until: l.s.until(),
	}
	records, err := l.s.store.Sync(ctx, []protocol.Sync{y})
	l.s.bounded(storehealth.Reads, began, err)
	if err == nil {
		l.paused, l.defined = records[0].Paused, true
	}
	return err
}

// holdUntilPaused holds the granted lease until it is lost, ctx ends, or the job is paused. A pause
// ends a leader task, because it has no ticks to skip.
func (l *leader) holdUntilPaused(ctx context.Context, c protocol.Claim, a protocol.Answer, sent steady.Instant) {
	unpaused, end := context.WithCancelCause(ctx)
	defer end(nil)
	held := l.s.renewer.Keep(unpaused, c, a, sent)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		for held.Context().Err() == nil {
			l.waitFor(held.Context(), leaderLook)
			if held.Context().Err() != nil || l.s.trust.Holds() {
				continue
			}
			limited, cancel := l.s.call()
			if l.readPause(limited) == nil && l.paused != nil {
				end(ErrPaused)
			}
			cancel()
		}
	}()
	l.hold(unpaused, held, a.Now)
	<-watched
}

// unsure asks for fleet time if that is not known yet. It returns how long a store that has
// forgotten everything must not be asked for the lock. Until the holder's next renewal, which
// restores the lease, the store would grant the lock although it is held.
func (l *leader) unsure() (time.Duration, error) {
	if !l.s.look() {
		return 0, errors.New("scheduler: the store does not answer with its time")
	}
	if l.s.trust.Holds() {
		return heldEvery, nil
	}
	if wait := l.s.quietFor(); wait > 0 { // another may hold the lock, and be about to renew it
		return wait, nil
	}
	since := l.s.remembersSince()
	if !l.since.IsZero() && !since.Equal(l.since) {
		l.forgot = true
	}
	l.since = since
	if !l.forgot { // but it may have done so right before this replica was there to notice
		return since.Add(reportedWithin).Sub(l.s.clock.Now()), nil
	}
	return since.Add(l.s.ttl).Sub(l.s.clock.Now()), nil
}

func (l *leader) waitFor(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-l.wake:
	case <-t.C:
	}
}

// hold calls the handler, again and again, until the lease is lost or ctx ends.
func (l *leader) hold(ctx context.Context, held *lease.Lease, since time.Time) {
	if ctx.Err() != nil { // the answer came too late
		_ = held.Release(l.s.ends) // else the lease runs out
		return
	}
	held.AwaitStart()
	spec := l.job.Spec()
	l.s.working.Add()
	l.leads.Store(true)
	run := jobs.Run{
		Namespace: l.s.namespace, Job: spec.Name, Replica: l.s.replica,
		Tick: since.Truncate(time.Millisecond), Token: held.Token(), Attempt: held.Attempt(), Lease: held,
	}
	l.s.observe(RunStarted{Run: run})
	began := time.Now()
	held.Started()
	err := context.Cause(held.Context())
	if err == nil { // no observer of [WithSyncObserver] has blocked for too long
		err = l.keepUp(held, &run, &spec)
	}
	l.s.failing.End(run)
	took := time.Since(began)
	l.leads.Store(false)
	l.s.working.Remove()

	cause := context.Cause(held.Context())
	note := wire.Note{Started: since}
	if err != nil {
		note.Error = err.Error()
	}
	held.SetNote(note.Within(wire.NoteLimit(spec)))
	if lost, ok := errors.AsType[*lease.LostError](cause); ok && lost.Reason == protocol.LostFenced {
		held.Abandon()
		l.s.observe(RunLost{Run: run, Err: err, Cause: cause, Took: took, Held: took})
		return
	}
	why := held.Release(l.s.ends)
	switch {
	case errors.Is(cause, lease.ErrLost):
		l.s.observe(RunLost{Run: run, Err: err, Cause: cause, Took: took, Held: took})
	case why != nil:
		l.s.observe(RunLost{Run: run, Err: err, Cause: why, Took: took, Held: time.Since(began)})
	default:
		l.s.observe(RunReleased{Run: run, Err: err, Took: took, Held: time.Since(began)})
	}
}

// keepUp calls the handler until the context of the lease ends, and returns the handler's last
// error.
func (l *leader) keepUp(held *lease.Lease, run *jobs.Run, spec *jobs.Spec) error {
	ctx := held.Context()
	least, most := wire.Waits(spec.Retry)
	for tries := 0; ; {
		began := time.Now()
		err := (*l.handler.Load())(jobs.NewContext(ctx, *run), *run)
		if ctx.Err() != nil {
			return err
		}
		if time.Since(began) > restAfter*most {
			tries = 0
		}
		if err == nil {
			err = fmt.Errorf("the handler of leader task %q returned", run.Job)
		}
		pause := sleep.Backoff(tries, least, most)
		tries++
		l.s.failing.Add(*run, spec, err, l.s.clock.Now(), pause)
		l.s.observe(RunRetried{Run: *run, Err: err, Wait: pause})
		if !sleep.For(ctx, pause) {
			return err
		}
		run.Attempt++
		limited, cancel := context.WithTimeout(ctx, time.Second)
		_ = held.SetAttempt(limited, run.Attempt) // the lease is good whether or not that works
		cancel()
	}
}
