package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
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
		if d := distance(fold(key), fold(candidate)); d < least {
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

// distance is the least number of bytes to insert, delete, replace or swap with their neighbour that turns a into b.
// A long a is not worth the work: it comes out as far from everything.
func distance(a, b string) int {
	if len(a) > 64 {
		return len(a)
	}
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			replace := rows[i-1][j-1]
			if a[i-1] != b[j-1] {
				replace++
			}
			rows[i][j] = min(replace, rows[i-1][j]+1, rows[i][j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}

// keys is what a mapping may hold: what reads each key's value.
type keys map[string]func(value)

func (k keys) names() []string { return slices.Sorted(maps.Keys(k)) }
