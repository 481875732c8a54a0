package remote

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/naming"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/sleep"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
)

// The methods are those of [fleet.Fleet]. A definition of a job that is given is not used: the
// worker has its own. Acts have the name of the token, whatever the act says.

// Namespace returns the fleet's namespace, and fleet time.
func (c *Client) Namespace(ctx context.Context) (namespace string, now time.Time, err error) {
	page, err := get[struct {
		Namespace string    `json:"namespace"`
		Now       time.Time `json:"now"`
	}](ctx, c, "/replicas", nil)
	return page.Namespace, page.Now, err
}

// Now returns fleet time.
func (c *Client) Now(ctx context.Context) (time.Time, error) {
	_, now, err := c.Namespace(ctx)
	return now, err
}

// Status shows the fleet, or the named jobs of it.
func (c *Client) Status(ctx context.Context, _ []*jobs.Job, names ...string) (fleet.Status, error) {
	return get[fleet.Status](ctx, c, "/status", url.Values{"job": names})
}

// of returns a path about a job, or about one of its stored schedules, JOB/KEY.
func of(name, rest string) string {
	job, key := naming.SplitKeyed(name)
	if key != "" {
		rest = "schedules/" + url.PathEscape(key) + "/" + rest
	}
	return "/jobs/" + url.PathEscape(job) + "/" + rest
}

// Describe shows one job. It returns at most 100 coming ticks.
func (c *Client) Describe(ctx context.Context, name string, _ *jobs.Job, ticks, outcomes int) (fleet.Description, error) {
	return get[fleet.Description](ctx, c, of(name, "description"),
		url.Values{"ticks": {strconv.Itoa(min(ticks, 100))}, "outcomes": {strconv.Itoa(min(outcomes, protocol.MaxHistory))}})
}

// History returns the open ticks of a job, and the n newest that were settled; all that are kept
// when n is below 1.
func (c *Client) History(ctx context.Context, job string, n int) ([]fleet.Entry, error) {
	if n < 1 {
		n = protocol.MaxHistory
	}
	var list []fleet.Entry
	for after, settled := "", 0; ; {
		query := url.Values{"limit": {strconv.Itoa(n - settled)}}
		if after != "" {
			query.Set("after", after)
		}
		page, err := get[struct {
			Entries []fleet.Entry `json:"entries"`
			Next    string        `json:"next"`
		}](ctx, c, of(job, "history"), query)
		if err != nil {
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
func (c *Client) Why(ctx context.Context, name string, _ *jobs.Job, tick time.Time, _ ...func(string) string) (fleet.Explanation, error) {
	query := url.Values{}
	if !tick.IsZero() {
		query.Set("tick", strconv.FormatInt(tick.UnixMilli(), 10))
	}
	return get[fleet.Explanation](ctx, c, of(name, "explanation"), query)
}

type reason struct {
	Reason string `json:"reason,omitempty"`
}

// pauseResult is the answer to a pause and a resume.
type pauseResult struct {
	Changed bool         `json:"changed"`
	Pause   *fleet.Pause `json:"pause"`
}

// Pause pauses a job.
func (c *Client) Pause(ctx context.Context, job string, act fleet.Act) (p fleet.Pause, err error) {
	r, err := post[pauseResult](ctx, c, of(job, "pause"), reason{act.Reason})
	if r.Pause != nil {
		p = *r.Pause
	}
	p.Before = !r.Changed
	return p, err
}

// Resume ends a pause.
func (c *Client) Resume(ctx context.Context, job string, act fleet.Act) (*fleet.Pause, error) {
	r, err := post[pauseResult](ctx, c, of(job, "resume"), reason{act.Reason})
	return r.Pause, err
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
		Again   string `json:"again,omitempty"`
		Anyway  bool   `json:"anyway,omitempty"`
	}{reason{o.Reason}, o.Key, o.Window.Milliseconds(), strings.ToLower(rand.Text()), string(o.Payload), "", o.Anyway}
	if !o.Again.IsZero() {
		asked.Again = o.Again.UTC().Format(time.RFC3339Nano)
	}
	for try := 1; ; try++ {
		t, err = post[fleet.Triggered](ctx, c, of(job, "trigger"), asked)
		if _, answered := errors.AsType[*Problem](err); err == nil || answered || ctx.Err() != nil || try == triggerTries {
			return t, err
		}
	}
}

// Repair brings a watermark back to now that lies in the future.
func (c *Client) Repair(ctx context.Context, job string, act fleet.Act) (fleet.Repaired, error) {
	return post[fleet.Repaired](ctx, c, of(job, "repair"), reason{act.Reason})
}

// Forgettable says what Forget would remove.
func (c *Client) Forgettable(ctx context.Context, job string) (fleet.Forgotten, error) {
	return get[fleet.Forgotten](ctx, c, of(job, "forgettable"), nil)
}

// Forget removes the record of a job that no replica serves.
func (c *Client) Forget(ctx context.Context, job string, act fleet.Act) (fleet.Forgotten, error) {
	return post[fleet.Forgotten](ctx, c, of(job, "forget"), reason{act.Reason})
}

// Audit returns a page of the audit log.
func (c *Client) Audit(ctx context.Context, cursor string, n int) (fleet.AuditLog, error) {
	return get[fleet.AuditLog](ctx, c, "/acts", url.Values{"after": {cursor}, "limit": {strconv.Itoa(n)}})
}

// Cancel ends a tick that is open.
func (c *Client) Cancel(ctx context.Context, job string, tick time.Time, act fleet.Act) (fleet.Cancelled, error) {
	d, err := post[fleet.Cancelled](ctx, c, of(job, "cancel"), struct {
		reason
		Tick string `json:"tick"`
	}{reason{act.Reason}, strconv.FormatInt(tick.UnixMilli(), 10)})
	if p, ok := errors.AsType[*Problem](err); ok && p.Status == http.StatusConflict {
		return fleet.Cancelled{Job: job, Tick: tick, Status: protocol.CancelNotOpen}, nil // as the store answers
	}
	return d, err
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
	return c.ask(ctx, http.MethodGet, "/doctor", nil, report)
}
