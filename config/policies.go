package config

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/solotick/solotick/internal/joined"
	"github.com/solotick/solotick/internal/limits"
	"github.com/solotick/solotick/jobs"
)

// partner is the other field of each rule that relates two.
var partner = map[string]string{
	"retry.max_backoff": "retry.backoff",
	"jitter":            "schedule",
}

// related returns the field whose value decides whether field's is right, "" if none does.
func related(spec jobs.Spec, field string) string {
	if field == "jitter" && spec.Jitter < 0 {
		return "" // wrong with any schedule
	}
	return partner[field]
}

// specFaults checks a job's spec and reports each fault where its cause is written. That is in the
// job, or in the defaults that it inherits; or at the job where neither has the field.
func (r *reader) specFaults(job value, spec jobs.Spec) {
	for _, fault := range faultsOf(spec) {
		field, other := fault.Field, related(spec, fault.Field)
		own, inherited := join(job.path, field), join("defaults", field)
		if r.wrong(job, field) || r.wrong(job, other) {
			continue
		}
		cause, path, note := job, own, ""
		if at, ok := r.at[own]; ok {
			cause = at
		} else if at, ok := r.at[join(job.path, other)]; ok {
			cause, note = at, "; that is its default"
			if def, ok := r.at[inherited]; ok {
				note = "; it comes from defaults, line " + strconv.Itoa(def.line)
			}
		} else if at, ok := r.at[inherited]; ok {
			cause, path = at, inherited
		} else if at, ok := r.at[join("defaults", other)]; ok {
			cause, path, note = at, inherited, "; that is its default"
		}
		r.specFault(cause, path, fault, note, job.path)
	}
}

// wrong reports whether a field has a fault already, in the job or in the defaults that it
// inherits. The value in the spec was not meant then.
func (r *reader) wrong(job value, field string) bool {
	_, own := r.at[join(job.path, field)]
	return r.bad[join(job.path, field)] || !own && r.bad[join("defaults", field)]
}

// specFault reports a fault of a spec that the mapping at base makes, or inherits from defaults.
func (r *reader) specFault(cause value, path string, fault *jobs.Fault, note, base string) {
	written, rule := mention(fault.Value), strings.ReplaceAll(fault.Rule, "jobs.WithTimezone", "timezone")
	v, ok := r.at[join(base, fault.Field)]
	if !ok {
		v, ok = r.at[join("defaults", fault.Field)]
	}
	if ok {
		written = v.written()
		if fault.Field == "schedule" && r.expands(v) {
			// The rule may quote the schedule, which errors show as the file has it.
			rule = "does not make a schedule with these values of the environment; one is \"0 2 * * *\", @hourly or @every 90s"
		}
	}
	r.add(cause.line, cause.column, path, written, rule+note)
}

// faultsOf returns what jobs finds wrong with spec.
func faultsOf(spec jobs.Spec) (all []*jobs.Fault) {
	for _, err := range joined.Errors(spec.Validate()) {
		if fault, ok := errors.AsType[*jobs.Fault](err); ok {
			all = append(all, fault)
		}
	}
	return all
}

// tooHeavy reports whether the replica serves a job that it can never run.
func tooHeavy(c *Config, spec jobs.Spec) bool {
	serves := len(spec.Groups) == 0 || slices.ContainsFunc(spec.Groups, func(g string) bool { return slices.Contains(c.Groups, g) })
	return c.MaxRuns > 0 && spec.Weight > c.MaxRuns && spec.Weight <= limits.MaxWeight && serves && !spec.Leader
}

// weightFault reports that a job weighs more than the replica runs at a time, where its weight is
// written. The default weight is the least.
func (r *reader) weightFault(job value, spec jobs.Spec, c *Config) {
	if r.bad[join(job.path, "weight")] || r.bad["defaults.weight"] || !tooHeavy(c, spec) {
		return
	}
	fault := &jobs.Fault{Field: "weight", Value: fmt.Sprint(spec.Weight), Rule: fmt.Sprintf("must be at most max_runs, %d: this replica could never run it", c.MaxRuns)}
	for _, path := range []string{join(job.path, "weight"), "defaults.weight"} {
		if at, ok := r.at[path]; ok {
			r.specFault(at, path, fault, "", job.path)
			return
		}
	}
}

// maxRunsFaults reports the jobs of c that weigh more than a limit which was set in place of the
// file's.
func (r *reader) maxRunsFaults(c *Config, text string) {
	for _, job := range c.Jobs {
		if tooHeavy(c, job.Spec) {
			r.add(0, 0, "max_runs", text, fmt.Sprintf("must be at least the weight of job %q, %d: this replica could never run it", job.Spec.Name, job.Spec.Weight))
		}
	}
}
