package console

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/solotick/solotick/console/internal/page"
	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/naming"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/schedules"
)

// actionResult is the result of an order on one job.
type actionResult struct {
	answer    any  // of the API
	unchanged bool // it was so before
	id        string
	tick      time.Time
}

// pauseResult is the answer to a pause and a resume, as the command line prints it.
type pauseResult struct {
	Job     string       `json:"job"`
	Paused  bool         `json:"paused"`
	Changed bool         `json:"changed"` // false if it was so before
	Pause   *fleet.Pause `json:"pause"`   // that is in force or has ended; null when there was none
}

// released is the answer to a release.
type released struct {
	Name  string `json:"name"`
	Token int    `json:"token"`
}

// do carries out an order on a job, or on the lock that it names.
func (c *Console) do(ctx context.Context, job string, o order) (actionResult, error) {
	defer c.expire()
	if job != "" {
		defer c.monitor.Changed(job)
		defer c.kept.forget(job)
	}
	switch o.action {
	case page.Pause:
		p, err := c.fleet.Pause(ctx, job, o.Act)
		return actionResult{answer: pauseResult{job, true, !p.Before, &p}, unchanged: p.Before}, err
	case page.Resume:
		p, err := c.fleet.Resume(ctx, job, o.Act)
		if p == nil {
			return actionResult{answer: pauseResult{Job: job}, unchanged: true}, err
		}
		return actionResult{answer: pauseResult{Job: job, Changed: true, Pause: p}}, err
	case page.Trigger:
		t, err := c.trigger(ctx, job, fleet.TriggerOptions{By: o.By, Reason: o.Reason, Via: o.Via, Key: o.key, Window: o.window, Request: o.request, Payload: o.payload,
			Again: o.again, Anyway: o.anyway == "true"})
		if err == nil && !t.Accepted() {
			err = refused(job, t)
		}
		return actionResult{answer: t, id: t.ID, tick: t.Tick, unchanged: t.Status == protocol.Repeated}, err
	case page.Cancel:
		return c.cancel(ctx, job, o)
	case page.Repair:
		r, err := c.fleet.Repair(ctx, job, o.Act)
		return actionResult{answer: r, unchanged: !r.Changed}, err
	case page.Forget:
		f, err := c.fleet.Forget(ctx, job, o.Act)
		return actionResult{answer: f}, err
	case page.Delete:
		return actionResult{}, c.deleteStored(ctx, job, o)
	case page.Release:
		held, err := c.fleet.ForceRelease(ctx, o.lock, int64(o.token), o.Act)
		if err == nil && !held {
			err = newProblem(http.StatusConflict, fmt.Sprintf("lock %s: token %d holds nothing any more", shortened(o.lock), o.token))
		}
		return actionResult{answer: released{o.lock, o.token}}, err
	}
	return actionResult{}, notFound("there is no such action")
}

// trigger runs a job once, or what a stored schedule JOB/KEY runs.
func (c *Console) trigger(ctx context.Context, name string, o fleet.TriggerOptions) (fleet.Triggered, error) {
	job, key := naming.SplitKeyed(name)
	if key == "" {
		return c.fleet.Trigger(ctx, job, o)
	}
	s, err := c.schedulesOf(job)
	if err != nil {
		return fleet.Triggered{}, err
	}
	return s.Trigger(ctx, key, o)
}

// deleteStored deletes a stored schedule JOB/KEY, if it has the order's revision.
func (c *Console) deleteStored(ctx context.Context, name string, o order) error {
	job, key := naming.SplitKeyed(name)
	s, err := c.schedulesOf(job)
	if err != nil {
		return err
	}
	deleted, err := s.Delete(ctx, key, schedules.IfRevision(o.revision), schedules.As(o.Act))
	if err == nil && !deleted {
		err = notFound(fmt.Sprintf("there is no schedule %s", key))
	}
	return err
}

// expire makes the next page read again.
func (c *Console) expire() {
	c.snapshot.expire()
	c.locks.expire()
	c.described.expire()
	c.histories.expire()
	c.several.expire()
}

