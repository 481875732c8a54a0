package fleet

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/jobs"
)

// definitionsOf names the journal that holds the definitions of a job, a note for each revision: apart from its facts, which
// come and go. The job's own name may be too long to add to.
func definitionsOf(job string) string {
	sum := sha256.Sum256([]byte(job))
	return "definitions." + hex.EncodeToString(sum[:6])
}

type definitionJSON struct {
	Job    string            `json:"job"`
	Fields map[string]string `json:"fields"`
}

// maxField bounds the text of one field, in bytes.
const maxField = 512

// NoteDefinition keeps a job's definition for [Fleet.Describe], once for all replicas that have the same revision of it. Text
// that is too long is cut.
func NoteDefinition(ctx context.Context, j protocol.Journal, job *jobs.Job) error {
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
	return j.Append(ctx, definitionsOf(job.Name()), job.Revision(), text)
}

// definitions returns the fields of each revision of a job that is kept; none where the store keeps no journals.
func (f *Fleet) definitions(ctx context.Context, job string) (map[string]map[string]string, error) {
	j, err := ability[protocol.Journal](f.store, "keep definitions", "protocol.Journal")
	if errors.Is(err, errors.ErrUnsupported) {
		return nil, nil
	}
	notes, err := j.Notes(ctx, definitionsOf(job), 0)
	if err != nil {
		return nil, err
	}
	known := make(map[string]map[string]string, len(notes))
	for _, n := range notes {
		var d definitionJSON
		if json.Unmarshal(n.Text, &d) == nil && d.Job == job {
			known[n.Request] = d.Fields
		}
	}
	return known, nil
}

// Differences returns the fields in which the definitions differ, sorted: none where one of them is not known.
func (d Description) Differences() (fields []string) {
	all := map[string]bool{}
	for _, def := range d.Definitions {
		if def.Fields == nil {
			return nil
		}
		for name := range def.Fields {
			all[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		for _, def := range d.Definitions[1:] {
			if def.Fields[name] != d.Definitions[0].Fields[name] {
				fields = append(fields, name)
				break
			}
		}
	}
	return fields
}
