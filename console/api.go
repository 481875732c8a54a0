package console

import (
	_ "embed"
	"fmt"
	"slices"
	"time"

	"github.com/solotick/solotick/console/internal/view"
	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/protocol"
)

// What the API has besides the pages is for programs such as the command line: what package fleet
// returns, as it writes it.

//go:embed openapi.yaml
var openAPI []byte

func (q *request) openapi() *problem {
	q.send(200, "application/yaml", openAPI, nil)
	return nil
}

// status is the whole fleet, or the jobs that are named.
func (q *request) status() (any, error) {
	var names []string
	if _, err := q.asks(func(p *view.Parameters) { p.Names("job", &names, maxNamed) }); err != nil {
		return nil, err
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
	var ticks, outcomes int
	name, err := q.asks(func(p *view.Parameters) {
		p.Number("ticks", &ticks, 0, comingTicks, 5)
		p.Number("outcomes", &outcomes, 0, protocol.MaxHistory, 10)
	})
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
	Job   string      `json:"job"`
	Now   time.Time   `json:"now"`
	Ticks []time.Time `json:"ticks"`
}

func (q *request) coming() (any, error) {
	var limit int
	name, err := q.asks(func(p *view.Parameters) { p.Number("limit", &limit, 1, comingTicks, 10) })
	if err != nil {
		return nil, err
	}
	d, err := q.c.described.get(q.r.Context(), name)
	if err != nil {
		return nil, err
	}
	return comingPage{Job: name, Now: d.Now, Ticks: d.Coming[:min(limit, len(d.Coming))]}, nil
}

func (q *request) history(query view.HistoryQuery, s *reading) (any, error) {
	name := q.r.PathValue("job")
	list, err := q.c.histories.get(q.r.Context(), name)
	if err != nil {
		return nil, err
	}
	if len(list.Entries) == 0 && list.Watermark.IsZero() && s.job(name) == nil {
		return nil, notFound(fmt.Sprintf("there is no job %s", name))
	}
	entries := slices.DeleteFunc(slices.Clone(list.Entries), func(e fleet.Entry) bool { return e.IsEmpty(s.job(name)) })
	return view.History(name, entries, query, s.now()), nil
}
