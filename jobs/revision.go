package jobs

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// Revision tells one definition of the job from another, for people to compare: 12 hexadecimal digits of a hash over the
// whole [Spec]. Replicas with different revisions run what each knows, no tick twice.
func (j *Job) Revision() string { return revision(j.spec) }

// ScheduleRevision is the same over what decides at which instants the ticks are.
func (j *Job) ScheduleRevision() string {
	return revision(Spec{Name: j.spec.Name, Schedule: j.spec.Schedule, Timezone: j.spec.Timezone, Leader: j.spec.Leader})
}

func revision(s Spec) string {
	if s.Timezone == "" {
		s.Timezone = "UTC"
	}
	if len(s.Groups) == 0 {
		s.Groups = nil
	}
	text, _ := json.Marshal(s) // it has nothing in it that could fail
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:6])
}
