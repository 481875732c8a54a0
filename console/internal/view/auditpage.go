package view

import (
	"time"

	"github.com/solotick/solotick/fleet"
)

// AuditQuery asks for an [AuditPage].
type AuditQuery struct {
	Job    string   `json:"job"`
	By     string   `json:"by"`
	Action []string `json:"action"`
	Limit  int      `json:"limit"`
	After  string   `json:"after"`
	Zone   string   `json:"zone"`
}

func (q *AuditQuery) bind(p *Parameters) {
	p.Text("job", &q.Job)
	p.Text("by", &q.By)
	many(p, "action", &q.Action, maxValues, "must be a word of small letters, such as trigger", isWord)
	p.Number("limit", &q.Limit, 1, MaxLimit, DefaultLimit)
	p.Text("after", &q.After)
	p.Zone(&q.Zone)
}

// AuditPage shows the acts of people.
type AuditPage struct {
	Head
	Query   AuditQuery `json:"query"`
	Entries []AuditRow `json:"entries"` // newest first
	Next    string     `json:"next"`
	Bytes   int64      `json:"bytes"`  // that the log takes in the store
	Budget  int64      `json:"budget"` // and may take

	acts []fleet.Fact
}

// AuditRow is one act.
type AuditRow struct {
	ID     string    `json:"id"`
	At     time.Time `json:"at"`
	By     string    `json:"by"`
	Action string    `json:"action"`
	Job    string    `json:"job"`   // "" of a lock, and of acts that concern the fleet
	Lock   string    `json:"lock"`  // that was released by force; "" otherwise
	Token  int64     `json:"token"` // of its former holder; 0 without a lock
	Tick   time.Time `json:"tick"`
	Reason string    `json:"reason"`
	Via    string    `json:"via"` // cli, console, api, go, or another name
}

// Audit shows acts that the log has, newest first.
func Audit(s *Snapshot, acts []fleet.Fact, q AuditQuery, now time.Time) AuditPage {
	p := AuditPage{Head: s.head(now), Query: q, Entries: []AuditRow{}, acts: acts}
	for _, f := range acts {
		row := AuditRow{
			ID: f.Request(), At: f.At, By: f.By, Action: f.Kind, Job: f.Job, Lock: f.Lock, Tick: f.Tick, Reason: f.Reason, Via: f.Via,
		}
		if f.Lock != "" {
			row.Token = f.Token
		}
		p.Entries = append(p.Entries, row)
	}
	return p
}
