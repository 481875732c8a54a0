package config

import (
	"fmt"
	"slices"

	"github.com/solotick/solotick/jobs"
)

// limits are what the replica's capacity and groups demand of the jobs that it serves.
type limits struct {
	maxRuns int
	groups  []string
}

func (r *reader) maxRuns(v value, to *int) {
	n := 0
	switch {
	case !r.integer(v, &n):
	case n < 0 || n > jobs.MaxWeight:
		r.fault(v, "must be from 0, which is no limit, to %d", jobs.MaxWeight)
	default:
		*to = n
	}
}

// tooHeavy reports whether the replica serves a job that it can never run.
func (l limits) tooHeavy(spec jobs.Spec) bool {
	serves := len(spec.Groups) == 0 || slices.ContainsFunc(spec.Groups, func(g string) bool { return slices.Contains(l.groups, g) })
	return l.maxRuns > 0 && spec.Weight > l.maxRuns && spec.Weight <= jobs.MaxWeight && serves && !spec.Leader
}

// weightFault notes that a job weighs more than the replica runs at a time, where its weight is written.
func (r *reader) weightFault(job value, spec jobs.Spec, own, inherited *policies, l limits) {
	if own.bad["weight"] || inherited.bad["weight"] || !l.tooHeavy(spec) {
		return
	}
	fault := &jobs.Fault{Field: "weight", Value: fmt.Sprint(spec.Weight), Rule: fmt.Sprintf("must be at most max_runs, %d: this replica could never run it", l.maxRuns)}
	switch {
	case own.has("weight"):
		r.specFault(own.at["weight"], join(job.path, "weight"), fault, "", own, inherited)
	case inherited.has("weight"):
		r.specFault(inherited.at["weight"], join(inherited.base, "weight"), fault, "", own, inherited)
	default: // not with the default weight, which is the least
	}
}

// maxRunsFaults notes the jobs of c that weigh more than a limit which was set in place of the file's.
func (r *reader) maxRunsFaults(c *Config, text string) {
	for _, job := range c.Jobs {
		if (limits{maxRuns: c.MaxRuns, groups: c.Groups}).tooHeavy(job.Spec) {
			r.add(0, 0, "max_runs", text, fmt.Sprintf("must be at least the weight of job %q, %d: this replica could never run it", job.Spec.Name, job.Spec.Weight))
		}
	}
}
