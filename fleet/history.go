package fleet

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease"
)

// Entry is a tick in a job's history, or a range of ticks that were settled together.
type Entry struct {
	Job       string    `api:"job"`
	ID        string    `api:"id"`        // as jobs.Run.TickID; of a range, that of its end
	Scheduled time.Time `api:"scheduled"` // of a range, its end; zero for a plain lock, which has no time
	From      time.Time `api:"from"`      // the range begins after it; zero for one tick
	Count     int       `api:"count"`     // ticks in the range, where the replica that settled it counted them; otherwise 0. 1 for one tick
	Triggered bool      `api:"triggered"` // asked for by hand, not by the schedule
	// State is one of five. A tick is running while a replica runs it, and retrying while that
	// waits to make the next attempt: see Failing. It is waiting for its place, or to be claimed
	// after a trigger. It is free when it was given up, or its lease ran out: the next replica that
	// claims it runs it. Otherwise it is settled.
	State   string        `api:"state"`
	Outcome lease.Outcome `api:"outcome"` // empty unless settled
	// Started is when the last run began, by fleet time. Where its replica did not report it, it is
	// when the tick was granted. Zero when it never ran.
	Started     time.Time     `api:"started"`
	Ended       time.Time     `api:"ended"`        // when the run ended; where none did, when it was settled; zero while it is not
	SettledAt   time.Time     `api:"-"`            // when the outcome was recorded, by the store's clock; zero unless settled
	Replica     string        `api:"replica"`      // that runs or settled it; of one that waits, who asked for it
	Remaining   time.Duration `api:"left_ms"`      // of the lease of one that runs, unless it is renewed
	Token       int64         `api:"token"`        // 0 when it was never granted
	Attempts    int           `api:"attempt"`      // runs so far, across retries and takeovers; 0 when it was never granted
	CancelledBy string        `api:"cancelled_by"` // who cancelled it; the state says whether it has ended for that
	Reason      string        `api:"reason"`       // why there was no run, or why it ended, in a word: those of package scheduler
	Error       string        `api:"error"`        // what the last run, or the last attempt of an open one, failed with, shortened

	// Failing says of a tick that a replica holds that its newest attempts failed, and when the
	// next one begins. It is nil when none did, and when the replica does not say.
	Failing *FailingRun `api:"failing"`

	// Checkpoint is how far an open tick has come; nil if none of its runs has said so.
	Checkpoint *Checkpoint `api:"checkpoint"`

	// Runs are the runs of the tick, first to last, those of earlier holders as far as the last one
	// or the job's journal knows them: none of a tick that was never granted, nor of a range.
	Runs []Run `api:"runs"`

	// By the job's journal: who triggered it first, with which key and why, why it was cancelled,
	// and who held it before Replica did, first to last. Empty where that is not known.
	TriggeredBy   string `api:"triggered_by"`
	Key           string `api:"trigger_key"`
	TriggerReason string `api:"trigger_reason"`
	// Again is the tick that it runs again, and RunAgain are those that run it again, newest first.
	Again        time.Time   `api:"again"`
	RunAgain     []time.Time `api:"run_again"`
	CancelReason string      `api:"cancel_reason"`
	Payload      int         `api:"payload_bytes"` // how many bytes it was triggered with; what they are is not shown
	Holders      []Holder    `api:"former_holders"`
}

// Checkpoint is how far a run has come, and since when the next attempt would go on from there.
type Checkpoint struct {
	At       time.Time `api:"at"`             // when it was written, by the store's clock
	Percent  int       `api:"percent"`        // of the work that is done
	Text     string    `api:"text"`           // what it is doing
	Position int       `api:"position_bytes"` // how many bytes its position has; what they are is not shown
	Revision string    `api:"revision"`       // of the job as it was then
}

// Took is from the start of the last run to its end; 0 when it did not run, or has not ended.
func (e Entry) Took() time.Duration {
	if e.Started.IsZero() || e.Ended.IsZero() {
		return 0
	}
	return max(0, e.Ended.Sub(e.Started))
}

// Moment is the time by which people look for e. It is that of its tick, or the end of a run that
// has none, as of a leader task.
func (e Entry) Moment() time.Time {
	if e.Scheduled.IsZero() {
		return e.Ended
	}
	return e.Scheduled
}

// IsRange reports whether e stands for all ticks after From up to Scheduled that were undecided
// then.
func (e Entry) IsRange() bool { return !e.From.IsZero() }

