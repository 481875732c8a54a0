package fleet

import (
	"context"
	"slices"
	"time"

	"github.com/solotick/solotick/internal/heartbeat"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
)

// Explanation says what became of a tick, and why.
type Explanation struct {
	Job  string    `api:"job"`
	Tick time.Time `api:"tick"` // in the job's time zone; zero when the job has none
	ID   string    `api:"id"`   // as jobs.Run.TickID
	// Verdict is the word for the fate of the tick: an outcome, a state as in [Entry], or one of
	// these:
	//
	//	not_scheduled the schedule has no such tick, and nobody triggered it
	//	future        its time has not come
	//	undecided     its time has come, and nobody has decided about it
	//	not_kept      it was decided, and how is not known any more
	//	no_tick       the job has none at all
	Verdict string `api:"verdict"`
	// Text has sentences about the tick, in which times of its day stand without their date. The
	// lines of a failed run's error after the first follow, indented; they may hold any character.
	Text string `api:"text"`
	// Policy is the one that decided about a tick which did not run, as a configuration writes it.
	// Remedy is the change that would have made it run. Both are "" where that is not known, or it
	// ran.
	Policy string `api:"policy"`
	Remedy string `api:"remedy"`
	Entry  *Entry `api:"entry"` // what the store has of the tick; nil when it has nothing
	Facts  []Fact `api:"facts"` // what journals hold about the tick, or about its time, newest first
}

// question is all that an [Explanation] depends on.
type question struct {
	Namespace string
	Record    protocol.Record
	Job       *jobs.Job // nil when its definition is not known: then any whole second counts as one of its ticks
	Replicas  []Replica // that live
	Tick      time.Time // zero for the oldest that is due and undecided, or else the newest that was decided
	Now       time.Time // fleet time
	Since     time.Time // since when the store remembers the fleet

	Facts, FleetFacts []Fact    // of the journals of the job and of the fleet, newest first; none where the store keeps none
	Former            []Replica // that are gone, the newest heartbeat first

	said // makes the sentences
}

// Why explains what became of a tick of a job. job may be nil when only replicas know its
// definition. A zero tick means the oldest that is due and undecided, or else the newest that was
// decided, or else the next.
//
// The sentences are English, or as translate has them. It returns the format, as of package fmt,
// that stands for an English one; its verbs may change places, as in "%[2]s %[1]s". What it returns
// "" for stays English.
func (f *Fleet) Why(
	ctx context.Context, name string, job *jobs.Job, tick time.Time, translate ...func(english string) string,
) (Explanation, error) {
	r, err := f.inspect(ctx, name)
	if err != nil {
		return Explanation{}, err
	}
	q := question{Namespace: f.namespace, Record: r, Job: job, Tick: tick, said: said{append(translate, nil)[0]}}
	if q.Now, q.Since, err = f.store.Time(ctx); err != nil {
		return Explanation{}, err
	}
	if q.Replicas, err = f.Replicas(ctx); err != nil {
		return Explanation{}, err
	}
	if err := f.evidence(ctx, name, &q); err != nil {
		return Explanation{}, err
	}
	return explain(q), nil
}

// evidence adds to q what the store keeps besides the record.
func (f *Fleet) evidence(ctx context.Context, name string, q *question) (err error) {
	if q.Facts, err = f.Facts(ctx, name); err == nil {
		q.FleetFacts, err = f.Facts(ctx, "")
	}
	if err == nil {
		q.Former, err = f.FormerReplicas(ctx)
	}
	return err
}

// explain answers q. It is a pure function.
func explain(q question) Explanation {
	r := reasoner{question: q, list: failingOf(q.Replicas).mark(annotate(entries(q.Namespace, q.Record), q.Facts), q.Now), zone: time.UTC}
	if q.Job != nil {
		r.zone = q.Job.Schedule().Location()
	}
	tick := q.Tick
	if tick.IsZero() && (q.Job == nil || !q.Job.Spec().Leader) {
		tick = r.choose()
	}
	r.tick = tick.In(r.zone)
	e := Explanation{Job: q.Record.Name, Tick: r.tick}
	if tick.IsZero() {
		e.Tick, e.Verdict, e.Text = time.Time{}, wire.NoTick, r.noTick()
		return e
	}
	e.ID = jobs.Run{Namespace: q.Namespace, Job: e.Job, Tick: tick}.TickID()
	if found, ok := find(r.list, tick.UnixMilli()); ok && (!found.IsRange() || r.scheduled(tick)) {
		e.Entry = &found
		e.Verdict, e.Text = r.entry(found)
	} else {
		e.Verdict, e.Text = r.absent()
		e.Text += r.clockChange()
	}
	e.Text = withSentence(e.Text, r.watermark())
	e.Policy, e.Remedy = r.decision(e)
	e.Facts = r.about(e.Entry)
	return e
}

