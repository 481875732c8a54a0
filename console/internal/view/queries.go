package view

import (
	"net/url"
	"strconv"
	"time"

	"github.com/solotick/solotick/internal/naming"
	"github.com/solotick/solotick/internal/protocol"
)

const day = 24 * time.Hour

// ParseJobQuery reads the parameters ticks, outcome, limit, after, before and zone.
func ParseJobQuery(values url.Values) (q JobQuery, err error) {
	err = parse(values, func(p *parameters) {
		q.Ticks, q.Outcomes = p.number("ticks", 1, 100, 10), []protocol.Outcome{}
		for _, o := range p.many("outcome", "must be a word of small letters, such as succeeded", isWord) {
			q.Outcomes = append(q.Outcomes, protocol.Outcome(o))
		}
		q.Limit = p.number("limit", 1, MaxLimit, 50)
		q.After, q.Before = p.historyCursor("after"), p.historyCursor("before")
		if q.After != "" && q.Before != "" {
			p.fault("before", q.Before, "must not be given beside after")
		}
		q.Zone = p.zone()
	})
	return q, err
}

// Values writes q as a query of a URL, without parameters at their defaults.
func (q JobQuery) Values() url.Values {
	w := written{}
	w.set("ticks", strconv.Itoa(q.Ticks), "10")
	outcomes := make([]string, len(q.Outcomes))
	for i, o := range q.Outcomes {
		outcomes[i] = string(o)
	}
	w.list("outcome", outcomes)
	w.set("limit", strconv.Itoa(q.Limit), "50")
	w.set("after", q.After, "")
	w.set("before", q.Before, "")
	w.set("zone", q.Zone, "")
	return url.Values(w)
}

func isWord(s string) bool {
	for i := range len(s) {
		if s[i] != '_' && (s[i] < 'a' || s[i] > 'z') {
			return false
		}
	}
	return len(s) <= 32
}

// ParseTickQuery reads the names of a job and of a tick, which come from the path of a URL, and the
// parameter zone. The tick is a time as RFC 3339 writes it, or Unix milliseconds; "" for the one
// that fleet.Why chooses.
func ParseTickQuery(job, tick string, values url.Values) (q TickQuery, err error) {
	q.Job = job
	err = parse(values, func(p *parameters) {
		if !naming.Valid(job) {
			p.fault("job", job, naming.Rule)
		}
		q.Tick = Time{p.instant("tick", tick)}
		q.Zone = p.zone()
	})
	return q, err
}

// The range of a timeline's length.
const (
	MinTimeline     = time.Hour
	DefaultTimeline = 6 * time.Hour
	MaxTimeline     = 31 * day
)

// ParseTimelineQuery reads the parameters of a [JobFilter], and from, span, limit, after, before,
// cells and zone.
func ParseTimelineQuery(values url.Values) (q TimelineQuery, err error) {
	err = parse(values, func(p *parameters) {
		q.JobFilter = p.jobFilter()
		q.From = Time{p.time("from")}
		q.Span = Millis(p.duration("span", MinTimeline, MaxTimeline, DefaultTimeline))
		q.Limit = p.number("limit", 1, 200, 50)
		byName := JobsQuery{Sort: SortName}
		q.After, q.Before = p.jobCursor("after", byName), p.jobCursor("before", byName)
		if q.After != "" && q.Before != "" {
			p.fault("before", q.Before, "must not be given beside after")
		}
		q.Cells = p.number("cells", 12, 1000, 240)
		q.Zone = p.zone()
	})
	return q, err
}

// Values writes q as a query of a URL, without parameters at their defaults.
func (q TimelineQuery) Values() url.Values {
	v := q.JobFilter.Values()
	w := written(v)
	w.time("from", q.From.Time)
	w.set("span", short(q.Span.Duration()), short(DefaultTimeline))
	w.set("limit", strconv.Itoa(q.Limit), "50")
	w.set("after", q.After, "")
	w.set("before", q.Before, "")
	w.set("cells", strconv.Itoa(q.Cells), "240")
	w.set("zone", q.Zone, "")
	return v
}

