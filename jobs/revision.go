package jobs

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// Revision returns 12 hexadecimal digits of a hash over the whole [Spec], for people to compare. It
// covers the rules of the time zone from 2020 to 2059, by this machine's zone data. Replicas with
// different revisions run their own, and no tick twice.
func (j *Job) Revision() string {
	if j.base != nil {
		return j.base.Revision()
	}
	if rules := zoneRules(j.schedule.Location()); rules != "" {
		return hash([]any{normal(j.spec), rules})
	}
	return hash(normal(j.spec))
}

// ScheduleRevision is such a hash over the fields that decide when the ticks are.
func (j *Job) ScheduleRevision() string {
	s := normal(j.spec)
	decides := []any{s.Name, s.Schedule, s.Timezone, s.Leader} // these alone, whatever else later versions know
	if rules := zoneRules(j.schedule.Location()); rules != "" {
		decides = append(decides, rules)
	}
	return hash(decides)
}

// ScheduleText is the time zone and the schedule, for [ParseSchedule] to read. It is empty for a
// leader task.
func (j *Job) ScheduleText() string {
	if j.spec.Leader {
		return ""
	}
	return normal(j.spec).Timezone + " " + j.schedule.String()
}

// normal makes specs equal that mean the same.
func normal(s Spec) Spec {
	if s.Timezone == "" {
		s.Timezone = "UTC"
	}
	if s.Weight == 1 {
		s.Weight = 0 // the default is left out, as versions before weights did
	}
	if s.History == Defaults().History {
		s.History = 0
	}
	if len(s.Groups) == 0 {
		s.Groups = nil
	}
	return s
}

func hash(v any) string {
	text, _ := json.Marshal(v) //nolint:errchkjson // of strings, numbers and lists of them: it cannot fail
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:6])
}
