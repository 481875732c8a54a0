package remote

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/sleep"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
)

// The methods are those of [fleet.Fleet]. A definition of a job that is given is not used: the
// worker has its own.

// Namespace returns the fleet's namespace, and fleet time.
func (c *Client) Namespace(ctx context.Context) (namespace string, now time.Time, err error) {
	var page struct {
		Namespace string    `json:"namespace"`
		Now       time.Time `json:"now"`
	}
	err = c.get(ctx, "/replicas", nil, &page)
	return page.Namespace, page.Now, err
}

// Now returns fleet time.
func (c *Client) Now(ctx context.Context) (time.Time, error) {
	_, now, err := c.Namespace(ctx)
	return now, err
}

// Status shows the fleet, or the named jobs of it.
func (c *Client) Status(ctx context.Context, _ []*jobs.Job, names ...string) (s fleet.Status, err error) {
	err = c.get(ctx, "/status", url.Values{"job": names}, &s)
	return s, err
}

func of(job, rest string) string { return "/jobs/" + url.PathEscape(job) + "/" + rest }

// Describe shows one job. It returns at most 100 coming ticks.
func (c *Client) Describe(ctx context.Context, name string, _ *jobs.Job, ticks, outcomes int) (d fleet.Description, err error) {
	err = c.get(ctx, of(name, "description"), url.Values{"ticks": {strconv.Itoa(min(ticks, 100))}, "outcomes": {strconv.Itoa(min(outcomes, protocol.MaxHistory))}}, &d)
	return d, err
}

// History returns the open ticks of a job, and the n newest that were settled; all that are kept
// when n is below 1.
func (c *Client) History(ctx context.Context, job string, n int) ([]fleet.Entry, error) {
	if n < 1 {
		n = protocol.MaxHistory
	}
	var list []fleet.Entry
	for after, settled := "", 0; ; {
		var page struct {
			Entries []fleet.Entry `json:"entries"`
			Next    string        `json:"next"`
		}
		query := url.Values{"limit": {strconv.Itoa(n - settled)}}
		if after != "" {
			query.Set("after", after)
		}
		if err := c.get(ctx, of(job, "history"), query, &page); err != nil {
			return nil, err
		}
		for _, e := range page.Entries {
			if e.State == wire.StateSettled {
				settled++
			}
		}
		list = append(list, page.Entries...)
		if after = page.Next; after == "" || settled >= n || len(page.Entries) == 0 {
			return list, nil
		}
	}
}

// Why explains a tick; the zero time is that of [fleet.Fleet.Why].
func (c *Client) Why(ctx context.Context, name string, _ *jobs.Job, tick time.Time) (e fleet.Explanation, err error) {
	query := url.Values{}
	if !tick.IsZero() {
		query.Set("tick", strconv.FormatInt(tick.UnixMilli(), 10))
	}
	err = c.get(ctx, of(name, "explanation"), query, &e)
	return e, err
}

// pauseResult is the answer to a pause and a resume.
type pauseResult struct {
	Changed bool         `json:"changed"`
	Pause   *fleet.Pause `json:"pause"`
}

type reason struct {
	Reason string `json:"reason,omitempty"`
}

// Pause pauses a job under the name of the token, whatever the act says.
func (c *Client) Pause(ctx context.Context, job string, act fleet.Act) (p fleet.Pause, err error) {
	var r pauseResult
	err = c.post(ctx, of(job, "pause"), reason{act.Reason}, &r)
	if r.Pause != nil {
		p = *r.Pause
	}
	p.Before = !r.Changed
	return p, err
}

// Resume ends a pause.
func (c *Client) Resume(ctx context.Context, job string, act fleet.Act) (*fleet.Pause, error) {
	var r pauseResult
	if err := c.post(ctx, of(job, "resume"), reason{act.Reason}, &r); err != nil || r.Pause == nil {
		return nil, err
	}
	return r.Pause, nil
}

// triggerTries bounds the attempts of a trigger: the worker answers the same request in the same
// way.
const triggerTries = 3

// Trigger runs a job once. It asks again where the answer was lost. A trigger that is refused is a
// [*Problem].
func (c *Client) Trigger(ctx context.Context, job string, o fleet.TriggerOptions) (t fleet.Triggered, err error) {
	asked := struct {
		reason
		Key     string `json:"key,omitempty"`
		Window  int64  `json:"window_ms,omitempty"`
		Request string `json:"request"`
		Payload string `json:"payload,omitempty"`
	}{reason{o.Reason}, o.Key, o.Window.Milliseconds(), strings.ToLower(rand.Text()), string(o.Payload)}
	for try := 1; ; try++ {
		err = c.post(ctx, of(job, "trigger"), asked, &t)
		if _, answered := errors.AsType[*Problem](err); err == nil || answered || ctx.Err() != nil || try == triggerTries {
			return t, err
		}
	}
}

