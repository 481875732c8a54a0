package jobs

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/solotick/solotick/internal/limits"
	"github.com/solotick/solotick/internal/naming"
	"github.com/solotick/solotick/jobs/schedule"
)

// Delivery says what happens to a tick whose holder dies or freezes before it settles.
type Delivery string

const (
	// AtLeastOnce grants the tick again, to any replica, when its lease has run out.
	AtLeastOnce Delivery = "at_least_once"
	// AtMostOnce never grants it again: it is settled as lost.
	AtMostOnce Delivery = "at_most_once"
)

// Overlap says what happens to a tick that comes while an earlier tick of its job still runs
// anywhere in the fleet:
//
//	          the new tick                           the earlier run
//	forbid    is skipped                             goes on
//	allow     runs beside it                         goes on
//	queue     waits, and starts when it has ended    goes on
//	replace   starts when it has ended               is cancelled and settled as replaced
type Overlap string

const (
	// Forbid settles the new tick as skipped. Ticks that are being caught up wait for their turn
	// instead.
	Forbid Overlap = "forbid"
	// Allow runs it beside the earlier one.
	Allow Overlap = "allow"
	// Queue lets it wait, and start at once when the earlier one settles. One tick waits at most:
	// when another comes, the newest waits and the one before it is settled as skipped.
	Queue Overlap = "queue"
	// Replace cancels the earlier one, which is settled as replaced, and then starts the new one. A
	// holder that is dead or frozen delays it until its lease has run out, and no longer.
	Replace Overlap = "replace"
)

// Misfire says what happens to ticks that nobody could start in time.
type Misfire string

const (
	// MisfireSkip runs none of them.
	MisfireSkip Misfire = "skip"
	// MisfireLatest runs the newest only.
	MisfireLatest Misfire = "latest"
	// MisfireAll runs each, oldest first.
	MisfireAll Misfire = "all"
)

// Retry says how often and how soon a failed run is tried again by the same holder, under the same
// lease. A leader task that ends is started again however often it has; Backoff and MaxBackoff are
// the wait before that, and MaxAttempts does not apply.
type Retry struct {
	MaxAttempts int           // runs of one tick in all, at least 1; 1 means no retry
	Backoff     time.Duration // before the first retry; doubled for each further one, with jitter of a half
	MaxBackoff  time.Duration // no wait is longer; at least Backoff
}

// Spec is a job's name, schedule and policies. The zero value of a field is no default: start from
// [Defaults] and change what should differ.
type Spec struct {
	Name string // unique in its namespace; matches [A-Za-z0-9][A-Za-z0-9._-]{0,127}
	// Schedule is a cron expression, a descriptor or an interval, as package schedule reads them.
	// "@triggered" has no ticks: such a job runs when it is triggered, and only then. Misfires and
	// catching up do not concern it. "@stored" has none of its own: the job runs by schedules that
	// lie in the store, and its policies hold for each of them. See [WithSchedules].
	Schedule string
	Timezone string // an IANA name; the empty string means UTC

	// Leader makes the job a task that runs all the time, on the one replica that holds the task's
	// lease. When that replica loses the lease, another one runs the task. Such a task has no ticks
	// of its own, so:
	//
	//	Schedule, Timeout, Jitter, Rate        must be left at their zero values, and Weight at 1
	//	Retry.Backoff, Retry.MaxBackoff        the wait before it is started again after it has ended
	//	Groups, Paused                         as for any job
	//	everything else                        does not apply
	Leader bool

	Timeout time.Duration // the limit of one attempt; 0 means none
	Retry   Retry

	Delivery     Delivery
	MaxTakeovers int // grants of one tick after the first, before it is settled as lost; 0 or more
	Overlap      Overlap

	// MisfireGrace is how late, by fleet time, a tick may start and still be on time. Later it is a
	// misfire, and Misfire decides about it. 0 or more.
	MisfireGrace time.Duration
	Misfire      Misfire
	// Misfires older than CatchUpWindow are settled as missed. So are ticks whose last lease ran
	// out longer ago than this, and two TTLs and 10 s ago at least; 0 or more.
	CatchUpWindow time.Duration
	MaxCatchUp    int // so are the oldest misfires past this many; from 0 to 10,000

	// Jitter shifts each tick's start by a random part of at most this, the same on every replica
	// for one tick. It must be shorter than the time between two ticks, of each schedule if they
	// lie in the store. 0 means none.
	Jitter time.Duration

	// Rate limits how often the job may be triggered by hand; scheduled ticks are not limited, and
	// not counted. The zero Rate is no limit. Burst is how many triggers may come at once after a
	// while without any: from 1 to 1,000,000 with a Rate, and without meaning otherwise.
	//
	//	rate    burst   triggers that are let through
	//	        1       all
	//	1/10m   1       one, and another when 10 minutes have passed
	//	1/10m   3       three, then one each 10 minutes; three again after 30 minutes without any
	//	6/1h    1       the same as 1/10m
	Rate  Rate
	Burst int

	// Weight is how much of its replica's capacity a run takes: see scheduler.WithMaxRuns. From 1
	// to 1,000,000. A run takes it from its start to its end, the waits between its attempts
	// included.
	Weight int `json:",omitempty"`

	// MaxConcurrent is how many runs of the job's stored schedules there may be at one time over the
	// whole fleet, from 1 to 10,000; 0 means no limit. A tick that finds no room waits, and the one
	// that came due first goes first. Such a wait is like that for a replica's capacity: past its
	// grace the tick is a misfire. Jobs without stored schedules have no such limit.
	MaxConcurrent int `json:",omitempty"`

	// History is how many settled ticks of the job the store keeps for people to look at, from
	// 4 to 1,000; 4 is the default of each key of a job with stored schedules. A range of ticks that were settled together counts as one. What
	// runs does not depend on it.
	History int `json:",omitempty"`
	// HistoryBytes is how many bytes of the store they may take. The errors that are kept with them
	// are then cut, so that as many as History says have room. 0 means no other limit than 4 KiB
	// for each. Otherwise it is at most 1 GiB, and at least 512 for each that a store may keep.
	// Those are up to the next power of two, and 16.
	HistoryBytes int `json:",omitempty"`

	Groups []string // only replicas that serve one of these groups run the job; empty means every replica
	Paused bool     // every tick is settled as skipped

	// Definition is whatever else defines the job, such as its command, for [Job.Revision]. Keep
	// secrets out of it.
	Definition string

	// Details are what Definition stands for, by field, for people to compare: see [Job.Fields].
	// They do not belong to the revision. Keep secrets out of them. nil where Definition says it
	// all.
	Details Details `json:"-"`
}