// ParseLoadQuery reads the parameters of a [JobFilter], and from, span, step, top and zone.
func ParseLoadQuery(values url.Values) (q LoadQuery, err error) {
	err = parse(values, func(p *parameters) {
		q.JobFilter = p.jobFilter()
		q.From = Time{p.time("from")}
		q.Span = Millis(p.duration("span", time.Hour, 14*day, 2*day))
		q.Step = Millis(p.duration("step", time.Minute, day, 10*time.Minute))
		if q.Step.Duration()%time.Minute != 0 {
			p.fault("step", p.values.Get("step"), "must be whole minutes")
		}
		if q.Span/q.Step > 2000 {
			p.fault("step", short(q.Step.Duration()), "must be at least a 2000th of the span, "+short(q.Span.Duration()))
		}
		q.Top = p.number("top", 1, 50, 10)
		q.Zone = p.zone()
	})
	return q, err
}

// Values writes q as a query of a URL, without parameters at their defaults.
func (q LoadQuery) Values() url.Values {
	v := q.JobFilter.Values()
	w := written(v)
	w.time("from", q.From.Time)
	w.set("span", short(q.Span.Duration()), "2d")
	w.set("step", short(q.Step.Duration()), "10m")
	w.set("top", strconv.Itoa(q.Top), "10")
	w.set("zone", q.Zone, "")
	return v
}

// ParseFleetQuery reads the parameter zone.
func ParseFleetQuery(values url.Values) (q FleetQuery, err error) {
	err = parse(values, func(p *parameters) { q.Zone = p.zone() })
	return q, err
}

// ParseLocksQuery reads the parameters q, limit, after and zone.
func ParseLocksQuery(values url.Values) (q LocksQuery, err error) {
	err = parse(values, func(p *parameters) {
		q.Search = p.text("q")
		q.Limit = p.number("limit", 1, MaxLimit, DefaultLimit)
		if q.After = p.one("after"); q.After != "" && !naming.Valid(q.After) {
			p.fault("after", q.After, naming.Rule)
		}
		q.Zone = p.zone()
	})
	return q, err
}

// Values writes q as a query of a URL, without parameters at their defaults.
func (q LocksQuery) Values() url.Values {
	w := written{}
	w.set("q", q.Search, "")
	w.set("limit", strconv.Itoa(q.Limit), strconv.Itoa(DefaultLimit))
	w.set("after", q.After, "")
	w.set("zone", q.Zone, "")
	return url.Values(w)
}

// ParseAuditQuery reads the parameters job, by, action, limit, after and zone.
func ParseAuditQuery(values url.Values) (q AuditQuery, err error) {
	err = parse(values, func(p *parameters) {
		q.Job, q.By = p.text("job"), p.text("by")
		q.Action = p.many("action", "must be a word of small letters, such as trigger", isWord)
		q.Limit = p.number("limit", 1, MaxLimit, DefaultLimit)
		q.After = p.text("after")
		q.Zone = p.zone()
	})
	return q, err
}

// Values writes q as a query of a URL, without parameters at their defaults.
func (q AuditQuery) Values() url.Values {
	w := written{}
	w.set("job", q.Job, "")
	w.set("by", q.By, "")
	w.list("action", q.Action)
	w.set("limit", strconv.Itoa(q.Limit), strconv.Itoa(DefaultLimit))
	w.set("after", q.After, "")
	w.set("zone", q.Zone, "")
	return url.Values(w)
}

// ParseCalendarQuery reads the parameters of a [JobFilter], and span.
func ParseCalendarQuery(values url.Values) (q CalendarQuery, err error) {
	err = parse(values, func(p *parameters) {
		q.JobFilter = p.jobFilter()
		q.Span = Millis(p.duration("span", day, 366*day, 14*day))
	})
	return q, err
}

// Values writes q as a query of a URL, without parameters at their defaults.
func (q CalendarQuery) Values() url.Values {
	v := q.JobFilter.Values()
	written(v).set("span", short(q.Span.Duration()), "14d")
	return v
}
