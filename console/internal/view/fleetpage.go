package view

import "time"

// FleetQuery asks for a [FleetPage].
type FleetQuery struct {
	Zone string `json:"zone"`
}

// FleetPage shows the replicas and the store.
type FleetPage struct {
	Head
	Query    FleetQuery   `json:"query"`
	Since    Time         `json:"since"`    // since when the store remembers the fleet
	Replicas []ReplicaRow `json:"replicas"` // that are alive, sorted by id
	Gone     []ReplicaRow `json:"gone"`     // that are gone without having signed off, the newest first
	Versions []Choice     `json:"versions"` // how many replicas have each
	MaxRuns  int          `json:"max_runs"` // of all that are alive; 0 when one has no limit
	Used     int          `json:"used"`
	Store    StoreView    `json:"store"`
	Events   []Event      `json:"events"` // of the fleet's journal, newest first
}

// ReplicaRow is a replica.
type ReplicaRow struct {
	ID          string   `json:"id"`
	Groups      []string `json:"groups"`
	Version     string   `json:"version"`
	Module      string   `json:"module"`
	Started     Time     `json:"started"`
	Up          Millis   `json:"up_ms"`
	ClockOffset Millis   `json:"clock_offset_ms"` // of fleet time from its machine's clock: above 0 where that one is slow
	Clock       string   `json:"clock"`           // what it thinks of the store's clock: trusted, stepped, doubted, or "" when it does not say
	TTL         Millis   `json:"ttl_ms"`
	Running     int      `json:"running"`
	MaxRuns     int      `json:"max_runs"` // 0 for no limit
	Used        int      `json:"used"`
	Waiting     int      `json:"waiting"` // jobs with a tick that is due and has no room
	Stopping    bool     `json:"stopping"`
	Silent      bool     `json:"silent"` // it has missed a heartbeat
	Gone        bool     `json:"gone"`
	Processes   int      `json:"processes"` // that use its id: more than 1 is a mistake
	Heartbeat   Time     `json:"last_heartbeat"`
	Jobs        int      `json:"jobs"`  // that it serves; -1 when that is not known
	Leads       []string `json:"leads"` // leader tasks that it runs
	Runs        []string `json:"runs"`  // jobs of which it holds a tick, leader tasks besides
}

// StoreView is what is known of the store.
type StoreView struct {
	Kind        string    `json:"kind"`
	Server      string    `json:"server"`
	Address     string    `json:"address"`
	Latency     int64     `json:"latency_us"`
	ClockOffset Millis    `json:"clock_offset_ms"`
	Findings    []Finding `json:"findings"`
}

// Fleet shows the replicas and the store of a snapshot.
func Fleet(s *Snapshot, q FleetQuery, now time.Time) FleetPage {
	return FleetPage{Head: s.head(now), Query: q}
}
