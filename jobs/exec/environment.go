package exec

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/solotick/solotick/jobs"
)

// markVariable is how a process is known to belong to a run after it has left the run's process group.
const markVariable = "SOLOTICK_GUARD_RUN"

var toldVariables = []string{
	"SOLOTICK_NAMESPACE", "SOLOTICK_JOB", "SOLOTICK_TICK", "SOLOTICK_TICK_UNIX_MS", "SOLOTICK_TICK_ID",
	"SOLOTICK_FENCING_TOKEN", "SOLOTICK_ATTEMPT", "SOLOTICK_REPLICA", markVariable,
}

// told is what a run is told about itself, in the order of toldVariables.
func told(run jobs.Run, mark string) []string {
	return []string{
		run.Namespace, run.Job, tickTime(run), strconv.FormatInt(run.Tick.UnixMilli(), 10), run.TickID(),
		strconv.FormatInt(run.Token, 10), strconv.Itoa(run.Attempt), run.Replica, mark,
	}
}

// tickTime is the scheduled time as everything outside of Go is told: RFC 3339 with milliseconds, UTC.
func tickTime(run jobs.Run) string { return run.Tick.UTC().Format("2006-01-02T15:04:05.000Z") }

// environment is base with c.Env, and with what the run is told. dir is the working directory when c names one: PWD has
// to follow it, or programs that trust it see the worker's.
func environment(base []string, c Command, dir string, run jobs.Run, mark string) []string {
	added := maps.Clone(c.Env)
	if added == nil {
		added = make(map[string]string)
	}
	if _, own := added["PWD"]; c.Dir != "" && !own {
		added["PWD"] = dir
	}
	for i, value := range told(run, mark) {
		added[toldVariables[i]] = value
	}

	env := slices.DeleteFunc(slices.Clone(base), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		_, replaced := added[name]
		return replaced
	})
	for _, name := range slices.Sorted(maps.Keys(added)) {
		env = append(env, name+"="+added[name])
	}
	return env
}

// lookup returns the value of a variable in env, the last one if there are several.
func lookup(env []string, name string) string {
	for _, variable := range slices.Backward(env) {
		if value, found := strings.CutPrefix(variable, name+"="); found {
			return value
		}
	}
	return ""
}
