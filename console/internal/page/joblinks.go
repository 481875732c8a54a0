package page

import (
	"html/template"
	"strings"

	"github.com/solotick/solotick/console/internal/view"
)

// jobs returns the query of the page of jobs that is shown.
func (p part) jobs() view.JobsQuery {
	shown, _ := p.V.(view.JobsPage)
	return shown.Query
}

// Orders returns the orders of jobs for a menu.
func (p part) Orders() (orders []view.Choice) {
	q := p.jobs()
	for _, by := range []view.Sort{view.SortName, view.SortState, view.SortNext, view.SortLast, view.SortTook} {
		orders = append(orders, view.Choice{Value: string(by), On: q.Sort == by && !q.Descending}, view.Choice{Value: "-" + string(by), On: q.Sort == by && q.Descending})
	}
	return orders
}

// Sort returns the link that sorts by a column; the other way round where it is sorted by it already.
func (p part) Sort(by string) string {
	q := p.jobs()
	q.Descending = string(q.Sort) == by && !q.Descending
	q.Sort, q.After, q.Before = view.Sort(by), "", ""
	return p.link(p.Path, q.Values())
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

// Turn returns the link to another page of the same list, which begins after or ends before a cursor.
func (p part) Turn(parameter, cursor string) string {
	v := p.query()
	v.Del("after")
	v.Del("before")
	v.Set(parameter, cursor)
	return p.link(p.Path, v)
}

// Bulk returns the link to the confirmation of an action for all jobs that the filter chooses.
func (p part) Bulk(action string) string {
	return p.link("/actions/"+action, p.jobs().JobFilter.Values())
}

// Schedule says when a job runs: in words, or the schedule itself where there are none.
func (p part) Schedule(j view.JobRow) string {
	if words := strings.TrimSpace(j.ScheduleWords); words != "" && p.Lang == English {
		return words
	}
	if j.Leader {
		return p.T("jobs.leader")
	}
	return j.Schedule
}
