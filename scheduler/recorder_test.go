package scheduler_test

import (
	"context"
	"sync"
	"time"

	"github.com/solotick/solotick/internal/naming"
	"github.com/solotick/solotick/jobs"
)

// attempt is one attempt as its handler saw it.
type attempt struct {
	jobs.Run
	start     time.Time
	cancelled time.Time // when its context ended; zero while that has not happened
	cause     error     // of that
	end       time.Time // when it returned; zero while it runs
	err       error
}

// stopped is from when on the attempt had no right to go on, or had ended. The zero time: not yet.
func (a attempt) stopped() time.Time {
	if a.cancelled.IsZero() || !a.end.IsZero() && a.end.Before(a.cancelled) {
		return a.end
	}
	return a.cancelled
}

// recorder keeps what handlers saw, in the order in which they began.
type recorder struct {
	mu  sync.Mutex
	all []*attempt
}

// wrap records each call of h.
func (r *recorder) wrap(h jobs.Handler) jobs.Handler {
	return func(ctx context.Context, run jobs.Run) (err error) {
		a := &attempt{Run: run, start: time.Now()}
		a.Tick = run.Identity()
		r.mu.Lock()
		r.all = append(r.all, a)
		r.mu.Unlock()
		cancelled := make(chan struct{})
		stop := context.AfterFunc(ctx, func() {
			defer close(cancelled)
			r.mu.Lock()
			defer r.mu.Unlock()
			a.cancelled, a.cause = time.Now(), context.Cause(ctx)
		})
		defer func() {
			if !stop() {
				<-cancelled
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			a.end, a.err = time.Now(), err
		}()
		return h(ctx, run)
	}
}

// of returns a copy of the recorded attempts of a job; of all jobs when its name is empty.
func (r *recorder) of(job string) []attempt {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []attempt
	for _, a := range r.all {
		if job == "" || naming.Keyed(a.Job, a.Key) == job {
			list = append(list, *a)
		}
	}
	return list
}

// newest returns the tick of each job's newest attempt.
func (r *recorder) newest() map[string]time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	ticks := map[string]time.Time{}
	for _, a := range r.all {
		ticks[naming.Keyed(a.Job, a.Key)] = a.Tick
	}
	return ticks
}

// running returns the attempts of a job that have not returned.
func (r *recorder) running(job string) (list []attempt) {
	for _, a := range r.of(job) {
		if a.end.IsZero() {
			list = append(list, a)
		}
	}
	return list
}

// takes is a handler that needs so long, and stops when it is asked to.
func takes(d time.Duration) jobs.Handler {
	return func(ctx context.Context, _ jobs.Run) error {
		if d == 0 {
			return nil
		}
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// ignoring is a handler that needs so long whatever it is notified.
func ignoring(d time.Duration) jobs.Handler {
	return func(context.Context, jobs.Run) error {
		time.Sleep(d)
		return nil
	}
}
