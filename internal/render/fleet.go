package render

import (
	"fmt"
	"strings"
	"time"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/wire"
)

// Replicas returns the table of replicas, with more columns at its end.
func Replicas(v View, list []fleet.Replica, more ...Column) *Table {
	v = v.In(time.UTC)
	t := NewTable("REPLICA", "GROUPS", "JOBS", "RUNNING", "LOAD", "TTL", "CLOCK", "VERSION", "STARTED", "HEARTBEAT")
	for _, r := range list {
		if r.JobCount < 0 {
			row := Row(r.ID, "", "", "", "", "", "", "of another version", "")
			row[7].Style = Yellow
			t.Add(append(row, heartbeatCell(v, r))...)
			continue
		}
		id, running := Cell{Text: r.ID}, fmt.Sprint(r.Running)
		if n := r.Processes(); n > 1 {
			id = Cell{Text: fmt.Sprintf("%s (%d processes)", r.ID, n), Style: Red}
		}
		switch {
		case r.Gone:
			running = ""
		case r.Stopping:
			running += ", stopping"
		}
		t.Add(id, Cell{Text: strings.Join(r.Groups, ",")}, Cell{Text: fmt.Sprint(r.JobCount)}, Cell{Text: running}, loadCell(r),
			Cell{Text: r.TTL.String()}, clockCell(r), Cell{Text: r.Version},
			Cell{Text: v.Ago(r.Started.Truncate(time.Second))}, heartbeatCell(v, r))
	}
	t.Insert(len(t.rows[0]), more)
	return t
}

// loadCell shows the used capacity of a replica, and how many jobs wait for capacity.
func loadCell(r fleet.Replica) Cell {
	switch {
	case r.Gone:
		return Cell{}
	case r.MaxRuns == 0:
		return Cell{Text: fmt.Sprint(r.Used)}
	case r.Waiting > 0:
		return Cell{Text: fmt.Sprintf("%d of %d, %s waiting", r.Used, r.MaxRuns, Count(r.Waiting, "job")), Style: Yellow}
	}
	return Cell{Text: fmt.Sprintf("%d of %d", r.Used, r.MaxRuns)}
}

// heartbeatCell shows the last heartbeat of a replica, and whether it is late.
func heartbeatCell(v View, r fleet.Replica) Cell {
	text := v.Ago(r.LastHeartbeat.Truncate(time.Second))
	switch {
	case r.Gone && r.Stopping:
		return Cell{Text: text + ", stopped"}
	case r.Gone:
		return Cell{Text: text + ", gone", Style: Red}
	case r.Silent(v.Now):
		return Cell{Text: text + ", silent", Style: Yellow}
	}
	return Cell{Text: text}
}

// clockCell shows how wrong a replica's own clock is.
func clockCell(r fleet.Replica) Cell {
	c := Cell{Text: ClockOffset(r.ClockOffset)}
	if r.ClockOffset.Abs() >= time.Second {
		c.Style = Yellow
	}
	return c
}

// Audit returns the table of acts.
func Audit(v View, acts []fleet.Fact) *Table {
	v = v.In(time.UTC)
	t := NewTable("AT", "WHO", "VIA", "DID", "WHAT", "WHY")
	for _, f := range acts {
		what, more := f.Job, ""
		switch f.Kind {
		case wire.FactTriggered, wire.FactCancelled:
			more = "tick " + v.Full(f.Tick)
			if f.Key != "" {
				more += ", key " + f.Key
			}
			if f.Kind == wire.FactTriggered && !f.From.IsZero() {
				more += ", to run " + v.Full(f.From) + " again"
			}
		case wire.FactScheduled:
			more = f.Schedule
		case wire.FactResumed:
			if f.Count > 0 {
				break
			}
			more = "which " + f.Pauser + " had paused"
		case wire.FactReleased:
			what, more = "lock "+f.Lock, "held by "+f.Replica
		default:
		}
		if f.Count > 0 {
			more = fmt.Sprintf("%d schedules", f.Count)
			if f.Key != "" {
				more += ", keys " + f.Key + "…"
			}
		}
		if more != "" {
			what += " (" + more + ")"
		}
		t.Add(Row(v.Full(f.At), f.By, f.Via, f.Kind, what, f.Reason)...)
	}
	return t
}
