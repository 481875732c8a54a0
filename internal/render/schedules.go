package render

import (
	"cmp"
	"fmt"
	"time"

	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/schedules"
)

// StoredSchedules returns the table of schedules that lie in the store.
func StoredSchedules(v View, list []schedules.Schedule) *Table {
	t := NewTable("KEY", "SCHEDULE", "ZONE", "NEXT", "NOW", "PAYLOAD", "UPDATED", "BY")
	for _, row := range list {
		v := v.In(Zone(row.Timezone))
		t.Add(Row(row.Key, Spec(row), row.Timezone, v.Tick(row.Next), activity(row), payloadSize(row), v.Ago(row.Updated), row.UpdatedBy)...)
	}
	return t
}

// StoredSchedule describes one of them, with its coming ticks.
func StoredSchedule(v View, job string, row schedules.Schedule, coming []time.Time) Facts {
	var f Facts
	f.Add("schedule", job+"/"+row.Key)
	lines := []string{Spec(row) + " " + row.Timezone}
	if s, err := wire.ParseSchedule(job+"/"+row.Key, row.Timezone+" "+row.Cron); err == nil && s.Words(nil) != s.String() {
		lines = append(lines, s.Words(nil))
	}
	f.Add("ticks", lines...)
	bound := func(name string, t time.Time) {
		if !t.IsZero() {
			f.Add(name, v.Full(t))
		}
	}
	bound("start", row.Start)
	bound("end", row.End)
	f.Add("payload", cmp.Or(Line(row.Payload), "none"))
	f.Add("revision", row.Revision)
	f.Add("updated", v.Full(row.Updated)+" by "+cmp.Or(row.UpdatedBy, "a program"))
	if p := row.Paused; p != nil {
		f.Add("paused", fmt.Sprintf("by %s since %s, %s", p.By, v.Full(p.Since), cmp.Or(Line(p.Reason), "without a reason")))
	}
	f.Add("now", cmp.Or(activity(row), "no tick runs"))
	next := make([]string, len(coming))
	for i, t := range coming {
		next[i] = v.When(t)
	}
	if len(next) == 0 {
		next = []string{"none"}
	}
	f.Add("next", next...)
	return f
}

// Spec writes when a schedule ticks, as jobs have it.
func Spec(row schedules.Schedule) string {
	if row.At.IsZero() {
		return row.Cron
	}
	return "@at " + row.At.UTC().Format(time.RFC3339)
}

func activity(row schedules.Schedule) string {
	switch {
	case row.Running > 0:
		return Count(row.Running, "tick") + " running"
	case row.Paused != nil:
		return "paused by " + row.Paused.By
	}
	return ""
}

func payloadSize(row schedules.Schedule) string {
	if row.Payload == "" {
		return ""
	}
	return Bytes(len(row.Payload))
}
