package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/solotick/solotick/internal/limits"
	"github.com/solotick/solotick/internal/naming"
	"github.com/solotick/solotick/jobs"
)

// jobs reads the list of jobs on top of the defaults.
func (r *reader) jobs(c *Config) []Job {
	base := r.defaults()
	v, ok := r.at["jobs"]
	if !ok {
		return nil
	}
	items, ok := r.list(v, "a list of jobs")
	if ok && len(items) == 0 {
		r.fault(v, "is empty; add a job: a name, a schedule and one of %s", kindList)
	}
	var all []Job
	first := map[string]value{} // where each name was taken
	for _, item := range items {
		if job, ok := r.job(item, base, first, c); ok {
			all = append(all, job)
		}
	}
	return all
}

// defaults reads the policies of every job, and reports faults that do not depend on the jobs.
func (r *reader) defaults() jobs.Spec {
	base := Job{Spec: jobs.Defaults()}
	v, ok := r.at["defaults"]
	if !ok {
		return base.Spec
	}
	readKeys(r, v, defaultKeys, &base)
	complete := base.Spec
	complete.Name, complete.Schedule = "any", "@yearly"
	for _, fault := range faultsOf(complete) {
		// A relation of two fields is for the jobs to hold or to break, which may have changed one
		// of them.
		path := join("defaults", fault.Field)
		if at, ok := r.at[path]; ok && related(base.Spec, fault.Field) == "" {
			r.specFault(at, path, fault, "", "defaults")
		}
	}
	return base.Spec
}

// job reads one entry of the list. It reports false for one that is not even a mapping.
func (r *reader) job(v value, base jobs.Spec, first map[string]value, c *Config) (Job, bool) {
	job := Job{Spec: base, Line: v.line}
	job.Spec.Groups = slices.Clone(base.Groups)
	if !readKeys(r, v, jobKeys, &job) {
		return Job{}, false
	}
	if !r.has(v, "name") {
		r.bad[join(v.path, "name")] = true // one fault is enough
	}
	r.scheduleFault(v, job.Spec)
	if job.Spec.Leader {
		r.withoutDefaults(v, &job.Spec)
	}
	if job.Spec.Leader && job.Notify != (Notify{}) {
		r.fault(r.at[join(v.path, "notify")], "must be left out of a leader task: it has no runs that succeed or fail")
	}
	if strings.EqualFold(strings.TrimSpace(job.Spec.Schedule), "@triggered") && !r.has(v, "jitter") {
		job.Spec.Jitter = 0
	}
	if strings.EqualFold(strings.TrimSpace(job.Spec.Schedule), "@stored") && !r.has(v, "history") {
		job.Spec.History = limits.MinHistory
	}
	if after := job.Notify.After; after > job.Spec.History {
		r.fault(r.at[join(join(v.path, "notify"), "after")], "must be at most history, %d", job.Spec.History)
	}
	work := r.kindOfWork(v)
	r.specFaults(v, job.Spec)
	r.weightFault(v, job.Spec, c)
	if job.HTTP.Reveal().Steps && job.Spec.Timeout == 0 && !r.bad[join(v.path, "timeout")] {
		r.fault(r.at[join(v.path, "http.steps")], "needs a timeout beside http: that of all steps together")
	}
	r.uniqueName(v, job.Spec.Name, first)
	if len(r.faults) == 0 { // else there will be no Config
		job.Spec.Definition, job.Spec.Details = r.definition(work)
	}
	return job, true
}

// scheduleFault reports a job that has neither schedule nor schedules, or both, or schedules without
// sense.
func (r *reader) scheduleFault(v value, spec jobs.Spec) {
	schedule, schedules := join(v.path, "schedule"), join(v.path, "schedules")
	at, written := r.at[schedules]
	switch stored := written && !r.bad[schedules]; {
	case stored && r.has(v, "schedule"):
		r.fault(at, "must be left out beside schedule: a job has either schedule, or schedules: stored")
	case stored && spec.Leader:
		r.fault(at, "must be left out of a leader task: it runs all the time")
	case stored, r.has(v, "schedule"), spec.Leader:
		return
	case !written && !r.bad[join(v.path, "leader")]:
		r.missing(v, "schedule", `every job needs one, such as "0 2 * * *", @hourly or @every 90s, in quotes, or "@triggered" for none, `+
			`or schedules: stored in its place, but for a task with leader: true, which runs all the time`)
	}
	r.bad[schedule] = true // one fault is enough
}

// has reports whether a key of the mapping v is written.
func (r *reader) has(v value, name string) bool {
	_, ok := r.at[join(v.path, name)]
	return ok
}

// withoutDefaults takes out of a leader task the defaults that are for the other jobs.
func (r *reader) withoutDefaults(v value, spec *jobs.Spec) {
	if !r.has(v, "timeout") {
		spec.Timeout = 0
	}
	if !r.has(v, "jitter") {
		spec.Jitter = 0
	}
	if !r.has(v, "weight") {
		spec.Weight = jobs.Defaults().Weight
	}
	if !r.has(v, "rate") {
		spec.Rate = jobs.Rate{}
	}
}

// kindOfWork returns the first of the job's kinds of work, and wants exactly one.
func (r *reader) kindOfWork(job value) value {
	var found []value // in the order of the file
	for _, kind := range kindsOfWork {
		if v, ok := r.at[join(job.path, kind)]; ok {
			found = append(found, v)
		}
	}
	slices.SortFunc(found, func(a, b value) int { return cmp.Compare(a.order, b.order) })
	switch len(found) {
	case 0:
		r.add(job.line, job.column, job.path, "", "has none of "+kindList+"; add the one that does the work")
		return value{}
	case 1:
	default:
		names := each(found, func(v value) string { return v.key.Value })
		r.add(found[1].key.Line, found[1].key.Column, job.path, "",
			fmt.Sprintf("has %s; keep exactly one of %s", strings.Join(names, " and "), kindList))
	}
	return found[0]
}

func (r *reader) uniqueName(job value, name string, first map[string]value) {
	if !naming.Valid(name) {
		return
	}
	at := r.at[join(job.path, "name")]
	if earlier, taken := first[name]; taken {
		r.fault(at, "is the name of %s already, line %d; names must differ",
			strings.TrimSuffix(earlier.path, ".name"), earlier.line)
		return
	}
	first[name] = at
}
