package console

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/solotick/solotick/console/internal/page"
	"github.com/solotick/solotick/console/internal/view"
	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/naming"
	"github.com/solotick/solotick/internal/protocol"
)

var actions = []page.Action{page.Pause, page.Resume, page.Trigger, page.Cancel, page.Repair, page.Forget}

// actionRoutes are a form for each action, in which somebody confirms it, and its answer in the API:
// on a job, on several, and on a lock.
func actionRoutes() (list []route) {
	add := func(pattern string, form func(*request) (any, error), submit func(*request) *problem, call func(*request) (any, error)) {
		list = append(list, route{method: "GET", pattern: pattern, needs: Operate, serve: answer(form)},
			route{method: "POST", pattern: pattern, needs: Operate, serve: submit},
			route{method: "POST", pattern: "/api/v1" + pattern, needs: Operate, serve: answer(call)})
	}
	for _, action := range actions {
		a := actionRoute{action}
		add("/jobs/{job}/"+string(action), a.confirm, a.submit, a.call)
		add("/actions/"+string(action), a.confirmAll, a.submitAll, a.callAll)
	}
	release := actionRoute{page.Release}
	add("/locks/release", release.confirmRelease, release.submit, release.call)
	return list
}

// actionRoute answers the requests for an action.
type actionRoute struct{ page.Action }

// maxShown is how many names a confirmation shows.
const maxShown = 100

// confirm shows what an action on a job will do.
func (a actionRoute) confirm(q *request) (any, error) {
	name, err := q.jobName()
	if err != nil {
		return nil, err
	}
	o, err := q.order(a.Action, false)
	if err != nil {
		return nil, err
	}
	s, err := q.now()
	if err != nil {
		return nil, err
	}
	own := false
	if naming.IsKeyed(name) {
		_, row, err := q.describeStored(name)
		if err != nil {
			return nil, err
		}
		s, own = q.from, row.Payload != ""
		if o.revision == "" && o.action == page.Delete { // the schedule that is shown is deleted, not one that is put meanwhile
			o.revision = row.Revision
		}
	}
	if o.action == page.Cancel && o.tick.IsZero() { // the run that is shown is cancelled, not one that begins meanwhile
		open, err := q.c.fleet.Open(q.r.Context(), name)
		if err != nil {
			return nil, err
		}
		if o.tick, err = cancellable(name, open); err != nil {
			return nil, err
		}
	}
	shown := o.confirmation(s, []string{name})
	if o.action == page.Forget { // who sees the form can send it with success, or sees why not
		f, err := q.c.fleet.Forgettable(q.r.Context(), name)
		if err != nil {
			return nil, err
		}
		shown.Facts = append(shown.Facts, s.Say("Outcomes in its history: %d.", f.Outcomes))
	}
	if shown.Total == 0 {
		return nil, notFound(fmt.Sprintf("there is no job %s", name))
	}
	shown.Back, shown.Payload, shown.Own = page.JobPath(name), o.action == page.Trigger, own
	return shown, nil
}

// confirmAll shows what an action in bulk will do.
func (a actionRoute) confirmAll(q *request) (any, error) {
	o, err := q.order(a.Action, true)
	if err != nil {
		return nil, err
	}
	s, err := q.now()
	if err != nil {
		return nil, err
	}
	names := view.Matching(s.Snapshot, o.filter)
	if len(names) == 0 {
		return nil, notFound("the filter chooses no job")
	}
	o.digest = digestOf(names)
	shown := o.confirmation(s, names)
	shown.Back = o.list()
	return shown, nil
}

// list returns the page of the jobs that the filter of an order chooses.
func (o *order) list() string {
	if v := view.Values(o.filter); len(v) > 0 {
		return "/?" + v.Encode()
	}
	return "/"
}

// confirmRelease shows the consequences of releasing a lock by force.
func (a actionRoute) confirmRelease(q *request) (any, error) {
	o, err := q.order(a.Action, false)
	if err != nil {
		return nil, err
	}
	if _, err := q.now(); err != nil {
		return nil, err
	}
	with, err := q.withLocks()
	if err != nil {
		return nil, err
	}
	i, ok := slices.BinarySearchFunc(with.Locks, o.lock, func(l protocol.Lock, name string) int { return strings.Compare(l.Name, name) })
	if !ok {
		return nil, notFound(fmt.Sprintf("lock %s: nobody holds it", o.lock))
	}
	held := with.Locks[i]
	hold := slices.IndexFunc(held.Holds, func(h protocol.Hold) bool { return h.Token == int64(o.token) })
	if hold < 0 {
		return nil, notFound(fmt.Sprintf("lock %s: token %d holds nothing", o.lock, o.token))
	}
	return page.ConfirmPage{
		Action: o.action, Names: []string{o.lock}, Total: 1, Reason: o.Reason, Back: "/locks", Fields: o.fields(),
		Facts: []string{
			with.Say("Held by %s since %s, with token %d.", held.Holds[hold].Holder, held.Holds[hold].Since.UTC().Format("2006-01-02 15:04:05 MST"), o.token),
			with.Say("Waiting: %d.", held.Waiters),
		},
	}, nil
}

