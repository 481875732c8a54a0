package scheduler

import (
	"reflect"
	"strings"
	"time"

	"github.com/solotick/solotick/jobs"
)

// definition is a job as this replica knows it. It is never changed, only replaced.
type definition struct {
	job   *jobs.Job
	spec  *jobs.Spec // what decides about its ticks and runs; nothing that names or describes it
	ticks *ticks

	knownSince *time.Time // since when this replica has it
}

// common holds the parts of definitions that many jobs of a replica share: thousands of jobs have a
// few policies and schedules. The zero value has none.
type common struct {
	began *time.Time
	specs []*jobs.Spec
	ticks map[string]*ticks // by time zone and schedule
}

// mostSpecs bounds those that are compared with each job.
const mostSpecs = 8

func (k *common) define(job *jobs.Job) *definition {
	if k.began == nil {
		now := time.Now()
		k.began = &now
	}
	return &definition{job: job, spec: k.specOf(job), ticks: k.ticksOf(job), knownSince: k.began}
}

func (k *common) specOf(job *jobs.Job) *jobs.Spec {
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

func (k *common) ticksOf(job *jobs.Job) *ticks {
	t := &ticks{schedule: job.Schedule()}
	text := t.schedule.Location().String() + " " + t.schedule.String()
	if strings.Contains(text, "H") { // which stands for what follows from the job's name
		return t
	}
	if known := k.ticks[text]; known != nil {
		return known
	}
	if k.ticks == nil {
		k.ticks = make(map[string]*ticks)
	}
	k.ticks[text] = t
	return t
}
