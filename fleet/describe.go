package fleet

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/solotick/solotick/internal/naming"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/jobs/schedule"
	"github.com/solotick/solotick/lease"
)

// Description is the one view of a job.
type Description struct {
	Namespace string    `api:"namespace"`
	Now       time.Time `api:"now"` // fleet time
	JobStatus

	// Definitions are those that live replicas have of the job, by revision: that of the given job
	// first, then by how many have it. The schedule in force is in JobStatus.
	Definitions []Definition `api:"definitions"`
	Differences []string     `api:"differences"` // the fields in which they differ, sorted; none where one of them is not known

	Coming   []time.Time           `api:"coming"`        // the next ticks, the first of which is Next
	Outcomes []Entry               `api:"outcomes"`      // the newest that were settled, newest tick first
	Counts   map[lease.Outcome]int `api:"counts"`        // of the outcomes that the store keeps; a range counts for as many ticks as were counted
	Since    time.Time             `api:"counted_since"` // when the oldest of them was settled; zero when there are none

	// Runs is how many of the outcomes kept are of a run, and Median and Longest how long those
	// took; 0 when there are none.
	Runs    int           `api:"runs"`
	Median  time.Duration `api:"median_ms"`
	Longest time.Duration `api:"longest_ms"`

	// HistoryBytes is about how many bytes the outcomes take in the store, and HistoryLimit how
	// many they may take: 0 where the job is not given.
	HistoryBytes int `api:"history_used_bytes"`
	HistoryLimit int `api:"history_limit_bytes"`

	Facts []Fact `api:"facts"` // of the job's journal, newest first; none where the store keeps none
}

// Definition is a job as some replicas have it.
type Definition struct {
	Revision string   `api:"revision"`
	Replicas []string `api:"replicas"`              // sorted
	Given    bool     `api:"of_this_configuration"` // it is that of the given job

	// Fields is the text of each field, by its name in a configuration file, without secrets; nil
	// where the store does not have it. See [jobs.Job.Fields].
	Fields map[string]string `api:"fields"`
}

// Describe looks at one job. job may be nil when only replicas, or only the store, know its
// definition. ticks and outcomes say how many coming ticks and settled outcomes to return. It
// returns [ErrUnknown] for a job that no replica serves and that the store has no record of, unless
// job is given.
func (f *Fleet) Describe(ctx context.Context, name string, job *jobs.Job, ticks, outcomes int) (Description, error) {
	now, _, err := f.store.Time(ctx)
	if err != nil {
		return Description{}, err
	}
	d := Description{Namespace: f.namespace, Now: now, Counts: map[lease.Outcome]int{}}
	replicas, err := f.Replicas(ctx)
	if err != nil {
		return Description{}, err
	}
	r, err := f.inspect(ctx, name)
	if err != nil {
		return Description{}, err
	}
	summary := protocol.Summarize(r)
	summary.Record = r // all that it has is here already
	d.JobStatus = f.jobStatus(name, job, summary, serviceOf(replicas), now)
	if job == nil && !d.Known && len(d.Replicas) == 0 {
		return Description{}, fmt.Errorf("job %q: %w", name, protocol.ErrUnknown)
	}
	if d.Facts, err = f.Facts(ctx, name); err != nil {
		return Description{}, err
	}
	known, err := f.definitions(ctx, name)
	if err != nil {
		return Description{}, err
	}
	d.define(job, replicas, known)
	if sched := d.scheduleOf(job); sched != nil {
		next := sched.Next
		for at := next(now); !at.IsZero() && len(d.Coming) < ticks; at = next(at) {
			d.Coming = append(d.Coming, at)
		}
	}
	d.HistoryBytes = wire.HistoryBytes(r.Settled)
	if job != nil {
		d.HistoryLimit = wire.HistoryLimit(job.Spec())
	}
	if err := f.checkpoints(ctx, r, d.Open); err != nil {
		return Description{}, err
	}
	d.count(f.history(r, d.Facts, now)[len(r.Open):], job, outcomes)
	return d, nil
}

