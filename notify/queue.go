package notify

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v7"

	"github.com/solotick/solotick/internal/notified"
	"github.com/solotick/solotick/internal/sleep"
)

// The waits between two tries.
const (
	firstWait = time.Second
	maxWait   = 5 * time.Minute
)

// queue has the jobs of which a receiver is to be notified, one at a time, oldest first. What it is
// to get is found when it is sent, so a job is there once, however often it changes meanwhile.
//
//	the receiver                          then
//	has taken it                          that is recorded, and the next change of the job or the next job follows
//	does not answer, or refuses everybody all jobs wait, later each time
//	refuses this notification             this job waits, and the others go on
type queue struct {
	term     *term
	receiver int
	wake     chan struct{} // of size 1

	mu     sync.Mutex
	jobs   []*waitingJob
	queued map[string]*waitingJob

	waits *backoff.ExponentialBackOff // of the receiver; used by run only
	until time.Time                   // it is not to be asked before
}

type waitingJob struct {
	name  string
	since time.Time
	due   time.Time // it is not to be tried before
	waits *backoff.ExponentialBackOff
	again bool // it was added since it was taken
}

func newQueue(t *term, receiver int) *queue {
	return &queue{term: t, receiver: receiver, wake: make(chan struct{}, 1), queued: map[string]*waitingJob{}, waits: newWaits()}
}

func newWaits() *backoff.ExponentialBackOff {
	return &backoff.ExponentialBackOff{
		InitialInterval: firstWait, RandomizationFactor: backoff.DefaultRandomizationFactor, Multiplier: 2, MaxInterval: maxWait,
	}
}

// add queues a job that waits since then, unless it is queued. It comes last, or before all that
// have not waited for longer.
func (q *queue) add(job string, since time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if w := q.queued[job]; w != nil {
		w.again = true // its changes may have been looked at already
		return
	}
	q.queued[job] = &waitingJob{name: job, since: since, waits: newWaits()}
	at, _ := slices.BinarySearchFunc(q.jobs, since, func(w *waitingJob, since time.Time) int {
		if w.since.After(since) {
			return 1
		}
		return -1 // equal ones stay before it
	})
	q.jobs = slices.Insert(q.jobs, at, q.queued[job])
	q.countLocked()
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// countLocked publishes how many jobs wait.
func (q *queue) countLocked() {
	var since time.Time
	if len(q.jobs) > 0 {
		since = q.jobs[0].since
	}
	q.term.update(q.receiver, func(s *State) { s.Waiting, s.Since = len(q.jobs), since })
}

// names returns the jobs that have waited the longest.
func (q *queue) names() (list []string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, w := range q.jobs[:min(len(q.jobs), notified.MaxNames)] {
		list = append(list, w.name)
	}
	return list
}

// run sends until ctx ends.
func (q *queue) run(ctx context.Context) {
	for ctx.Err() == nil {
		w, wait := q.next(time.Now())
		if w == nil {
			q.sleep(ctx, wait)
			continue
		}
		err := q.serve(ctx, w.name)
		switch {
		case err == nil:
			q.waits.Reset()
			q.remove(w)
		case ctx.Err() == nil:
			q.postpone(w, err)
		}
	}
}

// next takes the first job that is due, or for how long there is none.
func (q *queue) next(now time.Time) (*waitingJob, time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	wait := time.Hour
	if len(q.jobs) > 0 && now.Before(q.until) {
		return nil, q.until.Sub(now)
	}
	for _, w := range q.jobs {
		if !now.Before(w.due) {
			w.again = false
			return w, 0
		}
		wait = min(wait, w.due.Sub(now))
	}
	return nil, wait
}

func (q *queue) sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-q.wake:
	}
}

// remove removes a job, unless it was added since it was taken.
func (q *queue) remove(w *waitingJob) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if w.again {
		return
	}
	q.jobs = slices.DeleteFunc(q.jobs, func(other *waitingJob) bool { return other == w })
	delete(q.queued, w.name)
	q.countLocked()
	if len(q.jobs) == 0 {
		q.term.update(q.receiver, func(s *State) { s.Error = "" })
	}
}

// postpone lets the job wait, or all of them.
func (q *queue) postpone(w *waitingJob, err error) {
	refused, answered := errors.AsType[*refusal](err)
	q.mu.Lock()
	defer q.mu.Unlock()
	if answered && refused.alone {
		w.due = time.Now().Add(max(w.waits.NextBackOff(), refused.wait))
		return
	}
	wait := q.waits.NextBackOff()
	if answered {
		wait = max(wait, refused.wait)
	}
	q.until = time.Now().Add(wait)
}

// serve sends the receiver what it is to get of a job, change by change.
func (q *queue) serve(ctx context.Context, job string) error {
	for {
		list, err := q.term.fleet.Outcomes(ctx, job)
		if err != nil {
			return err
		}
		changes := q.term.changes(q.receiver, job, list)
		if len(changes) == 0 {
			return nil
		}
		if err := q.send(ctx, changes[0]); err != nil {
			return err
		}
	}
}

func (q *queue) send(ctx context.Context, c change) error {
	t, r := q.term, q.term.receivers[q.receiver]
	facts := []any{
		slog.String("receiver", r.Name), slog.String("job", c.Job), slog.String("condition", string(c.Condition)), slog.String("id", c.ID),
	}
	if r.wants(c.Notification) {
		if err := post(ctx, t.client, r, c.Notification, t.now()); err != nil {
			if ctx.Err() == nil {
				t.update(q.receiver, func(s *State) { s.Failures++; s.Error = err.Error() })
				t.options.logger.Warn("notification failed; it is tried again", append(facts, slog.String("error", err.Error()))...)
			}
			return err
		}
		t.update(q.receiver, func(s *State) { s.Sent++; s.Error = "" })
		t.options.logger.Info("notification sent", facts...)
		c.then.Sent = t.sent(q.receiver, c)
	}
	return q.commit(ctx, c)
}

// commit records that the receiver has got it, until that is recorded: otherwise it would be sent
// again.
func (q *queue) commit(ctx context.Context, c change) error {
	waits := newWaits()
	waits.MaxInterval = 5 * time.Second
	for {
		_, err := q.term.commit(ctx, q.receiver, c.Job, c.then)
		if err == nil {
			return nil
		}
		if !sleep.For(ctx, waits.NextBackOff()) {
			return err
		}
	}
}
