package wire

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/solotick/solotick/internal/naming"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/jobs/schedule"
)

// PolicyOf returns the part of a job's definition that the job's record keeps. It binds every
// trigger of the job, also one by a caller that does not know the definition.
func PolicyOf(s jobs.Spec) protocol.Policy {
	p := protocol.Policy{Beside: s.Overlap == jobs.Allow, NoTriggers: s.Leader || strings.EqualFold(strings.TrimSpace(s.Schedule), "@stored"), Jitter: s.Jitter, History: s.History}
	if !s.Rate.IsZero() {
		p.Every, p.Burst = s.Rate.Every(), max(s.Burst, 1)
	}
	return p
}

// DefinitionsOf names the journal that holds the definitions of a job, a note for each revision:
// apart from its facts, which come and go. No job has such a name.
func DefinitionsOf(job string) string { return naming.DefinitionsOf(job) }

type definitionJSON struct {
	Job    string            `json:"job"`
	Fields map[string]string `json:"fields"`
}

// maxField bounds the text of one field, in bytes.
const maxField = 512

// NoteDefinition keeps a job's definition for fleet.Describe, once for all replicas that have the
// same revision of it. Text that is too long is cut.
func NoteDefinition(ctx context.Context, j protocol.Store, job *jobs.Job) error {
	w := definitionJSON{Job: job.Name(), Fields: job.Fields()}
	var text []byte
	for most := maxField; ; most /= 2 {
		for name, value := range w.Fields {
			if short := protocol.Cut(value, most); short != value {
				w.Fields[name] = short
			}
		}
		if most == 0 {
			w.Fields = nil // their names alone are too long
		}
		text, _ = json.Marshal(w) //nolint:errchkjson // of strings: it cannot fail
		if len(text) <= protocol.MaxNoteText || most == 0 {
			break
		}
	}
	return j.Append(ctx, DefinitionsOf(job.Name()), job.Revision(), text)
}

// DefinitionFields reads what NoteDefinition wrote of a job; ok is false when it is of another.
func DefinitionFields(text []byte, job string) (fields map[string]string, ok bool) {
	var d definitionJSON
	ok = json.Unmarshal(text, &d) == nil && d.Job == job
	return d.Fields, ok
}

// zones has those that LoadZone has read, by name: schedules in the store name them again and again.
var zones sync.Map

// LoadZone returns a time zone by its name, as [time.LoadLocation] does.
func LoadZone(name string) (*time.Location, error) {
	if zone, ok := zones.Load(name); ok {
		return zone.(*time.Location), nil
	}
	zone, err := time.LoadLocation(name)
	if err == nil {
		zones.Store(name, zone)
	}
	return zone, err
}

// ParseSchedule reads the jobs.Job.ScheduleText of a job of that name. The error names the fault,
// or says that this machine does not know the time zone.
func ParseSchedule(job, text string) (*schedule.Schedule, error) {
	name, spec, _ := strings.Cut(text, " ")
	zone, err := LoadZone(name)
	if err != nil {
		return nil, fmt.Errorf("schedule %q: %w", text, err)
	}
	s, err := schedule.Parse(spec, zone, job)
	if err != nil {
		return nil, fmt.Errorf("schedule %q: %w", text, err)
	}
	return s, nil
}
