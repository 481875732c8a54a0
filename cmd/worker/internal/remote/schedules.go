package remote

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/naming"
	"github.com/solotick/solotick/schedules"
)

// Schedules are those of a job that lie in the store. Its methods are those of [schedules.Schedules].
type Schedules struct {
	c   *Client
	job string
}

// Schedules returns the schedules of a job.
func (c *Client) Schedules(job string) *Schedules { return &Schedules{c, job} }

func (s *Schedules) path(key string) string { return of(s.job, "schedules/"+url.PathEscape(key)) }

// Put creates or changes one.
func (s *Schedules) Put(ctx context.Context, row schedules.Schedule, options ...schedules.Option) (r schedules.Result, err error) {
	change, err := schedules.Apply(options...)
	if err != nil {
		return r, err
	}
	body := struct {
		schedules.Schedule
		reason
	}{Schedule: row}
	if change.As != nil {
		body.Reason = change.As.Reason
	}
	text, err := json.Marshal(body)
	if err == nil {
		err = s.c.ask(ctx, http.MethodPut, s.path(row.Key), text, &r, conditions(change)...)
	}
	return r, err
}

// conditions returns the headers of a change, each as its name and value.
func conditions(change schedules.Change) (headers []string) {
	if change.IfRevision != "" {
		headers = append(headers, "If-Match", `"`+change.IfRevision+`"`)
	}
	if change.IfAbsent {
		headers = append(headers, "If-None-Match", "*")
	}
	return headers
}

// shown is a schedule with its coming ticks.
type shown struct {
	schedules.Schedule
	Coming []time.Time `json:"coming"`
}

// Get returns the schedule of a key.
func (s *Schedules) Get(ctx context.Context, key string) (schedules.Schedule, error) {
	answer, err := get[shown](ctx, s.c, s.path(key), nil)
	if isMissing(err) {
		err = errors.Join(schedules.ErrNotFound, err)
	}
	return answer.Schedule, err
}

func isMissing(err error) bool {
	p, ok := errors.AsType[*Problem](err)
	return ok && p.Status == http.StatusNotFound
}

// NextTicks returns the next ticks of a schedule as it is there.
func (s *Schedules) NextTicks(ctx context.Context, row schedules.Schedule, n int) ([]time.Time, error) {
	answer, err := get[shown](ctx, s.c, s.path(row.Key), url.Values{"ticks": {strconv.Itoa(n)}})
	return answer.Coming, err
}

// List returns a page of them.
func (s *Schedules) List(ctx context.Context, prefix, cursor string, count int) (schedules.Page, error) {
	return get[schedules.Page](ctx, s.c, of(s.job, "schedules"),
		url.Values{"prefix": {prefix}, "after": {cursor}, "limit": {strconv.Itoa(min(count, maxPage))}})
}

// maxPage is how many items a page of the API has at most.
const maxPage = 1000

// Delete deletes one, and reports whether there was one.
func (s *Schedules) Delete(ctx context.Context, key string, options ...schedules.Option) (deleted bool, err error) {
	change, err := schedules.Apply(options...)
	if err != nil {
		return false, err
	}
	path := s.path(key)
	if change.As != nil && change.As.Reason != "" {
		path += "?" + url.Values{"reason": {change.As.Reason}}.Encode()
	}
	var answer struct {
		Deleted bool `json:"deleted"`
	}
	err = s.c.ask(ctx, http.MethodDelete, path, nil, &answer, conditions(change)...)
	if isMissing(err) {
		return false, nil
	}
	return answer.Deleted, err
}

// Pause pauses one.
func (s *Schedules) Pause(ctx context.Context, key string, act fleet.Act) error {
	_, err := s.c.Pause(ctx, naming.Keyed(s.job, key), act)
	return err
}

// Resume ends the pause of one, and reports whether there was one.
func (s *Schedules) Resume(ctx context.Context, key string, act fleet.Act) (resumed bool, err error) {
	was, err := s.c.Resume(ctx, naming.Keyed(s.job, key), act)
	return was != nil, err
}
