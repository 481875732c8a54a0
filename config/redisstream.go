package config

import (
	"slices"
	"strings"
)

// entryFields are set in each entry of a stream.
var entryFields = []string{
	"namespace", "job", "tick", "tick_unix_ms", "tick_id", "fencing_token", "attempt", "replica",
}

// redisStream reads a job's stream. What it returns is sound only if no fault was noted.
func (r *reader) redisStream(v value) *RedisStream {
	s := &RedisStream{}
	hasStream := false
	ok := r.fields(v, keys{
		"stream": func(v value) { hasStream = true; r.streamKey(v, &s.Stream) },
		"maxlen": func(v value) { r.maxLen(v, &s.MaxLen) },
		"fields": func(v value) { s.Fields = r.entryFields(v) },
	})
	if ok && !hasStream {
		r.missing(v, "stream", "add the key of the stream, such as events")
	}
	return s
}

func (r *reader) streamKey(v value, to *string) {
	t, ok := r.text(v, "the key of a stream, such as events")
	switch {
	case !ok:
	case t.string == "":
		r.fault(v, "must be the key of a stream, such as events")
	case strings.Contains(t.string, "}") && !hasHashTag(t.string):
		r.fault(v, "must not hold a } outside of a hash tag such as {eu}")
	default:
		*to = t.string
	}
}

// hasHashTag reports whether a part of key alone decides about its slot of a Redis Cluster: what is between the first {
// and the first } after it, unless that is nothing.
func hasHashTag(key string) bool {
	_, after, _ := strings.Cut(key, "{")
	tag, _, closed := strings.Cut(after, "}")
	return closed && tag != ""
}

func (r *reader) maxLen(v value, to *int64) {
	var n int
	switch ok := r.integer(v, &n); {
	case !ok:
	case n < 0:
		r.fault(v, "must be at least 0; 0 keeps every entry")
	default:
		*to = int64(n)
	}
}

func (r *reader) entryFields(v value) map[string]string {
	v.secret = true
	var fields map[string]string
	r.dictionary(v, func(e entry, text string) {
		switch {
		case e.key == "":
			r.wrongKey(e, "must not be an empty name")
		case slices.Contains(entryFields, e.key):
			r.wrongKey(e, "is set for each entry; choose another name")
		}
		fields = with(fields, e.key, text)
	})
	return fields
}