// IsEmpty reports whether e is a range in which job has no tick: who resumes a job settles whatever
// came due meanwhile, without knowing the schedule.
func (e Entry) IsEmpty(job *jobs.Job) bool {
	return job != nil && e.IsRange() && e.Count == 0 && (job.Spec().Leader || !inRange(job, e))
}

func inRange(job *jobs.Job, e Entry) bool {
	next := job.Schedule().Next(e.From)
	return !next.IsZero() && !next.After(e.Scheduled)
}

// History returns the ticks of a job: first those that are open, then the n newest that were
// settled, each newest tick first. Those that were settled more than 30 days ago are left out. n
// below 1 means all that the store keeps, as many as the job's history says. There are none for a
// job that nobody has contended for.
func (f *Fleet) History(ctx context.Context, job string, n int) ([]Entry, error) {
	r, err := f.store.Inspect(ctx, job)
	if err != nil {
		return nil, err
	}
	now, _, err := f.store.Time(ctx)
	if err != nil {
		return nil, err
	}
	facts, err := f.Facts(ctx, job)
	if err != nil {
		return nil, err
	}
	list, err := f.marked(ctx, r, f.history(r, facts, now), now)
	if err != nil {
		return nil, err
	}
	if n >= 1 {
		list = list[:min(len(list), len(r.Open)+n)]
	}
	return list, nil
}

// marked marks the open ticks of a record, which come first.
func (f *Fleet) marked(ctx context.Context, r protocol.Record, list []Entry, now time.Time) ([]Entry, error) {
	if len(r.Open) == 0 {
		return list, nil
	}
	replicas, err := f.Replicas(ctx)
	if err != nil {
		return nil, err
	}
	list = failingOf(replicas).mark(list, now)
	return list, f.checkpoints(ctx, r, list)
}

// checkpoints adds how far the open ticks of a record have come.
func (f *Fleet) checkpoints(ctx context.Context, r protocol.Record, list []Entry) error {
	granted := func(e Entry) bool { return e.Token != 0 && e.State != wire.StateSettled }
	if !slices.ContainsFunc(list, granted) {
		return nil
	}
	kept, err := f.store.Checkpoints(ctx, r.Name)
	for i := range list {
		for _, c := range kept {
			if e := &list[i]; granted(*e) && e.Scheduled.UnixMilli() == c.Tick {
				e.Checkpoint = &Checkpoint{At: c.At, Percent: c.Percent, Text: c.Text, Position: len(c.Data), Revision: c.Revision}
			}
		}
	}
	return err
}

// Outcomes returns what the store keeps of the settled ticks of a job, in the order in which they
// were settled, newest last. It does not ask the job's journal, as History does.
func (f *Fleet) Outcomes(ctx context.Context, job string) ([]Entry, error) {
	r, err := f.store.Inspect(ctx, job)
	if err != nil {
		return nil, err
	}
	list := make([]Entry, len(r.Settled))
	for i, s := range r.Settled {
		list[i] = settled(f.namespace, job, s)
	}
	return list, nil
}

// history lists what a record and its journal hold: first the open ticks, then the settled ones,
// each newest tick first.
func (f *Fleet) history(r protocol.Record, facts []Fact, now time.Time) []Entry {
	list := annotate(entries(f.namespace, r), facts)
	open := len(r.Open)
	list = append(list, crashedLeaders(f.namespace, r.Name, facts)...)
	list = slices.DeleteFunc(list, func(e Entry) bool { return e.State == wire.StateSettled && e.Ended.Before(now.Add(-f.age)) })
	// With overlap allowed ticks are not settled in their order: the last n are those of the newest
	// ticks.
	slices.SortStableFunc(list[open:], func(a, b Entry) int { return b.Moment().Compare(a.Moment()) })
	return list
}

// entries lists what a record holds, as History does.
func entries(namespace string, r protocol.Record) []Entry {
	list := make([]Entry, 0, len(r.Open)+len(r.Settled))
	for _, o := range r.Open {
		list = append(list, opened(namespace, r.Name, o))
	}
	slices.SortStableFunc(list, func(a, b Entry) int { return cmp.Compare(b.Scheduled.UnixMilli(), a.Scheduled.UnixMilli()) })
	for _, s := range slices.Backward(r.Settled) {
		list = append(list, settled(namespace, r.Name, s))
	}
	return list
}

