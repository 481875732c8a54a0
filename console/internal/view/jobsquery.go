package view

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
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

var sorts = []Sort{SortName, SortState, SortNext, SortLast, SortTook}

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

// ParseJobsQuery reads the parameters q, state, group, replica, sort (with - before it for the
// other direction), limit, after, before and zone.
func ParseJobsQuery(values url.Values) (q JobsQuery, err error) {
	err = parse(values, func(p *parameters) {
		q.JobFilter = p.jobFilter()
		order, descending := strings.CutPrefix(p.one("sort"), "-")
		q.Sort, q.Descending = SortName, descending
		switch {
		case slices.Contains(sorts, Sort(order)):
			q.Sort = Sort(order)
		case order != "" || descending:
			p.fault("sort", p.values.Get("sort"), "must be one of "+joined(sorts)+", with - before it for the other direction")
		}
		q.Limit = p.number("limit", 1, MaxLimit, DefaultLimit)
		q.After, q.Before = p.jobCursor("after", q), p.jobCursor("before", q)
		if q.After != "" && q.Before != "" {
			p.fault("before", q.Before, "must not be given beside after")
		}
		q.Zone = p.zone()
	})
	return q, err
}

// ParseJobFilter reads the parameters q, state, group and replica.
func ParseJobFilter(values url.Values) (f JobFilter, err error) {
	err = parse(values, func(p *parameters) { f = p.jobFilter() })
	return f, err
}

func (p *parameters) jobFilter() (f JobFilter) {
	f.Search, f.States = p.text("q"), []State{}
	for _, s := range p.many("state", "must be one of "+joined(States), func(s string) bool { return slices.Contains(States, State(s)) }) {
		f.States = append(f.States, State(s))
	}
	f.Groups, f.Replicas = p.names("group"), p.names("replica")
	return f
}

// Values writes the filter as a query of a URL.
func (f JobFilter) Values() url.Values {
	v := url.Values{}
	f.write(v)
	return v
}

func (f JobFilter) write(v url.Values) {
	w := written(v)
	w.set("q", f.Search, "")
	states := make([]string, len(f.States))
	for i, s := range f.States {
		states[i] = string(s)
	}
	w.list("state", states)
	w.list("group", f.Groups)
	w.list("replica", f.Replicas)
}

// Values writes q as a query of a URL, without parameters at their defaults.
func (q JobsQuery) Values() url.Values {
	v := q.JobFilter.Values()
	w := written(v)
	order := string(q.Sort)
	if q.Descending {
		order = "-" + order
	}
	w.set("sort", order, string(SortName))
	w.set("limit", strconv.Itoa(q.Limit), strconv.Itoa(DefaultLimit))
	w.set("after", q.After, "")
	w.set("before", q.Before, "")
	w.set("zone", q.Zone, "")
	return v
}

// jobCursor is the place of a job in an order: where the next page goes on, whatever has come or
// gone.
type jobCursor struct {
	Sort       Sort   `json:"s"`
	Descending bool   `json:"d,omitempty"`
	Key        int64  `json:"k,omitempty"`
	Name       string `json:"n"`
}

func (c jobCursor) String() string {
	text, _ := json.Marshal(c) //nolint:errchkjson // of strings and a number: it cannot fail
	return base64.RawURLEncoding.EncodeToString(text)
}

func decodeJobCursor(s string) (c jobCursor, ok bool) {
	text, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil || json.Unmarshal(text, &c) != nil || len(c.Name) > maxText {
		return jobCursor{}, false
	}
	return c, c.String() == s
}

// jobCursor returns a cursor that belongs to the order of q.
func (p *parameters) jobCursor(name string, q JobsQuery) string {
	s := p.one(name)
	if s == "" {
		return ""
	}
	c, ok := decodeJobCursor(s)
	switch {
	case !ok:
		p.fault(name, s, "must be a cursor that a page of jobs gave")
	case c.Sort != q.Sort || c.Descending != q.Descending:
		p.fault(name, s, "is a cursor of another order: leave it out to begin at the first page")
	default:
		return s
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