// refused is the problem of a trigger that a limit stands against.
func refused(job string, t fleet.Triggered) *problem {
	p := newProblem(http.StatusTooManyRequests, fmt.Sprintf("%s: refused: %s; the next trigger is possible in %s", job, t.Refusal(), t.Wait.Round(time.Millisecond)))
	p.RetryMS = max(t.Wait.Milliseconds(), 1)
	return p
}

func (c *Console) cancel(ctx context.Context, job string, o order) (actionResult, error) {
	if o.tick.IsZero() {
		open, err := c.fleet.Open(ctx, job)
		if err != nil {
			return actionResult{}, err
		}
		if o.tick, err = cancellable(job, open); err != nil {
			return actionResult{}, err
		}
	}
	d, err := c.fleet.Cancel(ctx, job, o.tick, o.Act)
	if err == nil && d.Status == protocol.CancelNotOpen {
		err = newProblem(http.StatusConflict, fmt.Sprintf("%s: the tick of %s does not run or wait", job, o.tick.UTC().Format(time.RFC3339Nano)))
	}
	return actionResult{answer: d, id: d.ID, tick: d.Tick}, err
}

// cancellable returns the tick that a cancel without one is for: the one that runs, or else the one
// that waits.
func cancellable(job string, open []fleet.Entry) (time.Time, error) {
	var runs, waits []time.Time
	for _, e := range open {
		switch {
		case e.Scheduled.IsZero():
			return time.Time{}, fmt.Errorf("job %q: %w", job, fleet.ErrNotCancellable)
		case e.State == wire.StateWaiting:
			waits = append(waits, e.Scheduled)
		default:
			runs = append(runs, e.Scheduled)
		}
	}
	if len(runs) == 0 {
		runs = waits
	}
	switch len(runs) {
	case 0:
		return time.Time{}, newProblem(http.StatusConflict, job+": no tick runs or waits, so there is nothing to cancel")
	case 1:
		return runs[0], nil
	}
	return time.Time{}, newProblem(http.StatusConflict, fmt.Sprintf("%s: %d ticks are open: name one of them", job, len(runs)))
}

// bulkAtOnce bounds how many jobs of one request are changed at a time.
const bulkAtOnce = 16

// doAll carries out an order on several jobs, and returns the result for each, failures first.
func (c *Console) doAll(ctx context.Context, names []string, o order) []done {
	list := make([]done, len(names))
	room := make(chan struct{}, bulkAtOnce)
	var workers sync.WaitGroup
	for i, name := range names {
		room <- struct{}{}
		workers.Go(func() {
			defer func() { <-room }()
			list[i] = doneOf(name, func() (actionResult, error) { return c.do(ctx, name, o) })
		})
	}
	workers.Wait()
	slices.SortStableFunc(list, func(a, b done) int { return cmp.Compare(failed(b), failed(a)) })
	return list
}

func failed(d done) int {
	if d.Status == doneFailed {
		return 1
	}
	return 0
}

// bulkResult is the answer to an action on several jobs.
type bulkResult struct {
	Action  page.Action `json:"action"`
	Results []done      `json:"results"` // those that failed first
	Failed  int         `json:"failed"`
}

// done is the result of an action on one of several jobs.
type done struct {
	Job    string    `json:"job"`
	Status string    `json:"status"` // done, unchanged (it was so before) or failed
	ID     string    `json:"id"`     // of the tick that was triggered or cancelled; empty of others
	Tick   time.Time `json:"tick"`
	Detail string    `json:"detail"` // why it failed; empty when it did not
}

const doneFailed = "failed"

func doneOf(job string, do func() (actionResult, error)) done {
	r, err := do()
	d := done{Job: job, Status: "done", ID: r.id, Tick: r.tick}
	switch {
	case err != nil:
		d.Status, d.Detail = doneFailed, problemOf(err).Detail
	case r.unchanged:
		d.Status = "unchanged"
	}
	return d
}

// digestOf identifies a set of jobs: a form in bulk carries it, so that it changes the jobs that
// were shown and no others.
func digestOf(names []string) string {
	sum := sha256.Sum256([]byte(strings.Join(names, "\n")))
	return hex.EncodeToString(sum[:12])
}
