package view

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wording"
)

// JobPage shows one job.
type JobPage struct {
	Head
	Query JobQuery `json:"query"`
	JobRow
	Fields       []Field                  `json:"fields"`      // of the definition that this process has, or else of the one that most replicas have
	Defined      []Defined                `json:"definitions"` // as each replica has it
	Differences  []string                 `json:"differences"` // fields in which those differ
	Coming       []Coming                 `json:"coming"`
	ClockChanges []ClockChange            `json:"clock_changes"` // that concern its ticks, in the coming year
	Counts       map[protocol.Outcome]int `json:"counts"`        // ticks of each outcome, of those that the store keeps
	Since        time.Time                `json:"counted_since"`
	Runs         int                      `json:"runs"` // that Median, P90 and Longest are of
	Median       time.Duration            `json:"median_ms"`
	P90          time.Duration            `json:"p90_ms"`
	Longest      time.Duration            `json:"longest_ms"`
	Samples      []Sample                 `json:"samples"` // runs, oldest first: duration and lateness over time

	History      []fleet.Entry `json:"history"` // newest first, a page of it
	Kept         int           `json:"kept"`    // outcomes that the store keeps and the query chooses
	NextPage     string        `json:"next_page"`
	PreviousPage string        `json:"previous_page"`
	Unread       string        `json:"unread"`              // why the page has nothing but what the list of jobs has; "" when it has all
	Used         int64         `json:"history_used_bytes"`  // that the outcomes take in the store, roughly
	Limit        int64         `json:"history_limit_bytes"` // and may take; 0 where this process does not have the definition
	Events       []Event       `json:"events"`              // acts of people and observations of replicas, newest first

	Notifications *JobNotifications `json:"notifications"` // null where the store keeps nothing of them, or it was not read

	Stored *StoredSchedule `json:"-"` // of the page of a schedule in the store; nil of a job's

	described fleet.Description
}

// About returns the job that the page is about, and its zone.
func (p JobPage) About() (job, zone string) { return p.Job, p.Timezone }

// Field is a part of a job's definition, under its name in a configuration file.
type Field struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Defined is the definition of a job, as some replicas have it.
type Defined struct {
	Revision   string   `json:"revision"`
	Replicas   []string `json:"replicas"`
	Configured bool     `json:"configured"` // it is that of this process
	Fields     []Field  `json:"fields"`     // by name; none where the store does not have them
}

// Coming is a tick to come.
type Coming struct {
	Tick time.Time     `json:"tick"`
	In   time.Duration `json:"in_ms"`
	// Note says how a clock change treats it: "moved", "merged", "runs_once" or "repeated"; "" when
	// none does.
	Note string `json:"note"`
	Text string `json:"text"` // the same in a sentence
}

// ClockChange says how a change of a zone's clock treats a job's ticks.
type ClockChange struct {
	At   time.Time `json:"at"`
	Zone string    `json:"timezone"`
	Kind string    `json:"kind"` // of package schedule
	Text string    `json:"text"`
}

// Sample is a run in the chart of durations.
type Sample struct {
	Tick     time.Time        `json:"tick"`
	Outcome  protocol.Outcome `json:"outcome"`
	Took     time.Duration    `json:"took_ms"`
	Lateness time.Duration    `json:"late_ms"` // from the tick to its first run; 0 of one that was triggered
	Attempts int              `json:"attempts"`
}

// Event is an act of somebody, or an observation of a replica, with a sentence about it.
type Event struct {
	Fact fleet.Fact `json:"fact"`
	Text string     `json:"text"`
}

// JobQuery asks for a [JobPage].
type JobQuery struct {
	Ticks    int                `json:"ticks"`   // to come, from 1 to 100
	Outcomes []protocol.Outcome `json:"outcome"` // of the history; none for all
	Limit    int                `json:"limit"`   // of the history, from 1 to MaxLimit
	After    string             `json:"after"`
	Before   string             `json:"before"`
	Zone     string             `json:"zone"`
}

func (q *JobQuery) bind(p *Parameters) {
	p.Number("ticks", &q.Ticks, 1, 100, 10)
	many(p, "outcome", &q.Outcomes, maxValues, "must be a word of small letters, such as succeeded", isWord)
	p.Number("limit", &q.Limit, 1, MaxLimit, 50)
	p.cursors(&q.After, &q.Before, historyRule)
	p.Zone(&q.Zone)
}

func isWord[T ~string](s T) bool {
	return len(s) <= 32 && !strings.ContainsFunc(string(s), func(r rune) bool { return r != '_' && (r < 'a' || r > 'z') })
}

