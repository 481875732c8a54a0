package exec

import (
	"bytes"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/jobs/exec/internal/protocol"
)

// runVariables describe a run to its command.
var runVariables = []string{
	"SOLOTICK_NAMESPACE", "SOLOTICK_JOB", "SOLOTICK_TICK", "SOLOTICK_TICK_UNIX_MS", "SOLOTICK_TICK_ID",
	"SOLOTICK_FENCING_TOKEN", "SOLOTICK_ATTEMPT", "SOLOTICK_REPLICA", protocol.TagVariable, "SOLOTICK_CHECKPOINT_FD",
}

// runValues returns the values of runVariables, in their order.
func runValues(run jobs.Run, tag string) []string {
	return []string{
		run.Namespace, run.Job, tickTime(run), strconv.FormatInt(run.Tick.UnixMilli(), 10), run.TickID(),
		strconv.FormatInt(run.Token, 10), strconv.Itoa(run.Attempt), run.Replica, tag, strconv.Itoa(protocol.CheckpointFD),
	}
}

// tickTime is the scheduled time as it is written outside of Go: RFC 3339 with milliseconds, UTC.
func tickTime(run jobs.Run) string { return run.Tick.UTC().Format("2006-01-02T15:04:05.000Z") }

// What is only of a run that has a key, a payload or a position.
const (
	keyVariable      = "SOLOTICK_KEY"
	payloadVariable  = "SOLOTICK_PAYLOAD"
	positionVariable = "SOLOTICK_POSITION"
)

// environment is base without c.Unset, and with c.Env and the variables that describe the run. dir is the working
// directory when c names one: PWD has to follow it, or programs that trust it see the worker's.
func environment(base []string, c Command, dir string, run jobs.Run, tag string) []string {
	added := maps.Clone(c.Env)
	if added == nil {
		added = make(map[string]string)
	}
	if _, own := added["PWD"]; c.Dir != "" && !own {
		added["PWD"] = dir
	}
	for i, value := range runValues(run, tag) {
		added[runVariables[i]] = value
	}
	if run.Key != "" {
		added[keyVariable] = run.Key
	}
	if run.Payload != "" {
		added[payloadVariable] = string(run.Payload)
	}
	if len(run.Position) > 0 && bytes.IndexByte(run.Position, 0) < 0 { // no handler of this kind makes one with NUL
		added[positionVariable] = string(run.Position)
	}
	if run.Traceparent != "" {
		added["TRACEPARENT"] = run.Traceparent
	}

	env := slices.DeleteFunc(slices.Clone(base), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		_, replaced := added[name]
		// If a job has started this worker, base has the values of that run.
		ofAnother := name == keyVariable || name == payloadVariable || name == positionVariable
		return replaced || ofAnother || slices.Contains(c.Unset, name)
	})
	for _, name := range slices.Sorted(maps.Keys(added)) {
		env = append(env, name+"="+added[name])
	}
	return env
}
