package jobs

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/solotick/solotick/internal/limits"
	"github.com/solotick/solotick/internal/naming"
	"github.com/solotick/solotick/jobs/schedule"
)

// Job is a named piece of work with a schedule and policies. It is immutable and safe for
// concurrent use.
type Job struct {
	spec     Spec
	schedule *schedule.Schedule
	handler  Handler
	base     *Job // what WithKey was called on; nil otherwise
}

// Option changes one policy of a job from its default; see the fields of [Spec] for meaning, unit
// and range.
type Option func(*Spec)

// WithTimezone evaluates the schedule in an IANA time zone instead of UTC.
func WithTimezone(name string) Option { return func(s *Spec) { s.Timezone = name } }

// WithTimeout limits each attempt; a retry has all of it again.
func WithTimeout(d time.Duration) Option { return func(s *Spec) { s.Timeout = d } }

// WithRetry tries a failed run again under the same lease.
func WithRetry(r Retry) Option { return func(s *Spec) { s.Retry = r } }

// WithDelivery sets what happens when the holder dies.
func WithDelivery(d Delivery) Option { return func(s *Spec) { s.Delivery = d } }

// WithMaxConcurrent bounds the runs of a job with stored schedules over the fleet.
func WithMaxConcurrent(n int) Option { return func(s *Spec) { s.MaxConcurrent = n } }

// WithMaxTakeovers bounds the grants of one tick after the first.
func WithMaxTakeovers(n int) Option { return func(s *Spec) { s.MaxTakeovers = n } }

// WithOverlap sets what happens while an earlier tick still runs.
func WithOverlap(o Overlap) Option { return func(s *Spec) { s.Overlap = o } }

// WithMisfire sets what happens to ticks that start later than grace.
func WithMisfire(m Misfire, grace time.Duration) Option {
	return func(s *Spec) { s.Misfire, s.MisfireGrace = m, grace }
}

// WithCatchUp runs at most n misfires, and none older than window.
func WithCatchUp(window time.Duration, n int) Option {
	return func(s *Spec) { s.CatchUpWindow, s.MaxCatchUp = window, n }
}

// WithJitter spreads the starts of ticks. Run.Tick stays the same.
func WithJitter(d time.Duration) Option { return func(s *Spec) { s.Jitter = d } }

// WithRate limits how often the job may be triggered by hand, with burst triggers at once.
// Scheduled ticks are not limited.
func WithRate(r Rate, burst int) Option { return func(s *Spec) { s.Rate, s.Burst = r, burst } }

// WithWeight sets how much of a replica's capacity a run takes: [Spec].Weight.
func WithWeight(n int) Option { return func(s *Spec) { s.Weight = n } }

// WithHistory sets how many settled ticks the store keeps. See [Spec].History.
func WithHistory(n int) Option { return func(s *Spec) { s.History = n } }

// WithLeader makes the job a task that runs all the time on one replica; its schedule must be "".
// See [Spec].Leader.
func WithLeader() Option { return func(s *Spec) { s.Leader = true } }

// WithSchedules makes the job run by schedules that lie in the store, one for each key: see package
// schedules. Pass "" or "@stored" as the schedule of such a job. Each key keeps 4 settled ticks, unless
// [WithHistory] comes after it.
func WithSchedules() Option {
	return func(s *Spec) { s.Schedule, s.History = stored, limits.MinHistory }
}

const stored = "@stored"

// WithGroups lets only replicas of one of these groups run the job.
func WithGroups(groups ...string) Option { return func(s *Spec) { s.Groups = groups } }

// New makes a job with the default policies, changed by options. The error joins every fault of the
// result.
func New(name, schedule string, handler Handler, options ...Option) (*Job, error) {
	spec := Defaults()
	spec.Name, spec.Schedule = name, schedule
	var faults []error
	for i, option := range options {
		if option == nil {
			faults = append(faults, &Fault{Field: fmt.Sprintf("options[%d]", i), Value: "nil", Rule: "must be an option"})
			continue
		}
		option(&spec)
	}
	if spec.Schedule == stored && schedule != "" && !strings.EqualFold(strings.TrimSpace(schedule), stored) {
		faults = append(faults, &Fault{Field: "schedule", Value: schedule,
			Rule: `must be "" or "@stored": with jobs.WithSchedules, the job runs by schedules that lie in the store`})
	}
	return fromSpec(spec, handler, faults...)
}

// FromSpec makes a job from a complete [Spec]. The error joins every fault of the spec.
func FromSpec(spec Spec, handler Handler) (*Job, error) { return fromSpec(spec, handler) }

func fromSpec(spec Spec, handler Handler, faults ...error) (*Job, error) {
	sched, err := spec.check()
	err = errors.Join(append(faults, err)...)
	if handler == nil {
		err = errors.Join(err, errors.New("handler: nil, must be a function"))
	}
	if err != nil {
		return nil, fmt.Errorf("job %q: %w", spec.Name, err)
	}
	spec.Groups, spec.Details = slices.Clone(spec.Groups), maps.Clone(spec.Details)
	return &Job{spec: spec, schedule: sched, handler: handler}, nil
}

// WithKey returns the job as it runs for one of its schedules that lie in the store: it is named
// JOB/KEY and has that schedule, and the handler and the policies of j. It shares the rest with j,
// so that it costs no more than two small allocations. Its Revision is that of j.
func (j *Job) WithKey(key string, s *schedule.Schedule) *Job {
	keyed := &Job{spec: j.spec, schedule: s, handler: j.handler, base: j}
	keyed.spec.Name = naming.Keyed(j.spec.Name, key)
	keyed.spec.Schedule, keyed.spec.Timezone = s.String(), s.Location().String()
	return keyed
}

// Spec returns a copy of the job's specification.
func (j *Job) Spec() Spec {
	spec := j.spec
	spec.Groups, spec.Details = slices.Clone(spec.Groups), maps.Clone(spec.Details)
	return spec
}

// Name returns the job's name. If [Job.WithKey] made the job, that is JOB/KEY.
func (j *Job) Name() string { return j.spec.Name }

// Schedule returns the job's parsed schedule. It is never nil: that of a leader task has no ticks.
func (j *Job) Schedule() *schedule.Schedule { return j.schedule }

// Handler returns the function that does the job's work.
func (j *Job) Handler() Handler { return j.handler }