// Defaults returns the policies of a job that asks for nothing else. Name and Schedule are left
// empty.
func Defaults() Spec {
	return Spec{
		Retry:         Retry{MaxAttempts: 1, Backoff: time.Second, MaxBackoff: time.Minute},
		Delivery:      AtLeastOnce,
		MaxTakeovers:  3,
		Overlap:       Forbid,
		MisfireGrace:  10 * time.Second,
		Misfire:       MisfireLatest,
		CatchUpWindow: time.Hour,
		MaxCatchUp:    100,
		Burst:         1,
		Weight:        1,
		History:       128,
	}
}

// Fault is one thing wrong with a [Spec].
type Fault struct {
	Field string // as the configuration file spells it, such as retry.max_attempts
	Value string
	Rule  string
}

func (f *Fault) Error() string { return fmt.Sprintf("%s: %q %s", f.Field, f.Value, f.Rule) }

// Validate returns every fault of s, each a [*Fault], joined; nil when there is none.
func (s Spec) Validate() error {
	_, err := s.check()
	return err
}

func (s Spec) check() (*schedule.Schedule, error) {
	var faults []error
	fault := func(field string, value any, rule string, args ...any) {
		faults = append(faults, &Fault{Field: field, Value: fmt.Sprint(value), Rule: fmt.Sprintf(rule, args...)})
	}
	notNegative := func(field string, value time.Duration) {
		if value < 0 {
			fault(field, value, "must be at least 0s")
		}
	}
	oneOf := func(field, value string, allowed ...string) {
		if !slices.Contains(allowed, value) {
			fault(field, value, "must be one of %s", strings.Join(allowed, ", "))
		}
	}

	if !naming.Valid(s.Name) {
		fault("name", s.Name, naming.Rule)
	}
	if naming.Reserved(s.Name) {
		fault("name", s.Name, naming.ReservedRule)
	}
	zone, zoneErr := time.LoadLocation(s.Timezone)
	if zoneErr != nil || strings.EqualFold(s.Timezone, "local") {
		fault("timezone", s.Timezone, "must be a name of the IANA time zone database, such as Europe/Berlin")
		zone = time.UTC
	}
	var sched *schedule.Schedule
	if s.Leader {
		sched = never
		s.checkLeader(fault)
	} else {
		var err error
		if sched, err = schedule.Parse(s.Schedule, zone, s.Name); err != nil {
			fault("schedule", s.Schedule, "%v", err)
		}
	}

	notNegative("timeout", s.Timeout)
	if s.Retry.MaxAttempts < 1 {
		fault("retry.max_attempts", s.Retry.MaxAttempts, "must be at least 1")
	}
	notNegative("retry.backoff", s.Retry.Backoff)
	if s.Retry.MaxBackoff < s.Retry.Backoff {
		fault("retry.max_backoff", s.Retry.MaxBackoff, "must be at least retry.backoff, %s", s.Retry.Backoff)
	}
	oneOf("delivery", string(s.Delivery), string(AtLeastOnce), string(AtMostOnce))
	if s.MaxTakeovers < 0 {
		fault("max_takeovers", s.MaxTakeovers, "must be at least 0")
	}
	oneOf("overlap", string(s.Overlap), string(Forbid), string(Allow), string(Queue), string(Replace))
	notNegative("misfire_grace", s.MisfireGrace)
	oneOf("misfire", string(s.Misfire), string(MisfireSkip), string(MisfireLatest), string(MisfireAll))
	notNegative("catch_up_window", s.CatchUpWindow)
	if s.MaxCatchUp < 0 || s.MaxCatchUp > limits.MaxCatchUp {
		fault("max_catch_up", s.MaxCatchUp, "must be from 0 to %d", limits.MaxCatchUp)
	}
	notNegative("jitter", s.Jitter)
	switch {
	case s.Leader || s.Jitter <= 0 || sched == nil:
	case sched.Empty() && !sched.Stored():
		fault("jitter", s.Jitter, "must be left out of a job that only triggers run: it has no ticks to shift")
	case s.Jitter >= sched.MinInterval():
		fault("jitter", s.Jitter, "must be shorter than the time between two ticks, %s", sched.MinInterval())
	}
	if !s.Leader && !s.Rate.IsZero() && !s.Rate.valid() {
		fault("rate", s.Rate, "%s", rateRule)
	}
	if s.Burst < 0 || s.Burst > maxBurst || s.Burst == 0 && !s.Rate.IsZero() {
		fault("burst", s.Burst, "must be from 1 to %d", maxBurst)
	}
	if s.Weight < 1 || s.Weight > limits.MaxWeight {
		fault("weight", s.Weight, "must be from 1 to %d", limits.MaxWeight)
	}
	if stored := sched != nil && sched.Stored(); s.MaxConcurrent != 0 && !stored {
		fault("max_concurrent", s.MaxConcurrent, "must be left out of a job without stored schedules")
	} else if s.MaxConcurrent < 0 || s.MaxConcurrent > limits.MaxConcurrent {
		fault("max_concurrent", s.MaxConcurrent, "must be from 1 to %d, or 0 for no limit", limits.MaxConcurrent)
	}
	if s.History < limits.MinHistory || s.History > limits.MaxHistory {
		fault("history", s.History, "must be from %d to %d", limits.MinHistory, limits.MaxHistory)
	}
	if least := limits.MinOutcome * limits.Outcomes(s.History); s.HistoryBytes != 0 && (s.HistoryBytes < least || s.HistoryBytes > limits.MaxHistoryBytes) {
		fault("history_bytes", s.HistoryBytes, "must be 0, or from %d with a history of %d to %d", least, s.History, limits.MaxHistoryBytes)
	}
	for i, g := range s.Groups {
		if !naming.Valid(g) {
			fault(fmt.Sprintf("groups[%d]", i), g, naming.Rule)
		}
	}
	return sched, errors.Join(faults...)
}

// never is the schedule of a leader task: it has no ticks.
var never = func() *schedule.Schedule {
	s, err := schedule.Parse("@triggered", time.UTC, "")
	if err != nil {
		panic(err)
	}
	return s
}()

// checkLeader reports the fields that a leader task must not have: they would have no effect, or
// end the task.
func (s Spec) checkLeader(fault func(field string, value any, rule string, args ...any)) {
	const remove = "must be left out of a leader task: "
	if s.Schedule != "" {
		fault("schedule", s.Schedule, remove+"it runs all the time")
	}
	if s.Timeout > 0 {
		fault("timeout", s.Timeout, remove+"it runs until it ends or its lease is lost")
	}
	if s.Jitter > 0 {
		fault("jitter", s.Jitter, remove+"it has no ticks to shift")
	}
	if s.Weight > 1 {
		fault("weight", s.Weight, remove+"it does not count against max_runs")
	}
	if !s.Rate.IsZero() {
		fault("rate", s.Rate, remove+"it is not triggered")
	}
}