// confirmation shows those of the named jobs that are known, and what an action would do to them.
// names are sorted.
func (o *order) confirmation(s *reading, names []string) page.ConfirmPage {
	if o.action == page.Trigger && o.request == "" { // however often the form is sent, it triggers once
		o.request = strings.ToLower(rand.Text())
	}
	shown := page.ConfirmPage{Action: o.action, Reason: o.Reason, Fields: o.fields()}
	var paused, running, waiting int
	var next time.Time
	var ahead time.Duration
	list := s.Status.Jobs
	if s.Stored != nil {
		list = []fleet.JobStatus{*s.Stored}
	}
	for i := range list {
		j := &list[i]
		if _, ok := slices.BinarySearch(names, j.Name); !ok {
			continue
		}
		shown.Names = append(shown.Names, j.Name)
		if j.Paused != nil {
			paused++
		}
		for _, e := range j.Open {
			switch {
			case !o.tick.IsZero() && !e.Scheduled.Equal(o.tick):
			case e.Held():
				running++
			default:
				waiting++
			}
		}
		if !j.Next.IsZero() && (next.IsZero() || j.Next.Before(next)) {
			next = j.Next
		}
		ahead = max(ahead, j.Ahead)
	}
	shown.Total = len(shown.Names)
	slices.Sort(shown.Names)
	shown.Names = shown.Names[:min(len(shown.Names), maxShown)]
	fact := func(text string) { shown.Facts = append(shown.Facts, text) }
	if !o.again.IsZero() {
		fact(s.Say("It runs the tick of %s again, as a tick of its own.", o.again.UTC().Format("2006-01-02 15:04:05 MST")))
	}
	if paused > 0 {
		fact(s.Say("Paused now: %d of %d.", paused, shown.Total))
	}
	if running+waiting > 0 {
		fact(s.Say("Ticks that run now: %d; that wait: %d.", running, waiting))
	}
	switch {
	case o.action == page.Repair && ahead == 0:
		fact(s.Say("No watermark lies in the future: nothing will change."))
	case ahead > 0:
		fact(s.Say("The watermark lies %s in the future, at most.", ahead.Round(time.Second)))
	}
	if !next.IsZero() && o.action != page.Forget && o.action != page.Delete {
		fact(s.Say("The next tick is at %s.", next.UTC().Format("2006-01-02 15:04:05 MST")))
	}
	return shown
}

// submit does what a form asks for, and goes back to the job or the locks.
func (a actionRoute) submit(q *request) *problem {
	_, o, err := a.carryOut(q)
	if err != nil {
		return problemOf(err)
	}
	switch o.action {
	case page.Forget: // the job has no page any more
		q.redirect("/")
	case page.Release:
		q.redirect("/locks")
	case page.Delete: // nor has the schedule
		job, _ := naming.SplitKeyed(q.r.PathValue("job"))
		q.redirect(page.JobPath(job) + "/schedules")
	case page.Pause, page.Resume, page.Trigger, page.Cancel, page.Repair:
		q.redirect(page.JobPath(q.r.PathValue("job")))
	}
	return nil
}

// call is the action on one job or lock in the API.
func (a actionRoute) call(q *request) (any, error) {
	r, _, err := a.carryOut(q)
	return r.answer, err
}

// carryOut does what a request asks for with a job or a lock.
func (a actionRoute) carryOut(q *request) (r actionResult, o order, err error) {
	name := ""
	if a.Action != page.Release {
		if name, err = q.jobName(); err != nil {
			return r, o, err
		}
	}
	if o, err = q.order(a.Action, false); err != nil {
		return r, o, err
	}
	r, err = q.c.do(q.r.Context(), name, o)
	return r, o, err
}

// submitAll does what a form asks for with each of the jobs that it showed.
func (a actionRoute) submitAll(q *request) *problem {
	o, err := q.order(a.Action, true)
	if err != nil {
		return problemOf(err)
	}
	s, err := q.now()
	if err != nil {
		return problemOf(err)
	}
	names := view.Matching(s.Snapshot, o.filter)
	if digestOf(names) != o.digest {
		return newProblem(http.StatusConflict, "the filter chooses other jobs now than those that were shown: nothing was changed; look again")
	}
	shown := page.DonePage{Action: o.action, Back: o.list()}
	for _, d := range q.c.doAll(q.r.Context(), names, o) {
		if d.Status == doneFailed {
			shown.Failed = append(shown.Failed, page.Fault{Field: d.Job, Rule: d.Detail})
		} else {
			shown.Done = append(shown.Done, d.Job)
		}
	}
	return q.write(http.StatusOK, shown)
}

// callAll is the action on several jobs in the API.
func (a actionRoute) callAll(q *request) (any, error) {
	o, err := q.order(a.Action, true)
	if err != nil {
		return nil, err
	}
	d := bulkResult{Action: o.action, Results: q.c.doAll(q.r.Context(), slices.Sorted(slices.Values(o.jobs)), o)}
	for _, r := range d.Results {
		if r.Status == doneFailed {
			d.Failed++
		}
	}
	return d, nil
}

// forgettable says what a forget would remove, and changes nothing.
func (q *request) forgettable() (any, error) {
	name, err := q.asks(func(*view.Parameters) {})
	if err != nil {
		return nil, err
	}
	return q.c.fleet.Forgettable(q.r.Context(), name)
}
