package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/solotick/solotick/jobs"
)

const kindList = "exec, http, redis_stream, log"

// jobs reads the list of jobs on top of the defaults.
func (r *reader) jobs(root value, l late) []Job {
	base, inherited := r.defaults(l.defaults)
	if l.jobs == nil {
		r.missing(root, "jobs", "add a list of jobs, each with a name, a schedule and one of "+kindList)
		return nil
	}
	items, ok := r.list(*l.jobs, "a list of jobs")
	if ok && len(items) == 0 {
		r.fault(*l.jobs, "is empty; add a job: a name, a schedule and one of %s", kindList)
	}
	var all []Job
	first := map[string]value{} // where each name was taken
	for _, item := range items {
		if job, ok := r.job(item, base, inherited, first, l.limits); ok {
			all = append(all, job)
		}
	}
	return all
}

// defaults reads the policies of every job, and what is wrong with them whatever the jobs say.
func (r *reader) defaults(v *value) (jobs.Spec, *policies) {
	spec, p := jobs.Defaults(), newPolicies("defaults")
	if v == nil {
		return spec, p
	}
	known := r.policyKeys(&spec, p)
	for _, key := range append(strings.Split(kindList, ", "), "name", "schedule", "leader") {
		known[key] = func(v value) {
			r.add(v.line, v.column, v.path, "", "cannot have a default; write it in each job")
		}
	}
	r.fields(*v, known)

	complete := spec
	complete.Name, complete.Schedule = "any", "@yearly"
	for _, fault := range faultsOf(complete) {
		// A relation of two fields is for the jobs to hold or to break, who may have changed one of them.
		if at, ok := p.at[fault.Field]; ok && related(spec, fault.Field) == "" {
			r.specFault(at, join(p.base, fault.Field), fault, "", p, p)
		}
	}
	return spec, p
}

// job reads one entry of the list. It reports false for one that is not even a mapping.
func (r *reader) job(v value, base jobs.Spec, inherited *policies, first map[string]value, l limits) (Job, bool) {
	job := Job{Spec: base, Line: v.line}
	job.Spec.Groups = slices.Clone(base.Groups)
	own := newPolicies(v.path)
	var kinds []value // in the order of the file
	kind := func(read func(value)) func(value) {
		return func(v value) { kinds = append(kinds, v); read(v) }
	}

	known := r.policyKeys(&job.Spec, own)
	known["name"] = own.note(func(v value) bool { return readString(r, v, &job.Spec.Name) })
	known["schedule"] = own.note(func(v value) bool { return readString(r, v, &job.Spec.Schedule) })
	known["leader"] = own.note(func(v value) bool { return r.boolean(v, &job.Spec.Leader) })
	known["exec"] = kind(func(v value) { job.Exec = r.exec(v) })
	known["http"] = kind(func(v value) { job.HTTP = r.http(v) })
	known["log"] = kind(func(v value) { job.Log = r.log(v) })
	known["redis_stream"] = kind(func(v value) { job.RedisStream = r.redisStream(v) })
	if !r.fields(v, known, strings.Split(kindList, ", ")...) {
		return Job{}, false
	}

	if !own.has("name") {
		r.missing(v, "name", "every job needs one, such as nightly-report")
		own.bad["name"] = true
	}
	if !own.has("schedule") && !job.Spec.Leader {
		own.bad["schedule"] = true
		if !own.bad["leader"] {
			r.missing(v, "schedule", `every job needs one, such as "0 2 * * *", @hourly or @every 90s, in quotes, `+
				"but for a task with leader: true, which runs all the time")
		}
	}
	if job.Spec.Leader {
		notForLeaders(&job.Spec, own)
	}
	r.onlyOneKind(v, kinds)
	r.specFaults(v, job.Spec, own, inherited)
	r.weightFault(v, job.Spec, own, inherited, l)
	r.uniqueName(job.Spec.Name, own, first)
	if len(r.faults) == 0 { // else there will be no Config
		job.Spec.Definition, job.Spec.Details = r.definition(kinds[0])
	}
	return job, true
}

// notForLeaders takes out of a leader task what it inherits from defaults that are meant for the other jobs.
func notForLeaders(spec *jobs.Spec, own *policies) {
	if !own.has("timeout") {
		spec.Timeout = 0
	}
	if !own.has("jitter") {
		spec.Jitter = 0
	}
	if !own.has("weight") {
		spec.Weight = jobs.Defaults().Weight
	}
	if !own.has("rate") {
		spec.Rate = jobs.Rate{}
	}
}

func (r *reader) onlyOneKind(job value, kinds []value) {
	if len(kinds) == 0 {
		r.add(job.line, job.column, job.path, "", "has none of "+kindList+"; add the one that does the work")
	}
	if len(kinds) > 1 {
		at, found := kinds[1].key, []string{}
		for _, k := range kinds {
			found = append(found, strings.TrimPrefix(k.path, job.path+"."))
		}
		r.add(at.Line, at.Column, job.path, "",
			fmt.Sprintf("has %s; keep exactly one of %s", strings.Join(found, " and "), kindList))
	}
}

func (r *reader) uniqueName(name string, own *policies, first map[string]value) {
	if !jobs.ValidName(name) {
		return
	}
	at := own.at["name"]
	if earlier, taken := first[name]; taken {
		r.fault(at, "is the name of %s already, line %d; names must differ",
			strings.TrimSuffix(earlier.path, ".name"), earlier.line)
		return
	}
	first[name] = at
}
