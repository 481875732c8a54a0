package view

import "time"

// AuditQuery asks for an [AuditPage].
type AuditQuery struct {
	Job    string   `json:"job"`
	By     string   `json:"by"`
	Action []string `json:"action"`
	Limit  int      `json:"limit"`
	After  string   `json:"after"`
	Zone   string   `json:"zone"`
}

// AuditPage shows the acts of people.
type AuditPage struct {
	Head
	Query   AuditQuery `json:"query"`
	Entries []AuditRow `json:"entries"` // newest first
	Next    string     `json:"next"`
	Bytes   int64      `json:"bytes"`  // that the log takes in the store
	Budget  int64      `json:"budget"` // and may take
}

// AuditRow is one act.
type AuditRow struct {
	ID     string `json:"id"`
	At     Time   `json:"at"`
	By     string `json:"by"`
	Action string `json:"action"`
	Job    string `json:"job"` // or the name of a lock; "" of what concerns the fleet
	Tick   Time   `json:"tick"`
	Reason string `json:"reason"`
	Result string `json:"result"`
}

// Audit shows the acts that the log has, newest first.
func Audit(s *Snapshot, rows []AuditRow, q AuditQuery, now time.Time) AuditPage {
	return AuditPage{Head: s.head(now), Query: q, Entries: rows}
}
