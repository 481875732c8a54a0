package view

import (
	"time"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/notified"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wording"
	"github.com/solotick/solotick/jobs"
)

// Snapshot is one read of the fleet. It must not be changed once a page was made of it.
type Snapshot struct {
	Status fleet.Status         // Status.Now is the fleet time of the read
	Given  map[string]*jobs.Job // the definitions that this process has; a job without one is shown as its record and replicas know it
	// Definitions are those that live replicas have of a job, by its name: as fleet.Description has
	// them. A job without any is shown with the revisions alone.
	Definitions map[string][]fleet.Definition

	// Stored is the schedule in the store that the page is about, JOB/KEY: it is none of the jobs. It is nil
	// if the page is not about one.
	Stored *fleet.JobStatus

	Locks       []protocol.Lock // that are held or waited for, sorted by name; nil where the store has none
	LocksMore   bool            // there are more than Locks has
	Facts       []fleet.Fact    // of the fleet's journal, newest first
	Store       StoreView
	LastAttempt time.Time // fleet time of the newest attempt to read; zero when it is this snapshot's
	Err         string    // why that failed; "" when it did not

	Notified *notified.Head // what the elected notifier has written; nil where that was not read
	Progress notified.Job   // how far receivers have come with the job of the page

	wording.Wording // of the sentences of pages; nil for English
}

// Finding is one thing that doctor says.
type Finding struct {
	Check    string `json:"check"`    // its name
	Server   string `json:"server"`   // that it is about; "" where there is one
	Severity string `json:"severity"` // "ok", "unchecked", "warning" or "error"
	Text     string `json:"text"`
	Hint     string `json:"hint"` // what to change; "" when there is nothing
}

// Page is any page: JSON has its fields.
type Page interface {
	// PlainText returns the page as plain text, for people.
	PlainText() string
}

// Head is part of every page.
type Head struct {
	Namespace string        `json:"namespace"`
	Now       time.Time     `json:"now"`     // fleet time
	ReadAt    time.Time     `json:"read_at"` // of the snapshot that the page shows
	Age       time.Duration `json:"age_ms"`  // of the snapshot
	Stale     string        `json:"stale"`   // why there is no newer snapshot; "" when it is the newest
}

func (s *Snapshot) head(now time.Time) Head {
	return Head{
		Namespace: s.Status.Namespace, Now: now, ReadAt: s.Status.Now, Age: max(0, now.Sub(s.Status.Now)), Stale: s.Err,
	}
}