// Job shows the job that d describes, with all outcomes that the store keeps.
func Job(s *Snapshot, d fleet.Description, q JobQuery, now time.Time) JobPage {
	p := JobPage{
		Head: s.head(now), Query: q, JobRow: s.row(&d.JobStatus, stateOf(&d.JobStatus), now),
		Defined: defined(d.Definitions), Differences: d.Differences,
		Counts: d.Counts, Since: d.Since, Runs: d.Runs, Median: d.Median, Longest: d.Longest,
		Events: s.events(d.Facts, zoneOf(q.Zone, d.Timezone)), Used: int64(d.HistoryBytes), Limit: int64(d.HistoryLimit), described: d,
	}
	p.Fields = s.fieldsOf(d)
	p.coming(s.Wording, now)
	p.samples(d.Outcomes)
	p.history(d.Outcomes)
	p.Notifications = p.notified(s.Notified, s.Progress, d.Outcomes)
	return p
}

// fieldsOf returns the definition that this process has, or else the one that most replicas have.
func (s *Snapshot) fieldsOf(d fleet.Description) []Field {
	if job := s.Given[d.Name]; job != nil {
		return fields(job.Fields())
	}
	for _, def := range d.Definitions {
		return fields(def.Fields)
	}
	return []Field{}
}

func fields(of map[string]string) []Field {
	list := []Field{}
	for _, name := range slices.Sorted(maps.Keys(of)) {
		list = append(list, Field{name, of[name]})
	}
	return list
}

func defined(list []fleet.Definition) []Defined {
	defs := []Defined{}
	for _, d := range list {
		defs = append(defs, Defined{d.Revision, d.Replicas, d.Given, fields(d.Fields)})
	}
	return defs
}

// coming fills in the next ticks, and the clock changes of the coming year.
func (p *JobPage) coming(w wording.Wording, now time.Time) {
	p.Coming, p.ClockChanges = []Coming{}, []ClockChange{}
	if p.schedule == nil {
		return
	}
	changes := p.schedule.ClockChanges(now, now.AddDate(1, 0, 0))
	for _, c := range changes {
		p.ClockChanges = append(p.ClockChanges, ClockChange{c.At, c.Zone, c.Kind, c.Words(w)})
	}
	for at := p.schedule.Next(now); !at.IsZero() && len(p.Coming) < p.Query.Ticks; at = p.schedule.Next(at) {
		tick := Coming{Tick: at, In: until(at, now)}
		for _, c := range changes {
			if !c.RunsAt.IsZero() && c.RunsAt.Equal(at) {
				tick.Note, tick.Text = c.Kind, c.Words(w)
				if c.Merged {
					tick.Note = "merged"
				}
			}
		}
		p.Coming = append(p.Coming, tick)
	}
}

// samples fills in the runs that ended by themselves, and how long nine in ten of them took at
// most.
func (p *JobPage) samples(outcomes []fleet.Entry) {
	p.Samples = []Sample{}
	var took []time.Duration
	for _, e := range slices.Backward(outcomes) {
		if e.Token == 0 || e.IsRange() {
			continue
		}
		p.Samples = append(p.Samples, Sample{e.Moment(), e.Outcome, e.Took(), lateness(e), e.Attempts})
		if e.Outcome == protocol.OutcomeSucceeded || e.Outcome == "failed" {
			took = append(took, e.Took())
		}
	}
	p.P90 = measurementOf(took).P90
}

// lateness is from the time of a tick to the start of its first run; 0 where either is not known.
func lateness(e fleet.Entry) time.Duration {
	if e.Scheduled.IsZero() || e.Triggered || e.Token == 0 || e.IsRange() {
		return 0
	}
	start := e.Started
	switch {
	case len(e.Runs) > 0 && e.Runs[0].Attempt == 1:
		start = e.Runs[0].Started
	case len(e.Holders) > 0:
		start = e.Holders[0].From
	case e.Attempts > 1: // only the last start is known; a token is about when it was granted
		start = time.UnixMicro(e.Token)
	}
	return max(0, start.Sub(e.Scheduled))
}

// history fills in a page of the outcomes.
func (p *JobPage) history(outcomes []fleet.Entry) {
	q := p.Query
	list := append([]fleet.Entry{}, outcomes...)
	if len(q.Outcomes) > 0 {
		list = slices.DeleteFunc(list, func(e fleet.Entry) bool { return !slices.Contains(q.Outcomes, e.Outcome) })
	}
	p.Kept = len(list)
	p.History, p.NextPage, p.PreviousPage = pageOf(list, q.Limit, q.After, q.Before)
}

// events says in sentences what facts are about.
func (s *Snapshot) events(facts []fleet.Fact, zone *time.Location) []Event {
	list := []Event{}
	for _, f := range facts {
		list = append(list, Event{f, f.Words(zone, s.Wording)})
	}
	return list
}
