package view

import (
	"time"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/protocol"
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
	Since        Time                     `json:"counted_since"`
	Runs         int                      `json:"runs"` // that Median, P90 and Longest are of
	Median       Millis                   `json:"median_ms"`
	P90          Millis                   `json:"p90_ms"`
	Longest      Millis                   `json:"longest_ms"`
	Samples      []Sample                 `json:"samples"` // runs, oldest first: duration and lateness over time

	History      []fleet.Entry `json:"history"` // newest first, a page of it
	Kept         int           `json:"kept"`    // outcomes that the store keeps and the query chooses
	NextPage     string        `json:"next_page"`
	PreviousPage string        `json:"previous_page"`
	Events       []Event       `json:"events"` // what people did to the job and replicas noticed, newest first
}

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
	Tick Time   `json:"tick"`
	In   Millis `json:"in_ms"`
	// Note is what a clock change does to it: "moved", "merged", "runs_once" or "repeated"; "" when none does.
	Note string `json:"note"`
	Text string `json:"text"` // the same in a sentence
}

// ClockChange is what a change of a zone's clock does to a job's ticks.
type ClockChange struct {
	At   Time   `json:"at"`
	Zone string `json:"timezone"`
	Kind string `json:"kind"` // of package schedule
	Text string `json:"text"`
}

// Sample is a run in the chart of durations.
type Sample struct {
	Tick     Time             `json:"tick"`
	Outcome  protocol.Outcome `json:"outcome"`
	Took     Millis           `json:"took_ms"`
	Lateness Millis           `json:"late_ms"` // from the tick to the start of its last run; 0 of one that was triggered
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

// Job shows the job that d describes, with all outcomes that the store keeps.
func Job(s *Snapshot, d fleet.Description, q JobQuery, now time.Time) JobPage {
	states := stateOf(&d.JobStatus)
	return JobPage{Head: s.head(now), Query: q, JobRow: s.row(&d.JobStatus, states, now)}
}
