package plan

import (
	"reflect"
	"strings"
	"sync/atomic"
	"time"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/jobs/schedule"
)

// Ticks are the ticks of a schedule. Jobs that share a schedule mostly ask for the same tick, so it
// remembers the last answer.
type Ticks struct {
	schedule *schedule.Schedule
	last     atomic.Pointer[successor]
}

// successor is a time and the first tick after it, or 0 if there is none.
type successor struct{ after, tick int64 }

func (t *Ticks) next(after int64) int64 {
	if last := t.last.Load(); last != nil && last.after == after {
		return last.tick
	}
	s := &successor{after: after}
	if next := t.schedule.Next(time.UnixMilli(after)); !next.IsZero() {
		s.tick = next.UnixMilli()
	}
	t.last.Store(s)
	return s.tick
}

// TickAfter returns the first tick after a time, or 0 if there is none. If a stored schedule was changed,
// what was due before is of the one before.
func (d *Definition) TickAfter(after int64) int64 {
	for i, e := range d.before[:max(0, len(d.before)-1)] {
		end := d.before[i+1].since
		if after < end && e.schedule != nil {
			if t := wire.UnixMilli(e.schedule.Next(time.UnixMilli(after))); t != 0 && d.Due(t) <= end {
				return t
			}
		}
		after = max(after, end)
	}
	return d.ticks.next(after)
}

// Due returns when a tick is to start: its time plus its jitter.
func (d *Definition) Due(tick int64) int64 { return wire.Due(d.Job.Name(), tick, d.Spec.Jitter) }

// LastDue returns the newest tick such that it and all before it were due at then, jitter included.
func (d *Definition) LastDue(then int64) int64 {
	last := then - d.Spec.Jitter.Milliseconds()
	for t := d.TickAfter(last); t != 0 && d.Due(t) <= then; t = d.TickAfter(t) {
		last = t
	}
	return last
}

// InTurn reports whether a tick of the job must wait for an earlier one that runs.
func (d *Definition) InTurn() bool {
	return d.Spec.Overlap == jobs.Forbid || d.Spec.Overlap == jobs.Queue
}

// Definition is a job as this replica knows it. It is never changed, only replaced.
type Definition struct {
	Job   *jobs.Job
	Spec  *jobs.Spec // what decides about its ticks and runs; nothing that names or describes it
	ticks *Ticks
	// Stored is the revision of the schedule, if it lies in the store and the job is that of its key; else
	// it is empty.
	Stored string
	before Editions // of a stored schedule that was changed: with the present one

	KnownSince *time.Time // since when this replica has it
}

// WithKey returns the definition of the job for one of its schedules that lie in the store.
func (d *Definition) WithKey(key string, s *schedule.Schedule, r *protocol.Record) *Definition {
	keyed := &Definition{Job: d.Job.WithKey(key, s), Spec: d.Spec, ticks: &Ticks{schedule: s}, Stored: r.Revision, KnownSince: d.KnownSince}
	if n := len(r.Schedules); n > 1 && !s.Empty() {
		keyed.before = append(ReadEditions(r.Name, r.Schedules), edition{since: r.Schedules[n-1].Since.UnixMilli()})
	}
	return keyed
}

// NextDue returns when the first tick after a time is due, for the record of a stored schedule; 0 if
// there is none, and for any other job.
func (d *Definition) NextDue(after int64) int64 {
	if d.Stored == "" {
		return 0
	}
	if next := d.TickAfter(after); next != 0 {
		return d.Due(next)
	}
	return 0
}

// Common holds the parts of definitions that many jobs share: thousands of jobs have only a few
// policies and schedules. The zero value is empty.
type Common struct {
	began *time.Time
	specs []*jobs.Spec
	ticks map[string]*Ticks // by time zone and schedule
}

// mostSpecs bounds how many specs are compared with each new job.
const mostSpecs = 8

// Define returns the definition of a job.
func (k *Common) Define(job *jobs.Job) *Definition {
	if k.began == nil {
		now := time.Now()
		k.began = &now
	}
	return &Definition{Job: job, Spec: k.specOf(job), ticks: k.ticksOf(job), KnownSince: k.began}
}

func (k *Common) specOf(job *jobs.Job) *jobs.Spec {
	spec := job.Spec()
	spec.Name, spec.Schedule, spec.Timezone, spec.Groups, spec.Definition, spec.Details = "", "", "", nil, "", nil
	for _, s := range k.specs {
		if reflect.DeepEqual(*s, spec) {
			return s
		}
	}
	if len(k.specs) < mostSpecs {
		k.specs = append(k.specs, &spec)
	}
	return &spec
}

func (k *Common) ticksOf(job *jobs.Job) *Ticks {
	t := &Ticks{schedule: job.Schedule()}
	text := t.schedule.Location().String() + " " + t.schedule.String()
	if strings.Contains(text, "H") { // which stands for what follows from the job's name
		return t
	}
	if known := k.ticks[text]; known != nil {
		return known
	}
	if k.ticks == nil {
		k.ticks = make(map[string]*Ticks)
	}
	k.ticks[text] = t
	return t
}