// inspect returns a record. If it is of a stored schedule JOB/KEY, a pause of the job is one of it, too.
func (f *Fleet) inspect(ctx context.Context, name string) (protocol.Record, error) {
	r, err := f.store.Inspect(ctx, name)
	if job, key := naming.SplitKeyed(name); err == nil && key != "" && r.Paused == nil {
		var of protocol.Record
		of, err = f.store.Inspect(ctx, job)
		r.Paused = of.Paused
	}
	return r, err
}

// define groups the live replicas by their revision of the job.
func (d *Description) define(job *jobs.Job, replicas []Replica, known map[string]map[string]string) {
	by := map[string][]string{}
	name, _ := naming.SplitKeyed(d.Name)
	for _, r := range replicas {
		if revision, ok := r.Jobs[name]; ok && !r.Stopping {
			by[revision] = append(by[revision], r.ID)
		}
	}
	for _, revision := range slices.Sorted(maps.Keys(by)) {
		given := job != nil && job.Revision() == revision
		d.Definitions = append(d.Definitions, Definition{Revision: revision, Replicas: by[revision], Given: given, Fields: known[revision]})
	}
	slices.SortStableFunc(d.Definitions, func(a, b Definition) int {
		switch {
		case a.Given:
			return -1
		case b.Given:
			return 1
		}
		return len(b.Replicas) - len(a.Replicas)
	})
	d.Differences = differences(d.Definitions)
}

// scheduleOf returns the job's schedule; nil when it is not known.
func (d *Description) scheduleOf(job *jobs.Job) *schedule.Schedule {
	if job != nil {
		return job.Schedule()
	}
	return d.ScheduleOf()
}

// count takes in the settled entries, newest tick first.
func (d *Description) count(list []Entry, job *jobs.Job, outcomes int) {
	list = slices.DeleteFunc(slices.Clone(list), func(e Entry) bool { return e.IsEmpty(job) })
	var took []time.Duration
	for _, e := range list {
		d.Counts[e.Outcome] += max(e.Count, 1)
		if d.Since.IsZero() || e.Ended.Before(d.Since) {
			d.Since = e.Ended
		}
		if e.Token != 0 && (e.Outcome == wire.Succeeded || e.Outcome == wire.Failed) { // others were cut short
			took = append(took, e.Took())
		}
	}
	slices.Sort(took)
	if d.Runs = len(took); d.Runs > 0 {
		d.Median, d.Longest = took[(len(took)-1)/2], took[len(took)-1]
	}
	d.Outcomes = list[:min(len(list), outcomes)]
}

// definitions returns the fields of each revision of a job that is kept; none where the store keeps
// no journals.
func (f *Fleet) definitions(ctx context.Context, name string) (map[string]map[string]string, error) {
	job, _ := naming.SplitKeyed(name)
	notes, err := f.store.Notes(ctx, wire.DefinitionsOf(job), 0)
	if err != nil {
		return nil, err
	}
	known := make(map[string]map[string]string, len(notes))
	for _, n := range notes {
		if fields, ok := wire.DefinitionFields(n.Text, job); ok {
			known[n.Request] = fields
		}
	}
	return known, nil
}

// Definitions returns the definitions that the replicas of a status have of several jobs, by their
// names, as [Description] has them. A job without any is left out.
func (f *Fleet) Definitions(ctx context.Context, replicas []Replica, names []string) (map[string][]Definition, error) {
	list := make([][]Definition, len(names))
	err := together(ctx, len(names), func(ctx context.Context, i int) error {
		known, err := f.definitions(ctx, names[i])
		d := Description{JobStatus: JobStatus{Name: names[i]}}
		d.define(nil, replicas, known)
		list[i] = d.Definitions
		return err
	})
	if err != nil {
		return nil, err
	}
	by := make(map[string][]Definition, len(names))
	for i, name := range names {
		if len(list[i]) > 0 {
			by[name] = list[i]
		}
	}
	return by, nil
}

// differences returns the fields in which definitions differ, sorted: none where one of them is not
// known.
func differences(list []Definition) (fields []string) {
	all := map[string]bool{}
	for _, def := range list {
		if def.Fields == nil {
			return nil
		}
		for name := range def.Fields {
			all[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if slices.ContainsFunc(list, func(def Definition) bool { return def.Fields[name] != list[0].Fields[name] }) {
			fields = append(fields, name)
		}
	}
	return fields
}
