package page

import (
	"fmt"
	"html/template"
	"net/url"
	"reflect"
	"strings"
	"time"

	"github.com/solotick/solotick/console/internal/view"
	"github.com/solotick/solotick/internal/naming"
)

// JobPath returns the path of the page of a job, or of a schedule in the store, JOB/KEY.
func JobPath(name string) string {
	job, key := naming.SplitKeyed(name)
	if key == "" {
		return "/jobs/" + url.PathEscape(job)
	}
	return "/jobs/" + url.PathEscape(job) + "/schedules/" + url.PathEscape(key)
}

// Job returns the URL of the page of a job, or of a schedule in the store.
func (f *frame) Job(name string) string { return f.To(JobPath(name)) }

// Stored returns the URL of the page of a schedule in the store.
func (f *frame) Stored(job, key string) string { return f.Job(naming.Keyed(job, key)) }

// Tick returns the URL of a tick's page.
func (f *frame) Tick(job string, at time.Time) string {
	return f.To(fmt.Sprintf("%s/ticks/%d", JobPath(job), at.UnixMilli()))
}

// Why returns the URL of the page that explains a tick; that of a leader task has no time.
func (f *frame) Why(job string, at time.Time) string { return f.Do(job, "why", "tick", at) }

// Do returns the link to the confirmation of an action on a job, or to another page of it.
func (f *frame) Do(job, action string, query ...any) string {
	return f.To(JobPath(job)+"/"+action, query...)
}

// jobs returns the query of the page of jobs that is shown.
func (p part) jobs() view.JobsQuery {
	shown, _ := p.V.(view.JobsPage)
	return shown.Query
}

// Orders returns the orders of jobs for a menu.
func (p part) Orders() (orders []view.Choice) {
	q := p.jobs()
	for _, by := range view.Sorts {
		orders = append(orders, view.Choice{Value: string(by), On: q.Sort == by && !q.Descending}, view.Choice{Value: "-" + string(by), On: q.Sort == by && q.Descending})
	}
	return orders
}

// Sort returns the link that sorts by a column; the other way round where it is sorted by it
// already.
func (p part) Sort(by string) string {
	if q := p.jobs(); string(q.Sort) == by && !q.Descending {
		return p.with("sort", "-"+by)
	}
	return p.with("sort", by)
}

// SortedBy returns the attribute that says how a column is sorted, if it is.
func (p part) SortedBy(by string) template.HTMLAttr {
	switch q := p.jobs(); {
	case string(q.Sort) != by:
		return ""
	case q.Descending:
		return ` aria-sort="descending"`
	}
	return ` aria-sort="ascending"`
}

// State returns the link that shows only jobs in a state; all for "".
func (p part) State(state string) string { return p.with("state", state) }

// OnlyState reports whether the page shows only jobs in a state.
func (p part) OnlyState(state string) bool {
	q := p.jobs()
	return len(q.States) == 1 && string(q.States[0]) == state
}

// Bulk returns the link to the confirmation of an action for all jobs that the filter chooses.
func (p part) Bulk(action string) string {
	return p.link("/actions/"+action, view.Values(p.jobs().JobFilter))
}

// turns are the links to the pages before and after.
type turns struct{ Previous, Next string }

// Turns returns the links to the pages that two cursors begin.
func (p part) Turns(previous, next string) (t turns) {
	if previous != "" {
		t.Previous = p.with("before", previous)
	}
	if next != "" {
		t.Next = p.with("after", next)
	}
	return t
}

// Refresh is what makes the page be read again. No event says that a schedule in the store has
// changed, and a list of those reads as many records.
func (f *frame) Refresh() string {
	switch {
	case f.name == "schedules":
		return "sse:reset, every 30s"
	case strings.Contains(f.Path, "/schedules/"):
		return "sse:change throttle:1s, sse:reset, every 5s"
	}
	return "sse:change throttle:1s, sse:reset, every 30s"
}

// Only returns the link to the history of one outcome; of all for "".
func (p part) Only(outcome any) string { return p.with("outcome", fmt.Sprint(outcome)) }

// with returns the link to this page with another value of a parameter, from the beginning of its
// list.
func (f *frame) with(parameter, value string) string {
	v := f.query()
	v.Del("after")
	v.Del("before")
	v.Del(parameter)
	if value != "" {
		v.Set(parameter, value)
	}
	return f.link(f.Path, v)
}

// Chosen reports whether a list has a value.
func (f *frame) Chosen(list, value any) bool {
	for i, v := 0, reflect.ValueOf(list); i < v.Len(); i++ {
		if v.Index(i).Interface() == value {
			return true
		}
	}
	return false
}
