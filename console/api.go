package console

import (
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/naming"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
)

// What the API has besides the pages is for programs such as the command line: what package fleet
// returns, as it writes it.

//go:embed openapi.yaml
var openAPI []byte

func (q *request) openapi() *problem {
	q.send(200, "application/yaml", openAPI, nil)
	return nil
}

// parameters returns the query of a URL, which may have only the known names, each once; those
// named by many more often.
func (q *request) parameters(known ...string) (url.Values, error) {
	v, err := q.values()
	if err != nil {
		return nil, err
	}
	var faults []fault
	for name, list := range v {
		switch {
		case !slices.Contains(known, name):
			rule := "is no parameter here; there are none"
			if len(known) > 0 {
				rule = "is no parameter here; there are: " + strings.Join(known, ", ")
			}
			faults = append(faults, fault{shortened(name), shortened(list[0]), rule})
		case len(list) > 1 && name != "job":
			faults = append(faults, fault{name, shortened(list[1]), "must be given once"})
		}
	}
	if faults != nil {
		slices.SortFunc(faults, func(a, b fault) int { return strings.Compare(a.Field, b.Field) })
		return nil, badRequest(faults...)
	}
	return v, nil
}

// number reads a parameter that is a whole number from low to high.
func number(v url.Values, name string, low, high, without int) (int, error) {
	s := v.Get(name)
	if s == "" {
		return without, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < low || n > high {
		return 0, badRequest(fault{name, shortened(s), fmt.Sprintf("must be a whole number from %d to %d", low, high)})
	}
	return n, nil
}

// maxNamed is how many jobs a request can name.
const maxNamed = 1000

// status is the whole fleet, or the jobs that are named.
func (q *request) status() (any, error) {
	v, err := q.parameters("job")
	if err != nil {
		return nil, err
	}
	names := v["job"]
	if len(names) > maxNamed {
		return nil, badRequest(fault{"job", strconv.Itoa(len(names)) + " values", fmt.Sprintf("must be given at most %d times", maxNamed)})
	}
	for _, name := range names {
		if !naming.Valid(name) {
			return nil, badRequest(fault{"job", shortened(name), naming.Rule})
		}
	}
	s, err := q.read()
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return s.Status, nil
	}
	some := s.Status
	some.Jobs = nil
	for _, name := range names {
		i := slices.IndexFunc(s.Status.Jobs, func(j fleet.JobStatus) bool { return j.Name == name })
		if i < 0 {
			return nil, notFound(fmt.Sprintf("there is no job %s", name))
		}
		some.Jobs = append(some.Jobs, s.Status.Jobs[i])
	}
	return some, nil
}

// description is the one view of a job.
func (q *request) description() (any, error) {
	name, err := q.jobName()
	if err != nil {
		return nil, err
	}
	v, err := q.parameters("ticks", "outcomes")
	if err != nil {
		return nil, err
	}
	ticks, err := number(v, "ticks", 0, comingTicks, 5)
	if err != nil {
		return nil, err
	}
	outcomes, err := number(v, "outcomes", 0, protocol.MaxHistory, 10)
	if err != nil {
		return nil, err
	}
	d, err := q.c.described.get(q.r.Context(), name)
	if err != nil {
		return nil, err
	}
	d.Coming, d.Outcomes = d.Coming[:min(ticks, len(d.Coming))], d.Outcomes[:min(outcomes, len(d.Outcomes))]
	return d, nil
}

// comingPage is the ticks that a job is to have.
type comingPage struct {
	Job   string  `json:"job"`
	Now   stamp   `json:"now"`
	Ticks []stamp `json:"ticks"`
}

func (q *request) coming() (any, error) {
	name, err := q.jobName()
	if err != nil {
		return nil, err
	}
	v, err := q.parameters("limit")
	if err != nil {
		return nil, err
	}
	limit, err := number(v, "limit", 1, comingTicks, 10)
	if err != nil {
		return nil, err
	}
	d, err := q.c.described.get(q.r.Context(), name)
	if err != nil {
		return nil, err
	}
	p := comingPage{Job: name, Now: stamp(d.Now), Ticks: []stamp{}}
	for _, t := range d.Coming[:min(limit, len(d.Coming))] {
		p.Ticks = append(p.Ticks, stamp(t))
	}
	return p, nil
}

