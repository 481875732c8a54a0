package console

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/solotick/solotick/console/internal/view"
	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/naming"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/schedules"
)

// scheduleRoutes are the schedules of a job that lie in the store. What can be asked of a job can be
// asked of one of them, under its name JOB/KEY.
func scheduleRoutes() []route {
	const all, one = "/api/v1/jobs/{job}/schedules", "/api/v1/jobs/{job}/schedules/{key}"
	list := []route{
		{method: "GET", pattern: all, needs: Read, serve: answer((*request).scheduleList)},
		{method: "GET", pattern: one, needs: Read, serve: (*request).schedule},
		{method: "PUT", pattern: one, needs: Operate, serve: (*request).putSchedule},
		{method: "GET", pattern: one + "/description", needs: Read, serve: answer(ofKey((*request).description))},
		{method: "GET", pattern: one + "/history", needs: Read, serve: answer(ofKey(asking((*request).history)))},
		{method: "GET", pattern: one + "/explanation", needs: Read, serve: answer(ofKey(asking((*request).explanation)))},
	}
	for _, action := range actions[:4] { // but repair and forget
		a := actionRoute{action}
		list = append(list, route{method: "POST", pattern: one + "/" + string(action), needs: Operate, serve: answer(ofKey(a.call))})
	}
	return append(list, route{method: "DELETE", pattern: one, needs: Operate, serve: answer((*request).deleteSchedule)})
}

// ofKey makes the job of the path JOB/KEY.
func ofKey(of func(*request) (any, error)) func(*request) (any, error) {
	return func(q *request) (any, error) {
		q.joinKey()
		return of(q)
	}
}

func (q *request) joinKey() {
	q.r.SetPathValue("job", naming.Keyed(q.r.PathValue("job"), q.r.PathValue("key")))
}

// schedulesOf returns the schedules of a job.
func (c *Console) schedulesOf(job string) (*schedules.Schedules, error) {
	for _, j := range c.options.jobs() {
		if j.Name() == job {
			return schedules.Of(c.store, j)
		}
	}
	return schedules.New(c.store, job)
}

// asksSchedules reads the path and the query of a request about schedules.
func (q *request) asksSchedules(bind func(p *view.Parameters)) (s *schedules.Schedules, key string, err error) {
	if key = q.r.PathValue("key"); key != "" && !naming.Valid(key) {
		return nil, "", badRequest(fault("key", shortened(key), naming.Rule))
	}
	job, err := q.asks(bind)
	if err == nil {
		s, err = q.c.schedulesOf(job)
	}
	return s, key, err
}

// schedulesPage is a page of the schedules of a job.
type schedulesPage struct {
	Job string `json:"job"`
	schedules.Page
}

func (q *request) scheduleList() (any, error) {
	var prefix, after string
	var limit int
	s, _, err := q.asksSchedules(func(p *view.Parameters) {
		p.Text("prefix", &prefix)
		p.Number("limit", &limit, 1, view.MaxLimit, view.DefaultLimit)
		p.Text("after", &after)
	})
	if err != nil {
		return nil, err
	}
	known, err := q.read()
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(known.Status.Jobs, func(j fleet.JobStatus) bool { return j.Name == s.Job() }) {
		return nil, notFound(fmt.Sprintf("there is no job %s", s.Job()))
	}
	page, err := s.List(q.r.Context(), prefix, after, limit)
	return schedulesPage{s.Job(), page}, err
}

// scheduleAnswer is a schedule with its coming ticks.
type scheduleAnswer struct {
	schedules.Schedule
	Coming []time.Time `json:"coming"`
}

// schedule shows one, with its revision as the entity tag.
func (q *request) schedule() *problem {
	var ticks int
	s, key, err := q.asksSchedules(func(p *view.Parameters) { p.Number("ticks", &ticks, 1, comingTicks, 5) })
	if err != nil {
		return problemOf(err)
	}
	shown := scheduleAnswer{}
	if shown.Schedule, err = s.Get(q.r.Context(), key); err == nil {
		shown.Coming, err = s.NextTicks(q.r.Context(), shown.Schedule, ticks)
	}
	if err != nil {
		return problemOf(err)
	}
	q.w.Header().Set("ETag", `"`+shown.Revision+`"`)
	return q.write(http.StatusOK, shown)
}

// putSchedule creates or changes one. What GET has shown besides is left out.
func (q *request) putSchedule() *problem {
	s, key, err := q.asksSchedules(func(*view.Parameters) {})
	if err != nil {
		return problemOf(err)
	}
	var body struct {
		scheduleAnswer
		Reason string `json:"reason"`
	}
	text, err := io.ReadAll(q.r.Body)
	if err != nil {
		return bodyProblem(err)
	}
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.DisallowUnknownFields()
	if err := d.Decode(&body); err != nil || d.More() {
		if err == nil {
			err = errors.New("there must be one object and nothing else")
		}
		return badRequest(fault("body", shortened(string(text)), "must be a JSON object: "+err.Error()))
	}
	if body.Key != "" && body.Key != key {
		return badRequest(fault("key", shortened(body.Key), "must be that of the path, or left out"))
	}
	body.Key = key
	options, err := q.conditions(body.Reason)
	if err != nil {
		return problemOf(err)
	}
	r, err := s.Put(q.r.Context(), body.Schedule, options...)
	if _, wrong := errors.AsType[*jobs.Fault](err); wrong {
		return badQuery(err)
	} else if err != nil {
		return problemOf(err)
	}
	status := http.StatusOK
	if r.Status == schedules.Created {
		status = http.StatusCreated
	}
	q.w.Header().Set("ETag", `"`+r.Revision+`"`)
	return q.write(status, r)
}

// deletedSchedule is the answer to a delete.
type deletedSchedule struct {
	Key     string `json:"key"`
	Deleted bool   `json:"deleted"`
}

func (q *request) deleteSchedule() (any, error) {
	var reason string
	s, key, err := q.asksSchedules(func(p *view.Parameters) { p.Text("reason", &reason) })
	if err != nil {
		return nil, err
	}
	options, err := q.conditions(reason)
	if err != nil {
		return nil, err
	}
	deleted, err := s.Delete(q.r.Context(), key, options...)
	if err == nil && !deleted {
		err = notFound(fmt.Sprintf("there is no schedule %s", key))
	}
	return deletedSchedule{key, deleted}, err
}

// conditions returns what a change depends on, and who makes it.
func (q *request) conditions(reason string) ([]schedules.Option, error) {
	reason = oneLine(reason)
	if rule := view.TextRule(reason, protocol.MaxReason); rule != "" {
		return nil, badRequest(fault("reason", shortened(reason), rule))
	}
	options := []schedules.Option{schedules.As(fleet.Act{By: q.caller.by(), Reason: reason, Via: wire.ViaAPI})}
	if match := q.r.Header.Get("If-Match"); match != "" {
		revision, opened := strings.CutPrefix(match, `"`)
		revision, closed := strings.CutSuffix(revision, `"`)
		if !opened || !closed || revision == "" || strings.Contains(revision, `"`) {
			return nil, badRequest(fault("If-Match", shortened(match), "must be one ETag, in quotes"))
		}
		options = append(options, schedules.IfRevision(revision))
	}
	switch match := q.r.Header.Get("If-None-Match"); match {
	case "":
	case "*":
		options = append(options, schedules.IfAbsent())
	default:
		return nil, badRequest(fault("If-None-Match", shortened(match), "must be *"))
	}
	return options, nil
}
