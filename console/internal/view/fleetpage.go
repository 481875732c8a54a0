package view

import (
	"slices"
	"time"

	"github.com/solotick/solotick/fleet"
)

// FleetQuery asks for a [FleetPage].
type FleetQuery struct {
	Zone string `json:"zone"`
}

func (q *FleetQuery) bind(p *Parameters) { p.Zone(&q.Zone) }

// FleetPage shows the replicas and the store.
type FleetPage struct {
	Head
	Query    FleetQuery   `json:"query"`
	Since    time.Time    `json:"since"`    // since when the store remembers the fleet
	Replicas []ReplicaRow `json:"replicas"` // that are alive, sorted by id
	Gone     []ReplicaRow `json:"gone"`     // that are gone without having signed off, the newest first
	Versions []Choice     `json:"versions"` // how many replicas have each
	MaxRuns  int          `json:"max_runs"` // of all that are alive; 0 when one has no limit
	Used     int          `json:"used"`
	Store    StoreView    `json:"store"`
	Events   []Event      `json:"events"` // of the fleet's journal, newest first

	Notifications *Notifications `json:"notifications"` // null where the store keeps nothing of them
}

// ReplicaRow is a replica.
type ReplicaRow struct {
	ID          string        `json:"id"`
	Groups      []string      `json:"groups"`
	Version     string        `json:"version"`
	Module      string        `json:"module"`
	Started     time.Time     `json:"started"`
	Up          time.Duration `json:"up_ms"`
	ClockOffset time.Duration `json:"clock_offset_ms"` // of fleet time from its machine's clock: above 0 where that one is slow
	Clock       string        `json:"clock"`           // its opinion of the store's clock: trusted, stepped, doubted, or "" when it does not say
	TTL         time.Duration `json:"ttl_ms"`
	Running     int           `json:"running"`
	MaxRuns     int           `json:"max_runs"` // 0 for no limit
	Used        int           `json:"used"`
	Waiting     int           `json:"waiting"` // jobs with a tick that is due and has no room
	Stopping    bool          `json:"stopping"`
	Silent      bool          `json:"silent"` // it has missed a heartbeat
	Gone        bool          `json:"gone"`
	Processes   int           `json:"processes"` // that use its id: more than 1 is a mistake
	Heartbeat   time.Time     `json:"last_heartbeat"`
	Jobs        int           `json:"jobs"`  // that it serves; -1 when that is not known
	Leads       []string      `json:"leads"` // leader tasks that it runs
	Runs        []string      `json:"runs"`  // jobs of which it holds a tick, leader tasks besides

	replica fleet.Replica
}

// StoreView describes the store.
type StoreView struct {
	Kind        string        `json:"kind"`            // such as "redis", "quorum" or "memory"
	Server      string        `json:"server"`          // its name and version; "" when it is not known
	Address     string        `json:"address"`         // without credentials; "" when it is not known
	Latency     int64         `json:"latency_us"`      // of the newest read of its time; 0 when it was not measured
	ClockOffset time.Duration `json:"clock_offset_ms"` // of its clock from this machine's: above 0 where this machine is slow
	Examines    bool          `json:"examines"`        // checks of the store and the fleet are made while somebody looks
	Examined    time.Time     `json:"examined_at"`     // the newest; null before the first has ended
	Findings    []Finding     `json:"findings"`        // those that are wrong first
}

// Fleet shows the replicas and the store of a snapshot.
func Fleet(s *Snapshot, q FleetQuery, now time.Time) FleetPage {
	p := FleetPage{
		Head: s.head(now), Query: q, Since: s.Status.Since, Replicas: []ReplicaRow{}, Gone: []ReplicaRow{},
		MaxRuns: capacity(s.Status.Replicas), Events: s.events(s.Facts, zoneOf(q.Zone, "")),
		Store: s.Store,
	}
	p.Store.Findings = worstFirst(s.Store.Findings)
	if s.Notified != nil {
		p.Notifications = notificationsOf(*s.Notified, now)
	}
	leads, runs := s.held()
	versions := map[string]int{}
	for _, r := range s.Status.Replicas {
		row := replicaRow(r, now)
		row.Leads, row.Runs = append(row.Leads, leads[r.ID]...), append(row.Runs, runs[r.ID]...)
		p.Replicas = append(p.Replicas, row)
		p.Used += r.Used
		versions[r.Version]++
	}
	for _, r := range s.Status.Silent {
		p.Gone = append(p.Gone, replicaRow(r, now))
	}
	p.Versions = named(versions, nil)
	return p
}

// worstFirst orders findings by how wrong they are.
func worstFirst(list []Finding) []Finding {
	order := []string{"error", "warning", "unchecked", "ok"}
	sorted := append([]Finding{}, list...)
	slices.SortStableFunc(sorted, func(a, b Finding) int {
		return slices.Index(order, a.Severity) - slices.Index(order, b.Severity)
	})
	return sorted
}

// held returns the leader tasks, and the other jobs, of which each replica holds a tick.
func (s *Snapshot) held() (leads, runs map[string][]string) {
	leads, runs = map[string][]string{}, map[string][]string{}
	for i := range s.Status.Jobs {
		j := &s.Status.Jobs[i]
		for _, e := range j.Open {
			if !e.Held() {
				continue
			}
			held := runs
			if e.Scheduled.IsZero() {
				held = leads
			}
			if !slices.Contains(held[e.Replica], j.Name) {
				held[e.Replica] = append(held[e.Replica], j.Name)
			}
		}
	}
	return leads, runs
}

func replicaRow(r fleet.Replica, now time.Time) ReplicaRow {
	row := ReplicaRow{
		ID: r.ID, Groups: r.Groups, Version: r.Version, Module: r.Module, Started: r.Started,
		ClockOffset: r.ClockOffset, Clock: r.Clock, TTL: r.TTL, Running: r.Running, MaxRuns: r.MaxRuns, Used: r.Used,
		Waiting: r.Waiting, Stopping: r.Stopping, Silent: r.Silent(now), Gone: r.Gone, Processes: r.Processes(), Heartbeat: r.LastHeartbeat,
		Jobs: r.JobCount, Leads: []string{}, Runs: []string{}, replica: r,
	}
	if !r.Started.IsZero() && !r.Gone {
		row.Up = max(0, now.Sub(r.Started))
	}
	return row
}
