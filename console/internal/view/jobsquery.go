package view

import (
	"cmp"
	"slices"
	"strings"
)

// Sort names an order of jobs.
type Sort string

// The orders of jobs. Those that are equal in one are ordered by name.
const (
	SortName  Sort = "name"
	SortState Sort = "state" // the most urgent first
	SortNext  Sort = "next"  // the soonest first; leader tasks, which have no ticks, last
	SortLast  Sort = "last"  // by the time of the last run, oldest first; those that never ran before all
	SortTook  Sort = "took"  // by how long the last run took, shortest first
)

// Sorts has all orders.
var Sorts = []Sort{SortName, SortState, SortNext, SortLast, SortTook}

// The range of how many rows a page has.
const (
	DefaultLimit = 100
	MaxLimit     = 1000
)

// JobFilter chooses jobs; the zero JobFilter chooses all. Actions in bulk take one too.
type JobFilter struct {
	Search   string   `json:"q"`       // words that are all part of the name, the schedule or the zone, capitals or not
	States   []State  `json:"state"`   // any of them
	Groups   []string `json:"group"`   // the job is for one of them
	Replicas []string `json:"replica"` // one of them serves the job
}

// Bind names the parameters of a filter.
func (f *JobFilter) Bind(p *Parameters) {
	p.Text("q", &f.Search)
	many(p, "state", &f.States, maxValues, "must be one of "+joined(States, ", "), func(s State) bool { return slices.Contains(States, s) })
	p.Names("group", &f.Groups, maxValues)
	p.Names("replica", &f.Replicas, maxValues)
}

func (f *JobFilter) bind(p *Parameters) { f.Bind(p) }

// JobsQuery asks for a page of [Jobs].
type JobsQuery struct {
	JobFilter
	Sort       Sort   `json:"sort"`
	Descending bool   `json:"desc"`
	Limit      int    `json:"limit"` // jobs on the page, from 1 to MaxLimit
	After      string `json:"after"` // cursor: the page begins after it; "" for the first page
	Before     string `json:"before"`
	Zone       string `json:"zone"` // that times are shown in; "" for each job's own
}

func (q *JobsQuery) bind(p *Parameters) {
	q.JobFilter.Bind(p)
	order := string(cmp.Or(q.Sort, SortName))
	if q.Descending {
		order = "-" + order
	}
	if !p.put("sort", order, string(SortName)) {
		Checked(p, "sort", &order, func(s string) string {
			if slices.Contains(Sorts, Sort(strings.TrimPrefix(s, "-"))) {
				return ""
			}
			return "must be one of " + joined(Sorts, ", ") + ", with - before it for the other direction"
		})
		order, q.Descending = strings.CutPrefix(order, "-")
		q.Sort = cmp.Or(Sort(order), SortName)
	}
	p.Number("limit", &q.Limit, 1, MaxLimit, DefaultLimit)
	p.cursors(&q.After, &q.Before, q.cursorRule)
	p.Zone(&q.Zone)
}

// jobCursor is the place of a job in an order: where the next page goes on, whatever has come or
// gone.
type jobCursor struct {
	Sort       Sort   `json:"s"`
	Descending bool   `json:"d,omitempty"`
	Key        int64  `json:"k,omitempty"`
	Name       string `json:"n"`
}

// cursorRule returns the rule that a cursor breaks, which has to be of the order of q.
func (q *JobsQuery) cursorRule(s string) string {
	c, ok := decode[jobCursor](s)
	switch {
	case !ok || len(c.Name) > maxText:
		return "must be a cursor that a page of jobs gave"
	case c.Sort != q.Sort || c.Descending != q.Descending:
		return "is a cursor of another order: leave it out to begin at the first page"
	}
	return ""
}

// window returns which rows of a list in order are on the page after one cursor, or before another.
// search finds the place of a cursor, and whether its row is still there.
func window(rows, limit int, after, before string, search func(cursor string) (int, bool)) (from, to int) {
	if limit < 1 {
		limit = DefaultLimit
	}
	switch {
	case after != "":
		n, exact := search(after)
		if exact {
			n++
		}
		return n, min(n+limit, rows)
	case before != "":
		n, _ := search(before)
		return max(0, n-limit), n
	}
	return 0, min(limit, rows)
}

// around returns the cursors of the pages around one that has the rows from one to another.
func around(from, to, rows int, after string, cursor func(i int) string) (next, previous string) {
	if to < rows && to > from {
		next = cursor(to - 1)
	}
	switch {
	case from > 0 && from < rows:
		previous = cursor(from)
	case from > 0: // nothing is left after the cursor
		previous = after
	}
	return next, previous
}
