package console

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/solotick/solotick/console/internal/page"
	"github.com/solotick/solotick/console/internal/view"
	"github.com/solotick/solotick/internal/naming"
)

// maxShown is how many names a confirmation shows.
const maxShown = 100

// confirm shows what an action on a job will do.
func (a actionRoute) confirm(q *request) (any, error) {
	name, err := q.jobName()
	if err != nil {
		return nil, err
	}
	known := slices.DeleteFunc(slices.Concat(a.fields, pageParameters), func(field string) bool { return field == fieldPayload })
	v, err := q.parameters(known...)
	if err != nil {
		return nil, err
	}
	o, p := a.order(q, v)
	if p != nil {
		return nil, p
	}
	s, err := q.now()
	if err != nil {
		return nil, err
	}
	if a.action == actionCancel && o.tick.IsZero() { // the run that is shown is cancelled, not one that begins meanwhile
		open, err := q.c.fleet.Open(q.r.Context(), name)
		if err != nil {
			return nil, err
		}
		if o.tick, err = cancellable(name, open); err != nil {
			return nil, err
		}
		v.Set("tick", strconv.FormatInt(o.tick.UnixMilli(), 10))
	}
	shown := a.confirmation(s, []string{name}, o.tick)
	if a.action == actionForget { // who sees the form can send it with success, or sees why not
		f, err := q.c.fleet.Forgettable(q.r.Context(), name)
		if err != nil {
			return nil, err
		}
		shown.Facts = append(shown.Facts, s.Say("Outcomes in its history: %d.", f.Outcomes))
	}
	if shown.Total == 0 {
		return nil, notFound(fmt.Sprintf("there is no job %s", name))
	}
	a.identify(v)
	for _, field := range a.fields {
		if value := v.Get(field); value != "" && field != "reason" {
			shown.Fields = append(shown.Fields, page.Field{Name: field, Value: value})
		}
	}
	shown.Reason, shown.Back = o.Reason, "/jobs/"+name
	shown.Payload = a.action == actionTrigger
	return shown, nil
}

// pageParameters are what the URL of any page may have besides its own.
var pageParameters = []string{"lang", "zone"}

// identify gives the form of a trigger an id: however often it is sent, it triggers once.
func (a actionRoute) identify(form url.Values) string {
	if a.action == actionTrigger && form.Get("request") == "" {
		form.Set("request", strings.ToLower(rand.Text()))
	}
	return form.Get("request")
}

// confirmAll shows what an action in bulk will do.
func (a actionRoute) confirmAll(q *request) (any, error) {
	v, err := q.values()
	if err != nil {
		return nil, err
	}
	v.Del("zone")
	filter, err := view.ParseJobFilter(v)
	if err != nil {
		return nil, badQuery(err)
	}
	s, err := q.now()
	if err != nil {
		return nil, err
	}
	names := view.Matching(s.Snapshot, filter)
	if len(names) == 0 {
		return nil, notFound("the filter chooses no job")
	}
	shown := a.confirmation(s, names, time.Time{})
	if request := a.identify(url.Values{}); request != "" {
		shown.Fields = append(shown.Fields, page.Field{Name: "request", Value: request})
	}
	for name, list := range filter.Values() {
		for _, value := range list {
			shown.Fields = append(shown.Fields, page.Field{Name: name, Value: value})
		}
	}
	slices.SortFunc(shown.Fields, func(a, b page.Field) int { return strings.Compare(a.Name+"\x00"+a.Value, b.Name+"\x00"+b.Value) })
	shown.Fields = append(shown.Fields, page.Field{Name: "digest", Value: digestOf(names)})
	if shown.Back = "/"; len(filter.Values()) > 0 {
		shown.Back = "/?" + filter.Values().Encode()
	}
	return shown, nil
}

