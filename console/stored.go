package console

import (
	"fmt"
	"slices"

	"github.com/solotick/solotick/console/internal/page"
	"github.com/solotick/solotick/console/internal/view"
	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/naming"
	"github.com/solotick/solotick/schedules"
)

// storedRoutes are the pages of schedules that lie in the store. One of them is at JOB/schedules/KEY,
// with the pages and actions that a job has, but forget.
func storedRoutes() []route {
	const all, one = "/jobs/{job}/schedules", "/jobs/{job}/schedules/{key}"
	list := []route{
		{method: "GET", pattern: all, needs: Read, serve: sharedPage(asking((*request).scheduleTable))},
		{method: "GET", pattern: one, needs: Read, serve: sharedPage(ofKey(asking((*request).storedSchedule)))},
		{method: "GET", pattern: one + "/ticks/{tick}", needs: Read, serve: sharedPage(ofKey(asking((*request).tick)))},
		{method: "GET", pattern: one + "/why", needs: Read, serve: sharedPage(ofKey(asking((*request).why)))},
		{method: "GET", pattern: "/jobs/{job}/preview", needs: Operate, serve: answer((*request).preview)},
	}
	for _, form := range []string{"/jobs/{job}/create", one + "/edit"} {
		list = append(list, route{method: "GET", pattern: form, needs: Operate, serve: answer((*request).editForm)},
			route{method: "POST", pattern: form, needs: Operate, serve: (*request).submitEdit})
	}
	for _, action := range append(actions[:5:5], page.Delete) {
		a := actionRoute{action}
		list = append(list, route{method: "GET", pattern: one + "/" + string(action), needs: Operate, serve: answer(ofKey(a.confirm))},
			route{method: "POST", pattern: one + "/" + string(action), needs: Operate, serve: func(q *request) *problem {
				q.joinKey()
				return a.submit(q)
			}})
	}
	return list
}

// stored returns a job whose schedules lie in the store, and those.
func (q *request) stored(job string) (of *fleet.JobStatus, all *schedules.Schedules, err error) {
	i := slices.IndexFunc(q.from.Status.Jobs, func(j fleet.JobStatus) bool { return j.Name == job })
	if i < 0 {
		return nil, nil, notFound(fmt.Sprintf("there is no job %s", job))
	}
	of = &q.from.Status.Jobs[i]
	if ticks := of.ScheduleOf(); ticks != nil && !ticks.Stored() {
		return nil, nil, fmt.Errorf("job %q: %w", job, schedules.ErrOwnSchedule)
	}
	all, err = q.c.schedulesOf(job)
	return of, all, err
}

func (q *request) scheduleTable(query view.SchedulesQuery, s *reading) (any, error) {
	if err := q.away(); err != nil {
		return nil, err
	}
	of, all, err := q.stored(q.r.PathValue("job"))
	if err != nil {
		return nil, err
	}
	list, err := all.List(q.r.Context(), query.Prefix, query.After, query.Limit)
	return view.Schedules(s.Snapshot, of, list, query, s.now()), err
}

func (q *request) storedSchedule(query view.JobQuery, s *reading) (any, error) {
	d, row, err := q.describeStored(q.r.PathValue("job"))
	if err != nil {
		return nil, err
	}
	return view.Stored(q.from.Snapshot, d, row, query, s.now()), nil
}

// describeStored describes the schedule JOB/KEY, and adds it to what the answer is made of. Its pause
// is its own, and none of the job.
func (q *request) describeStored(name string) (d fleet.Description, row schedules.Schedule, err error) {
	if err := q.away(); err != nil {
		return d, row, err
	}
	job, key := naming.SplitKeyed(name)
	_, all, err := q.stored(job)
	if err != nil {
		return d, row, err
	}
	if row, err = all.Get(q.r.Context(), key); err != nil {
		return d, row, err
	}
	if d, err = q.c.described.get(q.r.Context(), name); err != nil {
		return d, row, err
	}
	if d.Next, d.Paused = row.Next, nil; row.Paused != nil {
		d.Paused = &fleet.Pause{By: row.Paused.By, Reason: row.Paused.Reason, Since: row.Paused.Since}
	}
	with := *q.from.Snapshot
	with.Stored = &d.JobStatus
	q.from = &reading{&with, q.from.at, q.from.seq}
	return d, row, nil
}
