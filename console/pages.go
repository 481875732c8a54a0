package console

import (
	"context"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/solotick/solotick/console/internal/page"
	"github.com/solotick/solotick/console/internal/view"
	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/naming"
	"github.com/solotick/solotick/internal/notified"
	"github.com/solotick/solotick/internal/wording"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/schedules"
)

// reading returns the reading of the fleet for the answer.
func (q *request) reading() (*reading, error) {
	if !q.api && q.c.failing.Load() { // a page need not wait for another read that may take as long as the last
		if s, known, err := q.c.snapshot.peek(); known && err == nil {
			return s, nil
		}
	}
	return q.c.snapshot.get(q.r.Context())
}

// read returns the snapshot that the answer is made of. A program gets none that is stale: it may
// not look at what says so.
func (q *request) read() (*reading, error) {
	s, err := q.reading()
	if err == nil && s.Err != "" && q.api {
		return nil, unavailable(s.Err, nil)
	}
	if err != nil {
		return nil, err
	}
	return q.shows(s), nil
}

// shows makes s what the answer is made of, in the language of the page. JSON and plain text are in
// English.
func (q *request) shows(s *reading) *reading {
	if w := q.wording(); w != nil {
		worded := *s.Snapshot
		worded.Wording = w
		s = &reading{&worded, s.at, s.seq}
	}
	q.from = s
	return s
}

func (q *request) wording() wording.Wording {
	if q.format != asHTML {
		return nil
	}
	v, _ := url.ParseQuery(q.r.URL.RawQuery) // where it has faults, they are returned
	return page.Wording(q.language(v))
}

// language returns the language of the page.
func (q *request) language(v url.Values) string {
	return page.Language(q.r.Header.Get("Accept-Language"), v.Get("lang"))
}

// now returns a snapshot that is not stale: of what somebody is about to change.
func (q *request) now() (*reading, error) {
	s, err := q.read()
	if err == nil {
		err = q.away()
	}
	return s, err
}

// asked reads the query, in which the tick of the path has its place, and then the snapshot.
func asked[Q any, P view.Query[Q]](q *request) (query Q, s *reading, err error) {
	v, err := q.values()
	if err != nil {
		return query, nil, err
	}
	if tick := q.r.PathValue("tick"); tick != "" {
		v.Set("tick", tick)
	}
	if query, err = view.Parse[Q, P](v); err != nil {
		return query, nil, badQuery(err)
	}
	s, err = q.read()
	return query, s, err
}

// asking makes a page of a function that is given its query and a reading of the fleet. A job in the
// path has a valid name.
func asking[Q any, P view.Query[Q]](of func(*request, Q, *reading) (any, error)) func(*request) (any, error) {
	return func(q *request) (any, error) {
		if q.r.PathValue("job") != "" {
			if _, err := q.jobName(); err != nil {
				return nil, err
			}
		}
		query, s, err := asked[Q, P](q)
		if err != nil {
			return nil, err
		}
		return of(q, query, s)
	}
}

func (q *request) jobList(query view.JobsQuery, s *reading) (any, error) {
	p := view.Jobs(s.Snapshot, query, s.now())
	names := make([]string, len(p.Jobs))
	for i := range p.Jobs {
		names[i] = p.Jobs[i].Job
	}
	q.c.monitor.Show(names)
	return p, nil
}

func (q *request) replicas(query view.FleetQuery, s *reading) (any, error) {
	facts, _, err := shown(q, q.c.facts)
	if err != nil {
		return nil, err
	}
	head, _, err := shown(q, q.c.notified)
	if err != nil {
		return nil, err
	}
	with := *q.from.Snapshot
	with.Facts, with.Notified = facts, head
	q.withFindings(&with)
	return view.Fleet(&with, query, s.now()), nil
}

func (q *request) lockList(query view.LocksQuery, s *reading) (any, error) {
	with, err := q.withLocks()
	if err != nil {
		return nil, err
	}
	return view.Locks(with, query, s.now()), nil
}

func (q *request) withLocks() (*view.Snapshot, error) {
	list, ok, err := shown(q, q.c.locks)
	if err == nil && !ok {
		err = q.away()
	}
	with := *q.from.Snapshot
	with.Locks, with.LocksMore = list.locks, list.more
	return &with, err
}

func (q *request) timeline(query view.TimelineQuery, s *reading) (any, error) {
	histories, err := q.histories(view.TimelineJobs(s.Snapshot, query))
	if err != nil {
		return nil, err
	}
	return view.Timeline(q.from.Snapshot, histories, query, s.now()), nil
}

func (q *request) load(query view.LoadQuery, s *reading) (any, error) {
	histories, err := q.histories(view.LoadJobs(s.Snapshot, query))
	if err != nil {
		return nil, err
	}
	return view.Load(q.from.Snapshot, histories, query, s.now()), nil
}

