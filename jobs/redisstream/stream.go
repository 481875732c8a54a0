package redisstream

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/solotick/solotick/internal/naming"
	"github.com/solotick/solotick/jobs"
)

// Stream describes what a job adds to.
type Stream struct {
	// Name is the stream's key, which is made with its first entry. It must not be empty. It must
	// not hold a } outside of a hash tag: no other key could then be in its slot of a Redis
	// Cluster.
	Name string
	// MaxLen keeps the stream at about this many entries, as MAXLEN ~ does, which removes whole
	// nodes of old ones only: some more may be left. 0 means all of them stay.
	MaxLen int64
	// Fields are added to each entry as they are. Their names must not be empty, nor one of those
	// in the package comment.
	Fields map[string]string
}

// The names of the fields that every entry has.
const (
	fieldNamespace = "namespace"
	fieldJob       = "job"
	fieldTick      = "tick"
	fieldTickMs    = "tick_unix_ms"
	fieldTickID    = "tick_id"
	fieldToken     = "fencing_token"
	fieldAttempt   = "attempt"
	fieldReplica   = "replica"
	fieldKey       = "key"         // of a run that has one, in place of one in Fields
	fieldPayload   = "payload"     // likewise
	fieldTrace     = "traceparent" // only of a run that is traced, and unless Fields has one
)

var ownFields = []string{
	fieldNamespace, fieldJob, fieldTick, fieldTickMs, fieldTickID, fieldToken, fieldAttempt, fieldReplica,
}

// Validate returns every fault of s, each a [*jobs.Fault], joined; nil when there is none.
func (s Stream) Validate() error {
	var faults []error
	fault := func(field string, value any, rule string) {
		faults = append(faults, &jobs.Fault{Field: "redis_stream." + field, Value: fmt.Sprint(value), Rule: rule})
	}
	switch {
	case s.Name == "":
		fault("stream", s.Name, "must be the key of a stream")
	case hashTag(s.Name) == "" && strings.Contains(s.Name, "}"):
		fault("stream", s.Name, "must not hold a } outside of a hash tag")
	}
	if s.MaxLen < 0 {
		fault("maxlen", s.MaxLen, "must be at least 0; 0 keeps every entry")
	}
	for _, name := range slices.Sorted(maps.Keys(s.Fields)) {
		if name == "" {
			fault("fields", name, "must not have an empty name in it")
		}
		if slices.Contains(ownFields, name) {
			fault("fields."+name, name, "is set for each entry; choose another name")
		}
	}
	return errors.Join(faults...)
}

// memoryKey is the key that remembers which ticks of a job, or of one of its stored schedules, were
// added to the stream. It is in the stream's slot.
func (s Stream) memoryKey(run jobs.Run) string {
	prefix := s.Name
	if hashTag(prefix) == "" {
		prefix = "{" + prefix + "}"
	}
	return prefix + ":solotick:" + run.Namespace + ":" + naming.Keyed(run.Job, run.Key)
}

// hashTag is the part of a key that alone decides about its slot: the text between the first { and
// the first } after it. Where that is empty, the whole key decides.
func hashTag(key string) string {
	_, after, _ := strings.Cut(key, "{")
	tag, _, closed := strings.Cut(after, "}")
	if !closed {
		return ""
	}
	return tag
}