// historyPage is a part of a job's history.
type historyPage struct {
	Job     string        `json:"job"`
	Now     stamp         `json:"now"`
	Entries []fleet.Entry `json:"entries"` // newest tick first; on the first page those that are open before all
	Next    string        `json:"next"`    // cursor for after; empty on the last page
}

func (q *request) history() (any, error) {
	name, err := q.jobName()
	if err != nil {
		return nil, err
	}
	v, err := q.parameters("limit", "after")
	if err != nil {
		return nil, err
	}
	limit, err := number(v, "limit", 1, protocol.MaxHistory, 50)
	if err != nil {
		return nil, err
	}
	after, err := parseCursor(v.Get("after"))
	if err != nil {
		return nil, err
	}
	s, err := q.read()
	if err != nil {
		return nil, err
	}
	list, err := q.c.histories.get(q.r.Context(), name)
	if err != nil {
		return nil, err
	}
	if len(list.Entries) == 0 && list.Watermark.IsZero() && s.job(name) == nil {
		return nil, notFound(fmt.Sprintf("there is no job %s", name))
	}
	entries := slices.DeleteFunc(slices.Clone(list.Entries), func(e fleet.Entry) bool { return e.IsEmpty(s.job(name)) })
	return historyOf(name, s.now(), entries, after, limit), nil
}

// historyOf returns the page after a cursor: at most limit settled entries.
func historyOf(name string, now time.Time, entries []fleet.Entry, after cursor, limit int) historyPage {
	open := slices.IndexFunc(entries, func(e fleet.Entry) bool { return e.State == wire.StateSettled })
	if open < 0 {
		open = len(entries)
	}
	p := historyPage{Job: name, Now: stamp(now), Entries: append([]fleet.Entry{}, entries[:open]...)}
	settled := entries[open:]
	if after != (cursor{}) {
		p.Entries, settled = []fleet.Entry{}, after.rest(settled)
	}
	p.Entries = append(p.Entries, settled[:min(limit, len(settled))]...)
	if len(settled) > limit {
		p.Next = cursorAt(entries[open:], len(entries)-open-len(settled)+limit-1).String()
	}
	return p
}

// cursor is a place in a history, which is ordered by the moments of its entries. A page goes on
// after it, whatever entries have come or gone meanwhile.
type cursor struct {
	moment int64 // of the last entry that was shown, in Unix ms
	shown  int   // of the entries of that moment
}

// cursorAt returns the cursor after the entry i.
func cursorAt(settled []fleet.Entry, i int) cursor {
	c := cursor{moment: settled[i].Moment().UnixMilli()}
	for ; i >= 0 && settled[i].Moment().UnixMilli() == c.moment; i-- {
		c.shown++
	}
	return c
}

// rest returns the entries after the cursor.
func (c cursor) rest(settled []fleet.Entry) []fleet.Entry {
	seen := 0
	for i, e := range settled {
		switch at := e.Moment().UnixMilli(); {
		case at < c.moment, at == c.moment && seen >= c.shown:
			return settled[i:]
		case at == c.moment:
			seen++
		}
	}
	return nil
}

func (c cursor) String() string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%d.%d", c.moment, c.shown))
}

func parseCursor(s string) (c cursor, err error) {
	if s == "" {
		return c, nil
	}
	wrong := badRequest(fault{"after", shortened(s), "must be a cursor that a page of this history gave"})
	text, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil {
		return c, wrong
	}
	moment, shown, ok := strings.Cut(string(text), ".")
	var errs [2]error
	c.moment, errs[0] = strconv.ParseInt(moment, 10, 64)
	c.shown, errs[1] = strconv.Atoi(shown)
	if !ok || errors.Join(errs[:]...) != nil || c.shown < 1 || c.String() != s {
		return cursor{}, wrong
	}
	return c, nil
}

// explanation explains a tick; without one, of the tick that fleet.Why chooses.
func (q *request) explanation() (any, error) {
	v, err := q.values()
	if err != nil {
		return nil, err
	}
	_, _, e, err := q.explain(v.Get("tick"))
	return e, err
}
