package plan

import (
	"reflect"
	"strings"
	"time"

	"github.com/solotick/solotick/jobs"
)

// Definition is a job as this replica knows it. It is never changed, only replaced.
type Definition struct {
	Job   *jobs.Job
	Spec  *jobs.Spec // what decides about its ticks and runs; nothing that names or describes it
	ticks *Ticks

	KnownSince *time.Time // since when this replica has it
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
