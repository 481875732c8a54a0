package config

import (
	"fmt"
	"maps"
	"strings"
	"sync"

	"github.com/solotick/solotick/internal/editdistance"
	"github.com/solotick/solotick/jobs"
)

// sections says where each key belongs that stands in exactly one section, such as exec of a job.
var sections = sync.OnceValue(func() map[string]string {
	found, seen := map[string]string{}, map[string]int{}
	for _, r := range append(rowsOf(topKeys, "", Default()), rowsOf(jobKeys, "jobs[]", &Job{Spec: jobs.Defaults()})...) {
		dot := strings.LastIndexByte(r.path, '.')
		parent, name := r.path[:max(dot, 0)], r.path[dot+1:]
		section, inJob := strings.CutPrefix(parent, "jobs[].")
		switch {
		case inJob && r.policy:
			section += ", in a job or in defaults"
		case inJob:
			section += ", in a job"
		default:
			section += ", at the top level"
		}
		if seen[name]++; parent != "" && parent != "jobs[]" {
			found[name] = section
		}
	}
	maps.DeleteFunc(found, func(name, _ string) bool { return seen[name] > 1 })
	return found
})

// suggestion says what to write instead of key, where known keys are allowed.
func (r *reader) suggestion(key string, known []string) string {
	if section, ok := r.sections()[key]; ok {
		return "it belongs under " + section
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
