package console

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/solotick/solotick/console/internal/view"
)

// Examination holds the findings of checks of the store and the fleet.
type Examination struct {
	Store    string // the address of the store, without credentials
	Findings []Finding
}

// Finding is the result of one check. Its JSON is that of the command doctor.
type Finding struct {
	Check   string `json:"check"`            // its name, such as replica-clocks
	Server  string `json:"server,omitempty"` // the address that it is about, where there are several
	Result  string `json:"result"`           // ok, warn, fail or unchecked
	Finding string `json:"finding"`
	Change  string `json:"change"` // what to do; empty when nothing is wrong
}

// WithExamination says what checks the store and the fleet: the page of the fleet shows its
// findings. It is called in the background while somebody looks at that page: at most once a
// minute, and for a 20th of the time. It has to return when ctx ends, after 10 s.
func WithExamination(examine func(ctx context.Context) (Examination, error)) Option {
	return func(o *options) { o.examine = examine }
}

const (
	examineInterval = time.Minute
	examineShare    = 20
	// firstExamination is how long a page waits for the first findings. Later ones are shown when
	// they are there.
	firstExamination = 500 * time.Millisecond
)

// examined holds the findings of an examination, and its time by this machine's clock.
type examined struct {
	Examination
	at time.Time
}

func (c *Console) examine(ctx context.Context) (examined, error) {
	x, err := c.options.examine(ctx)
	return examined{x, time.Now()}, err
}

// withFindings adds to a snapshot what the newest examination found.
func (q *request) withFindings(s *view.Snapshot) {
	c := q.c
	if c.examination == nil {
		return
	}
	x, known, err := c.examination.peek()
	if !known {
		ctx, cancel := context.WithTimeout(q.r.Context(), firstExamination)
		defer cancel()
		x, err = c.examination.get(ctx)
	}
	s.Store.Address = x.Store
	if s.Store.Examines = true; x.at.IsZero() {
		if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			s.Store.Findings = []view.Finding{{Check: "doctor", Severity: "unchecked", Text: problemOf(err).Detail}}
		}
		return
	}
	s.Store.Examined = s.Status.Now.Add(x.at.Sub(q.from.at))
	for _, f := range x.Findings {
		s.Store.Findings = append(s.Store.Findings, view.Finding{Check: f.Check, Server: f.Server, Severity: severityOf(f.Result), Text: f.Finding, Hint: f.Change})
	}
}

func severityOf(result string) string {
	switch result {
	case "warn":
		return "warning"
	case "fail":
		return "error"
	}
	return result
}

// examinationPage holds the output of the command doctor.
type examinationPage struct {
	Redis     string    `json:"redis"` // its address; empty for another store
	Store     string    `json:"store"` // the address of Redis, or the path of a file
	Namespace string    `json:"namespace"`
	OK        bool      `json:"ok"` // no check failed
	Checks    []Finding `json:"checks"`
	At        time.Time `json:"examined_at"` // by the clock of this process
}

func (q *request) doctor() (any, error) {
	if _, err := q.asks(func(*view.Parameters) {}); err != nil {
		return nil, err
	}
	if q.c.examination == nil {
		return nil, newProblem(http.StatusNotImplemented, "this console has no checks of its store: a worker on Redis has")
	}
	x, err := q.c.examination.get(q.r.Context())
	if err != nil {
		return nil, fmt.Errorf("examine the store: %w", err)
	}
	p := examinationPage{Store: x.Store, Namespace: q.c.fleet.Namespace(), OK: true, Checks: x.Findings, At: x.at}
	if kindOf(q.c.store) != "sqlite" {
		p.Redis = x.Store
	}
	for _, f := range x.Findings {
		p.OK = p.OK && f.Result != "fail"
	}
	return p, nil
}