func entry(namespace, job string, tick int64) Entry {
	e := Entry{Job: job, Scheduled: wire.FromMilli(tick), Count: 1, Triggered: byHand(tick)}
	if tick != 0 {
		e.ID = jobs.Run{Namespace: namespace, Job: job, Tick: e.Scheduled}.TickID()
	}
	return e
}

func opened(namespace, job string, o protocol.Open) Entry {
	e := entry(namespace, job, o.Tick)
	e.Replica, e.Token, e.Attempts, e.CancelledBy = o.Holder, o.Token, o.Attempt, o.CancelledBy
	switch {
	case o.Attempt == 0:
		e.State = wire.StateWaiting
	case o.Remaining > 0:
		e.State, e.Remaining = wire.StateRunning, o.Remaining
	default:
		e.State = wire.StateFree
	}
	e.Started = granted(o.Token)
	e.Runs = runOf(o, e)
	return e
}

func settled(namespace, job string, s protocol.Settled) Entry {
	e := entry(namespace, job, s.Tick)
	note := wire.ParseNote(s.Note)
	e.State, e.Outcome, e.Ended, e.SettledAt = wire.StateSettled, s.Outcome, s.At, s.At
	e.Replica, e.Token, e.Attempts = s.Holder, s.Token, s.Attempt
	e.Reason, e.Error, e.CancelledBy = note.Reason, note.Error, note.By
	if !note.Ended.IsZero() && note.Ended.Before(s.At) {
		e.Ended = note.Ended
	}
	if e.Started = note.Started; e.Started.IsZero() && s.Token != 0 {
		e.Started = granted(min(s.Token, s.At.UnixMicro()))
	}
	if s.From != 0 {
		e.From, e.Count, e.Triggered = time.UnixMilli(s.From).UTC(), note.Count, false
	}
	e.Runs = runsOf(s, e, note)
	return e
}

// granted is about when a token was: tokens are the store's time in microseconds, or a little more.
func granted(token int64) time.Time {
	if token == 0 {
		return time.Time{}
	}
	return time.UnixMicro(token).UTC()
}

// byHand reports whether a tick was triggered: the ticks of schedules are whole seconds, and stores
// give no such tick to a trigger.
func byHand(tick int64) bool { return tick%1000 != 0 }

// find returns the newest entry of a tick: its own before a range that holds it.
func find(list []Entry, tick int64) (Entry, bool) {
	for _, e := range list {
		if !e.IsRange() && e.Scheduled.UnixMilli() == tick {
			return e, true
		}
	}
	for _, e := range list {
		if e.IsRange() && e.From.UnixMilli() < tick && tick <= e.Scheduled.UnixMilli() && !byHand(tick) {
			return e, true
		}
	}
	return Entry{}, false
}

// JobHistory holds one job's ticks, as far as the store keeps them.
type JobHistory struct {
	Entries   []Entry   // as [Fleet.History] has them: open ones first, then settled ones, each newest tick first
	Facts     []Fact    // as [Fleet.Facts] has them, newest first; none where the store keeps no journal
	Watermark time.Time // every tick up to it is settled or open; zero when the store has no record
	Since     time.Time // nothing is known of ticks before it; zero when the store has no record
	Schedule  string    // in force by the record: the zone, a space and the schedule; "" when it does not say
	Revised   time.Time // when the definition in force was brought first
}

// Histories returns the histories of several jobs, by their names, with as many outcomes as the
// store keeps. It reads them all: ask for the jobs of a page, not for those of a fleet.
func (f *Fleet) Histories(ctx context.Context, names []string) (map[string]JobHistory, error) {
	now, _, err := f.store.Time(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]JobHistory, len(names))
	err = together(ctx, len(names), func(ctx context.Context, i int) error {
		r, err := f.store.Inspect(ctx, names[i])
		if err != nil {
			return err
		}
		h := &list[i]
		if h.Facts, err = f.Facts(ctx, names[i]); err != nil {
			return err
		}
		h.Entries, h.Watermark, h.Revised = f.history(r, h.Facts, now), wire.FromMilli(r.Watermark), r.Revised
		h.Schedule, h.Since = scheduleIn(r), h.Watermark
		for _, e := range h.Entries {
			at := e.Moment()
			if e.IsRange() {
				at = e.From
			}
			if e.State == wire.StateSettled && at.Before(h.Since) {
				h.Since = at
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	by := make(map[string]JobHistory, len(names))
	for i, name := range names {
		by[name] = list[i]
	}
	return by, nil
}