// confirmation shows those of the named jobs that are known, and what an action would do to them.
// names are sorted.
func (a actionRoute) confirmation(s *reading, names []string, tick time.Time) page.ConfirmPage {
	shown := page.ConfirmPage{Action: page.Action(a.action)}
	var paused, running, waiting int
	var next time.Time
	var ahead time.Duration
	for i := range s.Status.Jobs {
		j := &s.Status.Jobs[i]
		if _, ok := slices.BinarySearch(names, j.Name); !ok {
			continue
		}
		shown.Names = append(shown.Names, j.Name)
		if j.Paused != nil {
			paused++
		}
		for _, e := range j.Open {
			switch {
			case !tick.IsZero() && !e.Scheduled.Equal(tick):
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
	if paused > 0 {
		fact(s.Say("Paused now: %d of %d.", paused, shown.Total))
	}
	if running+waiting > 0 {
		fact(s.Say("Ticks that run now: %d; that wait: %d.", running, waiting))
	}
	switch {
	case a.action == actionRepair && ahead == 0:
		fact(s.Say("No watermark lies in the future: nothing will change."))
	case ahead > 0:
		fact(s.Say("The watermark lies %s in the future, at most.", ahead.Round(time.Second)))
	}
	if !next.IsZero() && a.action != actionForget {
		fact(s.Say("The next tick is at %s.", next.UTC().Format("2006-01-02 15:04:05 MST")))
	}
	return shown
}

// submit does what a form asks for, and goes back to the job.
func (a actionRoute) submit(q *request) *problem {
	name, err := q.jobName()
	if err != nil {
		return problemOf(err)
	}
	form, p := q.form(a.fields...)
	if p != nil {
		return p
	}
	o, p := a.order(q, form)
	if p != nil {
		return p
	}
	if _, err := q.c.do(q.r.Context(), name, o); err != nil {
		return problemOf(err)
	}
	if a.action == actionForget { // the job has no page any more
		q.redirect("/")
		return nil
	}
	q.redirect("/jobs/" + name)
	return nil
}

// submitAll does what a form asks for with each of the jobs that it showed.
func (a actionRoute) submitAll(q *request) *problem {
	form, p := q.form("q", "state", "group", "replica", "digest", "reason", "request")
	if p != nil {
		return p
	}
	filter := url.Values{}
	for _, name := range []string{"q", "state", "group", "replica"} {
		if form.Has(name) {
			filter[name] = form[name]
		}
	}
	chosen, err := view.ParseJobFilter(filter)
	if err != nil {
		return badQuery(err)
	}
	o, p := a.order(q, url.Values{"reason": form["reason"], "request": form["request"]})
	if p != nil {
		return p
	}
	s, err := q.now()
	if err != nil {
		return problemOf(err)
	}
	names := view.Matching(s.Snapshot, chosen)
	if digestOf(names) != form.Get("digest") {
		return newProblem(http.StatusConflict, "the filter chooses other jobs now than those that were shown: nothing was changed; look again")
	}
	shown := page.DonePage{Action: page.Action(a.action), Back: "/"}
	if len(filter) > 0 {
		shown.Back = "/?" + chosen.Values().Encode()
	}
	for _, d := range q.c.doAll(q.r.Context(), names, o) {
		if d.Status == doneFailed {
			shown.Failed = append(shown.Failed, page.Fault{Field: d.Job, Rule: d.Detail})
		} else {
			shown.Done = append(shown.Done, d.Job)
		}
	}
	return q.write(http.StatusOK, shown)
}

// call is the action on one job in the API.
func (a actionRoute) call(q *request) (any, error) {
	name, err := q.jobName()
	if err != nil {
		return nil, err
	}
	v, p := q.body(a.fields)
	if p != nil {
		return nil, p
	}
	o, p := a.order(q, v)
	if p != nil {
		return nil, p
	}
	r, err := q.c.do(q.r.Context(), name, o)
	return r.answer, err
}

// bulkFields are what an action on several jobs has besides their names.
func (a actionRoute) bulkFields() []string {
	if a.action == actionTrigger {
		return []string{"reason", "request"}
	}
	return []string{"reason"}
}

// callAll is the action on several jobs in the API.
func (a actionRoute) callAll(q *request) (any, error) {
	v, p := q.body(a.bulkFields(), "jobs")
	if p != nil {
		return nil, p
	}
	names := slices.Compact(slices.Sorted(slices.Values(v["jobs"])))
	if given := len(v["jobs"]); given == 0 || given > maxNamed {
		return nil, badRequest(fault{"jobs", strconv.Itoa(given) + " names", fmt.Sprintf("must have 1 to %d names", maxNamed)})
	}
	var faults []fault
	for i, name := range names {
		if !naming.Valid(name) {
			faults = append(faults, fault{fmt.Sprintf("jobs[%d]", i), shortened(name), naming.Rule})
		}
	}
	if faults != nil {
		return nil, badRequest(faults...)
	}
	o, p := a.order(q, url.Values{"reason": v["reason"], "request": v["request"]})
	if p != nil {
		return nil, p
	}
	d := bulkResult{Action: a.action, Results: q.c.doAll(q.r.Context(), names, o)}
	for _, r := range d.Results {
		if r.Status == doneFailed {
			d.Failed++
		}
	}
	return d, nil
}

// forgettable says what a forget would remove, and changes nothing.
func (q *request) forgettable() (any, error) {
	name, err := q.jobName()
	if err != nil {
		return nil, err
	}
	if _, err := q.parameters(); err != nil {
		return nil, err
	}
	f, err := q.c.fleet.Forgettable(q.r.Context(), name)
	return f, err
}