// repairResult and forgetResult are answers of the API.
type repairResult struct {
	Changed    bool      `json:"changed"`
	Before     time.Time `json:"before"`
	Watermark  time.Time `json:"watermark"`
	Exceptions int       `json:"exceptions"`
}

type forgetResult struct {
	Job       string    `json:"job"`
	Watermark time.Time `json:"watermark"`
	Outcomes  int       `json:"outcomes"`
	By        string    `json:"by"`
}

// Repair brings a watermark back to now that lies in the future.
func (c *Client) Repair(ctx context.Context, job string, act fleet.Act) (fleet.Repaired, error) {
	var r repairResult
	err := c.post(ctx, of(job, "repair"), reason{act.Reason}, &r)
	return fleet.Repaired(r), err
}

// Forgettable says what Forget would remove.
func (c *Client) Forgettable(ctx context.Context, job string) (fleet.Forgotten, error) {
	var r forgetResult
	err := c.get(ctx, of(job, "forgettable"), nil, &r)
	return fleet.Forgotten(r), err
}

// Forget removes the record of a job that no replica serves.
func (c *Client) Forget(ctx context.Context, job string, act fleet.Act) (fleet.Forgotten, error) {
	var r forgetResult
	err := c.post(ctx, of(job, "forget"), reason{act.Reason}, &r)
	return fleet.Forgotten(r), err
}

// Audit returns a page of the audit log.
func (c *Client) Audit(ctx context.Context, cursor string, n int) (log fleet.AuditLog, err error) {
	err = c.get(ctx, "/acts", url.Values{"after": {cursor}, "limit": {strconv.Itoa(n)}}, &log)
	return log, err
}

// Cancel ends a tick that is open.
func (c *Client) Cancel(ctx context.Context, job string, tick time.Time, act fleet.Act) (d fleet.Cancelled, err error) {
	err = c.post(ctx, of(job, "cancel"), struct {
		reason
		Tick string `json:"tick"`
	}{reason{act.Reason}, strconv.FormatInt(tick.UnixMilli(), 10)}, &d)
	if p, ok := errors.AsType[*Problem](err); ok && p.Status == http.StatusConflict {
		return fleet.Cancelled{Job: job, Tick: tick, Status: protocol.CancelNotOpen}, nil // as the store answers
	}
	return d, err
}

// Open returns the ticks of a job that are not settled.
func (c *Client) Open(ctx context.Context, job string) ([]fleet.Entry, error) {
	d, err := c.Describe(ctx, job, nil, 0, 0)
	return d.Open, err
}

// Serving returns the live replicas that serve a job.
func (c *Client) Serving(ctx context.Context, job string) (serving []fleet.Replica, unserved bool, err error) {
	s, err := c.Status(ctx, nil, job)
	if err != nil {
		return nil, false, err
	}
	for _, r := range s.Replicas {
		if slices.Contains(s.Jobs[0].Replicas, r.ID) {
			serving = append(serving, r)
		}
	}
	return serving, s.Jobs[0].Unserved, nil
}

// The limits of how often Await asks.
const (
	firstAsk = 100 * time.Millisecond
	lastAsk  = time.Second
)

// Await returns the entry of a tick as soon as that is settled. A worker that does not answer for a
// while only delays it.
func (c *Client) Await(ctx context.Context, job string, tick time.Time) (fleet.Entry, error) {
	var last error
	for asked := 0; ; asked++ {
		e, err := c.Why(ctx, job, nil, tick)
		p, refused := errors.AsType[*Problem](err)
		switch {
		case refused && p.Status < http.StatusInternalServerError:
			return fleet.Entry{}, err
		case err != nil && ctx.Err() == nil:
			last = err
		case err == nil && e.Entry == nil:
			return fleet.Entry{}, fmt.Errorf("job %q, tick %s: %w", job, tick.UTC().Format(time.RFC3339Nano), fleet.ErrNoTrace)
		case err == nil && e.Entry.State == wire.StateSettled:
			return *e.Entry, nil
		}
		if !sleep.For(ctx, sleep.Backoff(asked, firstAsk, lastAsk)) {
			return fleet.Entry{}, errors.Join(context.Cause(ctx), last)
		}
	}
}

// Doctor decodes a report of what the worker's checks of its store and of the fleet have found.
func (c *Client) Doctor(ctx context.Context, report any) error {
	return c.get(ctx, "/doctor", nil, report)
}