// about returns the facts about the tick, or about its time.
func (r *reasoner) about(e *Entry) (list []Fact) {
	until := r.tick
	if e != nil && e.State == wire.StateSettled && e.Ended.After(until) {
		until = e.Ended
	}
	for _, f := range slices.Concat(r.Facts, r.FleetFacts) {
		if f.Kind == wire.FactForgotten {
			if f.Job == r.Record.Name && r.tick.Before(f.At) {
				list = append(list, f)
			}
			continue
		}
		began, ended := f.From, f.To
		if ended.IsZero() {
			ended = r.Now
		}
		if f.Kind == wire.FactEdited {
			ended = began
		}
		if again := f.Kind == wire.FactTriggered && f.From.Equal(r.tick); again || f.Tick.Equal(r.tick) || f.Tick.IsZero() && f.Kind != wire.FactTakeover && !began.After(until) && !ended.Before(r.tick) {
			list = append(list, f)
		}
	}
	return list
}

type reasoner struct {
	question
	list []Entry
	zone *time.Location // of the times shown
	tick time.Time
}

// choose returns the tick to explain when none was named.
func (r *reasoner) choose() time.Time {
	if r.Job != nil && r.Record.Watermark != 0 {
		if due := r.Job.Schedule().Next(time.UnixMilli(r.Record.Watermark)); !due.IsZero() && !due.After(r.Now) {
			return due
		}
	}
	var newest time.Time
	for _, e := range r.list {
		at := e.Scheduled
		if e.IsRange() && r.Job != nil {
			at = r.Job.Schedule().Before(at.Add(time.Millisecond)) // the range may end between two ticks
		}
		if at.After(newest) {
			newest = at
		}
	}
	if newest.IsZero() && r.Job != nil {
		newest = r.Job.Schedule().Next(r.Now)
	}
	return newest
}

func (r *reasoner) noTick() string {
	if r.Job != nil && r.Job.Spec().Leader {
		return r.Say("It is a leader task, which runs all the time and has no ticks.") + r.Say(" %s", r.leading())
	}
	if r.Job != nil && r.Job.Schedule().Stored() {
		return r.Say("It has no ticks of its own: its schedules lie in the store, and each has its own.")
	}
	return r.Say("It has no tick that is due or to come, and none that was decided is in its history.")
}

// leading says which replica runs a leader task.
func (r *reasoner) leading() string {
	for _, e := range r.list {
		switch e.State {
		case wire.StateRunning:
			return r.Say("It runs on %s since %s: token %d. Its lease lasts another %s unless it is renewed.",
				e.Replica, r.when(e.Started), e.Token, rough(e.Remaining)) + r.failing(e) + r.formerLeaders()
		case wire.StateRetrying:
			return r.Say("It leads on %s since %s, and is started again at %s: token %d.",
				e.Replica, r.when(e.Started), r.when(e.Failing.Next), e.Token) + r.failing(e) + r.formerLeaders()
		}
	}
	switch {
	case r.Record.Paused != nil:
		return r.Say("It does not run, since it is paused: %s.", r.pause(*r.Record.Paused))
	case r.Job.Spec().Paused:
		return r.Say("It does not run, since the configuration pauses it.")
	}
	return r.Say("No replica runs it now. %s", r.service()) + r.formerLeaders()
}

// scheduled reports whether the schedule has a tick, as far as that is known.
func (r *reasoner) scheduled(tick time.Time) bool {
	if r.Job == nil {
		return !byHand(tick.UnixMilli())
	}
	return r.Job.Schedule().Next(tick.Add(-time.Nanosecond)).Equal(tick)
}

// absent explains a tick of which the store has nothing.
func (r *reasoner) absent() (string, string) {
	switch tick := r.tick; {
	case !r.scheduled(tick):
		return wire.NotScheduled, r.notScheduled()
	case tick.After(r.Now):
		text := r.Say("Its time has not come: it is due in %s.", rough(tick.Sub(r.Now)))
		return wire.Future, text + r.hindrance()
	case tick.UnixMilli() > r.Record.Watermark:
		return wire.Undecided, r.undecided()
	default:
		return wire.NotKept, r.notKept()
	}
}

func (r *reasoner) notScheduled() string {
	if r.Job == nil {
		return r.Say("No such tick was triggered: those of schedules are whole seconds.")
	}
	if r.Job.Spec().Leader {
		return r.Say("It is a leader task, which runs all the time and has no ticks.")
	}
	text := r.Say("The schedule %q has no such tick, and nobody triggered it.", r.Job.Schedule())
	earlier, later := r.Job.Schedule().Before(r.tick), r.Job.Schedule().Next(r.tick)
	switch {
	case !earlier.IsZero() && !later.IsZero():
		text += r.Say(" The ticks around it are %s and %s.", r.at(earlier), r.at(later))
	case !later.IsZero():
		text += r.Say(" Its first one is %s.", r.at(later))
	case !earlier.IsZero():
		text += r.Say(" Its last one was %s.", r.at(earlier))
	}
	return text
}

