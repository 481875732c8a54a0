package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/solotick/solotick/internal/editdistance"
)

// elsewhere says where a key belongs that people put in the wrong place.
var elsewhere = map[string]string{
	"command":      "exec, in a job",
	"kill_grace":   "exec, in a job",
	"dir":          "exec, in a job",
	"env":          "exec, in a job",
	"body":         "http, in a job",
	"headers":      "http, in a job",
	"method":       "http, in a job",
	"success":      "http, in a job",
	"message":      "log, in a job",
	"stream":       "redis_stream, in a job",
	"maxlen":       "redis_stream, in a job",
	"fields":       "redis_stream, in a job",
	"backoff":      "retry, in a job or in defaults",
	"max_attempts": "retry, in a job or in defaults",
	"max_backoff":  "retry, in a job or in defaults",
	"addr":         "http, at the top level",
	"ttl":          "lease, at the top level",
	"level":        "log, at the top level",
	"format":       "log, at the top level",
}

// suggestion says what to write instead of key, where known keys are allowed.
func suggestion(key string, known []string) string {
	if place, ok := elsewhere[key]; ok {
		return "it belongs under " + place
	}
	best, least := "", (len(key)+1)*2/5+1
	for _, candidate := range known {
		if d := editdistance.Of(fold(key), fold(candidate)); d < least {
			best, least = candidate, d
		}
	}
	if best != "" {
		return fmt.Sprintf("did you mean %s?", best)
	}
	return "the keys here are " + strings.Join(known, ", ")
}

// fold makes maxAttempts, max-attempts and max_attempts equal.
func fold(key string) string {
	return strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(key))
}

// keys is what a mapping may hold: what reads each key's value.
type keys map[string]func(value)

func (k keys) names() []string { return slices.Sorted(maps.Keys(k)) }
