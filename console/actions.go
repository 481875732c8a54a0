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

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
)

// action is something that people do to jobs or locks.
type action string

// The actions on jobs.
const (
	actionPause   action = "pause"
	actionResume  action = "resume"
	actionTrigger action = "trigger"
	actionCancel  action = "cancel"
	actionRepair  action = "repair"
	actionForget  action = "forget"
)

// order is an action as a caller asks for it.
type order struct {
	fleet.Act
	action  action
	key     string        // of a trigger
	window  time.Duration // of the key
	request string        // of a trigger: identifies one that may be sent twice
	payload jobs.Payload  // of a trigger
	tick    time.Time     // of a cancel; zero for the tick that runs, or else the one that waits
}

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

// do carries out an order on a job.
func (c *Console) do(ctx context.Context, job string, o order) (actionResult, error) {
	defer c.changed(job)
	switch o.action {
	case actionPause:
		p, err := c.fleet.Pause(ctx, job, o.Act)
		return actionResult{answer: pauseResult{job, true, !p.Before, &p}, unchanged: p.Before}, err
	case actionResume:
		p, err := c.fleet.Resume(ctx, job, o.Act)
		if p == nil {
			return actionResult{answer: pauseResult{Job: job}, unchanged: true}, err
		}
		return actionResult{answer: pauseResult{Job: job, Changed: true, Pause: p}}, err
	case actionTrigger:
		t, err := c.fleet.Trigger(ctx, job, fleet.TriggerOptions{By: o.By, Reason: o.Reason, Via: o.Via, Key: o.key, Window: o.window, Request: o.request, Payload: o.payload})
		if err == nil && !t.Accepted() {
			err = refused(job, t)
		}
		return actionResult{answer: t, id: t.ID, tick: t.Tick, unchanged: t.Status == protocol.Repeated}, err
	case actionCancel:
		return c.cancel(ctx, job, o)
	case actionRepair:
		r, err := c.fleet.Repair(ctx, job, o.Act)
		return actionResult{answer: r, unchanged: !r.Changed}, err
	case actionForget:
		f, err := c.fleet.Forget(ctx, job, o.Act)
		return actionResult{answer: f}, err
	}
	return actionResult{}, notFound("there is no such action")
}

// changed makes the next page read a job that was changed.
func (c *Console) changed(job string) {
	c.monitor.Changed(job)
	c.kept.forget(job)
	c.expire()
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
	var next sync.Mutex
	i := 0
	var workers sync.WaitGroup
	for range min(bulkAtOnce, len(names)) {
		workers.Go(func() {
			for {
				next.Lock()
				n := i
				i++
				next.Unlock()
				if n >= len(names) {
					return
				}
				list[n] = doneOf(names[n], func() (actionResult, error) { return c.do(ctx, names[n], o) })
			}
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
	Action  action `json:"action"`
	Results []done `json:"results"` // those that failed first
	Failed  int    `json:"failed"`
}

// done is the result of an action on one of several jobs.
type done struct {
	Job    string `json:"job"`
	Status string `json:"status"` // done, unchanged (it was so before) or failed
	ID     string `json:"id"`     // of the tick that was triggered or cancelled; empty of others
	Tick   stamp  `json:"tick"`
	Detail string `json:"detail"` // why it failed; empty when it did not
}

const doneFailed = "failed"

func doneOf(job string, do func() (actionResult, error)) done {
	r, err := do()
	d := done{Job: job, Status: "done", ID: r.id, Tick: stamp(r.tick)}
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

// release takes a lock away from its holder.
func (c *Console) release(ctx context.Context, name string, token int64, act fleet.Act) error {
	defer c.expire()
	held, err := c.fleet.ForceRelease(ctx, name, token, act)
	if err == nil && !held {
		err = newProblem(http.StatusConflict, fmt.Sprintf("lock %s: token %d holds nothing any more", shortened(name), token))
	}
	return err
}