// hindrance warns of what a future tick will meet.
func (r *reasoner) hindrance() string {
	switch {
	case r.Record.Paused != nil:
		return r.Say(" It will be skipped unless the job is resumed before: %s.", r.pause(*r.Record.Paused))
	case r.Job != nil && r.Job.Spec().Paused:
		return r.Say(" It will be skipped, since the configuration pauses the job.")
	}
	if _, unserved, _ := serviceOf(r.Replicas).Of(r.Record.Name); unserved {
		return r.Say(" %s", r.service())
	}
	return ""
}

func (r *reasoner) undecided() string {
	late := r.Now.Sub(r.tick)
	serving, unserved, _ := serviceOf(r.Replicas).Of(r.Record.Name)
	head := r.Say("It was due %s ago, and nobody has decided about it yet. ", rough(late))
	switch {
	case r.Record.Watermark == 0 && len(serving) == 0:
		return head + r.Say("No replica has ever contended for this job in this namespace, as far as Redis remembers, which is since %s. %s",
			r.at(r.Since), r.service())
	case unserved:
		return head + r.service() + r.Say(" When one comes, the job's misfire policy decides.")
	case r.Job != nil && late <= r.Job.Spec().Jitter:
		return head + r.Say("The job's jitter shifts its start by up to %s.", r.Job.Spec().Jitter)
	}
	for _, e := range r.inTurn() {
		if e.State != wire.StateSettled {
			return head + r.Say("It waits for its turn behind the tick of %s, which %s.", r.at(e.Scheduled), r.doing(e))
		}
	}
	if text := r.full(); text != "" {
		return head + text
	}
	switch {
	case r.Record.Watermark == 0:
		return head + r.Say("Redis has no record of this job, and remembers since %s. %s", r.at(r.Since), r.service())
	case late <= slack:
		return head + r.service()
	case r.held(serving):
		return head + r.service() + r.Say(" They claim nothing now, because they do not trust the clock of Redis: see doctor.")
	default:
		return head + r.service() + r.Say(" It should have been claimed: see whether those replicas reach Redis, and what they log.")
	}
}

// held reports whether all of these replicas hold their claims.
func (r *reasoner) held(serving []string) bool {
	for _, other := range r.Replicas {
		if slices.Contains(serving, other.ID) && (other.Clock == "" || other.Clock == heartbeat.ClockTrusted) {
			return false
		}
	}
	return len(serving) > 0
}

// full says that no replica which serves the job has room for it, if that is so by their
// heartbeats.
func (r *reasoner) full() string {
	weight := 1
	if r.Job != nil {
		weight = r.Job.Spec().Weight
	}
	var uses []string
	fits := false
	for _, p := range r.Replicas {
		serves, known := p.serves(r.Record.Name)
		switch {
		case !known, serves && !p.Stopping && p.HasRoom(weight):
			return ""
		case serves && !p.Stopping:
			uses = append(uses, r.Say("%s runs %d of %d", p.ID, p.Used, p.MaxRuns))
			fits = fits || p.Fits(weight)
		}
	}
	switch {
	case len(uses) == 0:
		return ""
	case !fits:
		return r.Say("Its weight, %d, is above the max_runs of every replica that serves it: %s.", weight, r.these(uses))
	}
	return r.Say("It waits for room, since its weight is %d: %s.", weight, r.these(uses))
}

// service says who would run the job.
func (r *reasoner) service() string {
	serving, unserved, _ := serviceOf(r.Replicas).Of(r.Record.Name)
	switch {
	case len(r.Replicas) == 0:
		return r.Say("No replica is alive.") + r.lastOf()
	case unserved:
		return r.Say("None of the live replicas (%s) serves this job.", r.these(ids(r.Replicas))) + r.lastOf()
	case len(serving) == 0:
		return r.Say("Which replicas serve this job is not known.")
	case len(serving) == 1:
		return r.Say("%s serves it.", serving[0])
	default:
		return r.Say("%s serve it.", r.these(serving))
	}
}

// notKept explains a tick that the watermark has passed, and that is not in the history.
func (r *reasoner) notKept() string {
	for _, f := range r.FleetFacts {
		if f.Kind == wire.FactForgotten && f.Job == r.Record.Name && r.tick.Before(f.At) {
			return r.Say("What the fleet had kept of this job until then, %s has removed at %s.", f.By, r.when(f.At))
		}
	}
	settled := r.Record.Settled
	if len(settled) == 0 {
		return r.Say("It was decided, or passed over when the fleet began to keep the record of this job; the history holds nothing yet.")
	}
	oldest := settled[0].At
	if text := r.passedOver(); text != "" && (!r.tick.Before(oldest) || oldest.After(r.Now)) {
		return text
	}
	switch {
	case len(settled) >= r.Record.Policy.Kept() && r.tick.Before(oldest):
		return r.Say("It was decided, and the history does not go back so far: it holds the last %d outcomes, since %s.",
			len(settled), r.at(oldest))
	case r.tick.Before(oldest):
		return r.Say("It was decided, or passed over when the fleet began to keep the record of this job; the first outcome in its history is of %s.",
			r.at(oldest))
	default:
		return r.Say("It was decided, but its outcome is not in the history: Redis has lost it, in a failover or a restart. Redis remembers since %s.",
			r.at(r.Since))
	}
}