func (q *request) job(query view.JobQuery, s *reading) (any, error) {
	name := q.r.PathValue("job")
	d, ok, err := shown(q, q.c.described.of(name))
	if err != nil {
		return nil, err
	}
	if ok {
		with, err := q.withNotified(name)
		return view.Job(with, d, query, s.now()), err
	}
	i := slices.IndexFunc(s.Status.Jobs, func(j fleet.JobStatus) bool { return j.Name == name })
	if i < 0 {
		return nil, q.away()
	}
	p := view.Job(q.from.Snapshot, fleet.Description{Namespace: s.Status.Namespace, Now: s.Status.Now, JobStatus: s.Status.Jobs[i]}, query, s.now())
	p.Unread = q.from.Say("its history was not read")
	return p, nil
}

// withNotified adds what receivers of notifications know of a job.
func (q *request) withNotified(job string) (*view.Snapshot, error) {
	head, _, err := shown(q, q.c.notified)
	if err != nil {
		return nil, err
	}
	var progress notified.Job
	if head != nil && len(head.Receivers) > 0 {
		if progress, _, err = shown(q, q.c.progress.of(job)); err != nil {
			return nil, err
		}
	}
	with := *q.from.Snapshot
	with.Notified, with.Progress = head, progress
	return &with, nil
}

func (q *request) tick(query view.TickQuery, s *reading) (any, error) {
	e, err := q.explain(&query, s)
	return view.Tick(q.from.Snapshot, e, query, s.now()), err
}

func (q *request) why(query view.TickQuery, s *reading) (any, error) {
	e, err := q.explain(&query, s)
	return view.Why(q.from.Snapshot, e, query, s.now()), err
}

// explanation explains a tick; without one, that which fleet.Why chooses.
func (q *request) explanation(query view.TickQuery, s *reading) (any, error) {
	return q.explain(&query, s)
}

// explain asks package fleet about a tick of the job in the path.
func (q *request) explain(query *view.TickQuery, s *reading) (e fleet.Explanation, err error) {
	if err := q.away(); err != nil {
		return e, err
	}
	query.Job = q.r.PathValue("job")
	if naming.IsKeyed(query.Job) && !q.api {
		if _, _, err := q.describeStored(query.Job); err != nil {
			return e, err
		}
	}
	return q.c.fleet.Why(q.r.Context(), query.Job, q.c.jobOf(q.r.Context(), s, query.Job), query.Tick, q.from.Wording)
}

// Reads of single jobs, which the callers of one moment share.

// all is more outcomes than a store keeps, and comingTicks how many ticks to come a page can ask
// for.
const (
	all         = math.MaxInt
	comingTicks = 100
)

func (c *Console) describe(ctx context.Context, name string) (fleet.Description, error) {
	s, err := c.snapshot.get(ctx)
	if err != nil {
		return fleet.Description{}, err
	}
	return c.fleet.Describe(ctx, name, c.jobOf(ctx, s, name), comingTicks, all)
}

// jobOf returns a job that this program defines, or that as it runs for a stored schedule JOB/KEY; nil
// where it is not known.
func (c *Console) jobOf(ctx context.Context, s *reading, name string) *jobs.Job {
	job, key := naming.SplitKeyed(name)
	given := s.job(job)
	if key == "" || given == nil {
		return given
	}
	all, err := schedules.Of(c.store, given)
	if err != nil {
		return nil
	}
	keyed, _ := all.JobOf(ctx, key) // nil with an error
	return keyed
}

func (c *Console) readHistory(ctx context.Context, name string) (fleet.JobHistory, error) {
	list, err := c.fleet.Histories(ctx, []string{name})
	return list[name], err
}

// histories returns the histories of several jobs; none where they cannot be read.
func (q *request) histories(names []string) (map[string]fleet.JobHistory, error) {
	if len(names) == 0 {
		return nil, nil
	}
	list, _, err := shown(q, q.c.several.of(strings.Join(names, "\n")))
	return list, err
}

func (c *Console) readNotified(ctx context.Context) (*notified.Head, error) {
	head, _, err := notified.ReadHead(ctx, c.store)
	return &head, err
}

func (c *Console) readProgress(ctx context.Context, job string) (notified.Job, error) {
	return notified.ReadJob(ctx, c.store, job)
}

func (c *Console) readFacts(ctx context.Context) ([]fleet.Fact, error) {
	return c.fleet.Facts(ctx, "")
}

// marshal writes a page as JSON.
func marshal(shown any) ([]byte, error) {
	text, err := fleet.Marshal(shown)
	return append(text, '\n'), err
}

// calendar is the coming ticks in the form that calendars subscribe to.
func (q *request) calendar() *problem {
	query, s, err := asked[view.CalendarQuery](q)
	if err != nil {
		return problemOf(err)
	}
	q.send(http.StatusOK, "text/calendar; charset=utf-8", view.Calendar(s.Snapshot, query, s.now()), nil)
	return nil
}
