package view

import "time"

// LoadQuery asks for a [LoadPage].
type LoadQuery struct {
	JobFilter
	From time.Time     `json:"from"` // none for now
	Span time.Duration `json:"span_ms"`
	Step time.Duration `json:"step_ms"` // the length of a point of the chart, whole minutes
	Top  int           `json:"top"`     // how many peaks
	Zone string        `json:"zone"`
}

func (q *LoadQuery) bind(p *Parameters) {
	q.JobFilter.Bind(p)
	p.Time("from", &q.From)
	p.duration("span", &q.Span, time.Hour, 14*day, 2*day)
	p.duration("step", &q.Step, time.Minute, day, 10*time.Minute)
	if step := q.Step; !p.writing {
		if step%time.Minute != 0 {
			p.Fault("step", short(step), "must be whole minutes")
		}
		if q.Span/q.Step > 2000 {
			p.Fault("step", short(step), "must be at least a 2000th of the span, "+short(q.Span))
		}
	}
	p.Number("top", &q.Top, 1, 50, 10)
	p.Zone(&q.Zone)
}

// LoadPage shows how many runs there will be at a time, from the schedules and from how long runs
// took.
type LoadPage struct {
	Head
	Query    LoadQuery `json:"query"`
	From     time.Time `json:"from"`
	To       time.Time `json:"to"`
	Jobs     int       `json:"jobs"`     // with ticks to come
	Measured int       `json:"measured"` // of these, those of which runs were measured; others count for 1 s
	Capacity int       `json:"capacity"` // weight that the live replicas run at a time; 0 for no limit
	Ticks    int       `json:"ticks"`
	Cut      int       `json:"cut"` // jobs that are left out, because there are more ticks than are looked at

	Points []LoadPoint `json:"points"`
	Peaks  []Peak      `json:"peaks"` // the busiest minutes, the busiest first
}

// LoadPoint is the busiest minute of a step.
type LoadPoint struct {
	At     time.Time `json:"at"`     // the begin of the step
	Starts int       `json:"starts"` // ticks that are due in the step
	Runs   int       `json:"runs"`   // at a time, at most, with durations as the median
	High   int       `json:"high"`   // the same with durations of which nine in ten are no longer
	Weight int       `json:"weight"` // of Runs
	// HighWeight is the weight of High.
	HighWeight int `json:"high_weight"`
}

// Peak is a minute in which many jobs begin.
type Peak struct {
	At     time.Time `json:"at"`
	Starts int       `json:"starts"`
	Runs   int       `json:"runs"`
	Weight int       `json:"weight"`
	Jobs   []PeakJob `json:"jobs"` // the heaviest first, 20 at most
	More   int       `json:"more"` // jobs besides these
	// Flat is how many runs there would be at a time in the hour of At, if each job took its
	// suggestion. It is Runs where no suggestion helps.
	Flat int `json:"flat"`
}

// PeakJob is a job that begins in a peak.
type PeakJob struct {
	Job      string        `json:"job"`
	Schedule string        `json:"schedule"`
	Median   time.Duration `json:"median_ms"`
	Measured bool          `json:"measured"`
	Weight   int           `json:"weight"`
	// Suggestion is a line of the configuration, a schedule with H or a jitter, that spreads such
	// jobs; "" where there is none.
	Suggestion string `json:"suggestion"`
}
