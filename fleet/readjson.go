package fleet

import (
	"cmp"
	"encoding/json"
	"fmt"
	"time"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
)

// JSON that this package has written can be read again, by a program that asks another one for it.
// Times are then in whole milliseconds, and what JSON does not have is left at its zero value.

// UnmarshalJSON implements [json.Unmarshaler].
func (s *stamp) UnmarshalJSON(text []byte) error {
	var written *string
	if err := json.Unmarshal(text, &written); err != nil || written == nil {
		*s = stamp{}
		return err
	}
	t, err := time.Parse(time.RFC3339Nano, *written)
	*s = stamp(t.UTC())
	return err
}

func millis(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }

// UnmarshalJSON implements [json.Unmarshaler].
func (e *Entry) UnmarshalJSON(text []byte) error {
	var r entryJSON
	err := json.Unmarshal(text, &r)
	*e = Entry{
		Job: r.Job, ID: r.ID, Scheduled: time.Time(r.Scheduled), From: time.Time(r.From), Count: r.Count, Triggered: r.Triggered, State: r.State,
		Outcome: r.Outcome, Started: time.Time(r.Started), Ended: time.Time(r.Ended), Replica: r.Replica, Remaining: millis(r.Remaining), Token: r.Token,
		Attempts: r.Attempt, CancelledBy: r.CancelledBy, Reason: r.Reason, Error: r.Error, TriggeredBy: r.TriggeredBy, Key: r.Key, Holders: r.Holders,
		Runs: r.Runs, TriggerReason: r.TriggerWhy, CancelReason: r.CancelWhy, Payload: r.Payload,
	}
	if f := cmp.Or(r.Failing, new(failingJSON)); r.Failing != nil || r.State == wire.StateRetrying {
		e.Failing = &FailingRun{
			Job: r.Job, Token: r.Token, Attempt: f.Attempt, Failures: f.Failures, Since: time.Time(f.Since), Error: f.Error, Next: time.Time(f.Next),
		}
	}
	return err
}

// UnmarshalJSON implements [json.Unmarshaler].
func (h *Holder) UnmarshalJSON(text []byte) error {
	var r holderJSON
	err := json.Unmarshal(text, &r)
	*h = Holder{Replica: r.Replica, Token: r.Token, Attempt: r.Attempt, From: time.Time(r.From), To: time.Time(r.To), Released: r.Released, Next: r.Next}
	return err
}

// UnmarshalJSON implements [json.Unmarshaler].
func (r *Run) UnmarshalJSON(text []byte) error {
	var w runJSON
	err := json.Unmarshal(text, &w)
	*r = Run{
		Attempt: w.Attempt, Replica: w.Replica, Token: w.Token, Started: time.Time(w.Started), Ended: time.Time(w.Ended), End: w.End, Error: w.Error,
		Renewals: w.Renewals, Margin: millis(w.Margin),
	}
	for _, margin := range w.Margins {
		r.Margins = append(r.Margins, millis(margin))
	}
	return err
}

// UnmarshalJSON implements [json.Unmarshaler].
func (a *AuditLog) UnmarshalJSON(text []byte) error {
	var r auditJSON
	err := json.Unmarshal(text, &r)
	*a = AuditLog{Facts: r.Acts, Next: r.Next, Used: r.Used, Budget: r.Budget}
	return err
}

// UnmarshalJSON implements [json.Unmarshaler].
func (t *Triggered) UnmarshalJSON(text []byte) error {
	var r triggeredJSON
	if err := json.Unmarshal(text, &r); err != nil {
		return err
	}
	*t = Triggered{ID: r.ID, Tick: time.Time(r.Tick), Wait: millis(r.Wait), Next: time.Time(r.Next), Limit: protocol.TriggerLimit(r.Limit), Entry: r.Entry}
	for t.Status = protocol.Opened; t.Status.String() != r.Status; t.Status++ {
		if t.Status >= protocol.Limited {
			return fmt.Errorf("fleet: status of a trigger: %q is not known", r.Status)
		}
	}
	return nil
}

// UnmarshalJSON implements [json.Unmarshaler].
func (c *Cancelled) UnmarshalJSON(text []byte) error {
	var r cancelledJSON
	if err := json.Unmarshal(text, &r); err != nil {
		return err
	}
	*c = Cancelled{Job: r.Job, ID: r.ID, Tick: time.Time(r.Tick), By: r.By, Replica: r.Replica, Remaining: millis(r.Remaining), Entry: r.Entry}
	for c.Status = protocol.CancelPending; c.Status.String() != r.Status; c.Status++ {
		if c.Status.String() == "invalid" {
			return fmt.Errorf("fleet: status of a cancel: %q is not known", r.Status)
		}
	}
	return nil
}

// UnmarshalJSON implements [json.Unmarshaler].
func (e *Explanation) UnmarshalJSON(text []byte) error {
	var r explanationJSON
	err := json.Unmarshal(text, &r)
	*e = Explanation{Job: r.Job, ID: r.ID, Tick: time.Time(r.Tick), Verdict: r.Verdict, Text: r.Text, Policy: r.Policy, Remedy: r.Remedy, Entry: r.Entry, Facts: r.Facts}
	return err
}

// UnmarshalJSON implements [json.Unmarshaler]. What a journal holds is not this, but what Encode
// writes.
func (f *Fact) UnmarshalJSON(text []byte) error {
	var r factView
	err := json.Unmarshal(text, &r)
	*f = Fact{
		Kind: r.Kind, At: time.Time(r.At), By: r.By, Tick: time.Time(r.Tick), Job: r.Job, From: time.Time(r.From), To: time.Time(r.To), Reason: r.Reason,
		Via: r.Via, Lock: r.Lock, Key: r.Key, Why: r.Why, Pauser: r.PausedBy, Replica: r.Replica, Token: r.Token, Attempt: r.Attempt, Released: r.Released,
		Groups: r.Groups, Schedule: r.Schedule, Before: r.Before, Step: millis(r.Step), Payload: r.Payload,
	}
	return err
}

// UnmarshalJSON implements [json.Unmarshaler].
func (p *Pause) UnmarshalJSON(text []byte) error {
	var r pauseJSON
	err := json.Unmarshal(text, &r)
	*p = Pause{By: r.By, Reason: r.Why, Since: time.Time(r.Since)}
	return err
}

// UnmarshalJSON implements [json.Unmarshaler]. The jobs of the replica are not known then.
func (r *Replica) UnmarshalJSON(text []byte) error {
	var v replicaView
	err := json.Unmarshal(text, &v)
	*r = Replica{
		ID: v.ID, Groups: v.Groups, Started: time.Time(v.Started), Version: v.Version, ClockOffset: millis(v.ClockOffset), TTL: millis(v.TTL), Running: v.Running,
		MaxRuns: v.MaxRuns, Used: v.Used, Waiting: v.Waiting, Stopping: v.Stopping, LastHeartbeat: time.Time(v.LastHeartbeat), Gone: v.Gone, JobCount: v.JobCount,
	}
	const most = 1000 // an id is shared by a few processes; the text may hold anything
	for i := range min(v.Processes-1, most) {
		if r.Others == nil {
			r.Others = map[string]int64{}
		}
		r.Others[fmt.Sprint(i)] = 0
	}
	return err
}

// UnmarshalJSON implements [json.Unmarshaler].
func (s *JobStatus) UnmarshalJSON(text []byte) error {
	var r jobStatusJSON
	err := json.Unmarshal(text, &r)
	*s = r.status()
	return err
}

func (r *jobStatusJSON) status() JobStatus {
	s := JobStatus{
		Name: r.Job, Given: r.Configured, Spec: jobs.Spec{Name: r.Job, Leader: r.Leader, Paused: r.PausedHere}, Schedule: r.Schedule, Timezone: r.Timezone,
		Known: r.Known, Open: r.Open, Last: r.Last, LastRun: r.LastRun, LastSuccess: r.LastSuccess, Newest: r.Newest, Next: time.Time(r.Next),
		Paused: r.Paused, Overdue: time.Time(r.Overdue), Ahead: millis(r.Ahead), Replicas: r.Replicas, Unserved: r.Unserved, Revisions: r.Disagreeing,
	}
	if r.Configured {
		s.Spec.Schedule, s.Spec.Timezone = r.Schedule, r.Timezone
	}
	return s
}

// UnmarshalJSON implements [json.Unmarshaler].
func (s *Status) UnmarshalJSON(text []byte) error {
	var r statusJSON
	err := json.Unmarshal(text, &r)
	*s = Status{Namespace: r.Namespace, Now: time.Time(r.Now), Since: time.Time(r.Since), Replicas: r.Replicas, Silent: r.Silent, Jobs: r.Jobs}
	return err
}

// UnmarshalJSON implements [json.Unmarshaler].
func (d *Description) UnmarshalJSON(text []byte) error {
	var r descriptionJSON
	if err := json.Unmarshal(text, &r); err != nil {
		return err
	}
	*d = Description{
		Namespace: r.Namespace, Now: time.Time(r.Now), JobStatus: r.status(), Outcomes: r.Outcomes, Counts: r.Counts, Since: time.Time(r.Since),
		Runs: r.Runs, Median: millis(r.Median), Longest: millis(r.Longest), Facts: r.Facts, HistoryBytes: r.HistoryUsed, HistoryLimit: r.HistoryMax,
	}
	for _, t := range r.Coming {
		d.Coming = append(d.Coming, time.Time(t))
	}
	for _, v := range r.Definitions {
		d.Definitions = append(d.Definitions, Definition{v.Revision, v.Replicas, v.Here, v.Fields})
	}
	if r.Policies == nil {
		return nil
	}
	return r.Policies.read(&d.Spec)
}

func (p *policiesJSON) read(s *jobs.Spec) (err error) {
	s.Timeout = millis(p.Timeout)
	s.Retry = jobs.Retry{MaxAttempts: p.MaxAttempts, Backoff: millis(p.Backoff), MaxBackoff: millis(p.MaxBackoff)}
	s.Delivery, s.MaxTakeovers, s.Overlap = jobs.Delivery(p.Delivery), p.MaxTakeovers, jobs.Overlap(p.Overlap)
	s.MisfireGrace, s.Misfire, s.CatchUpWindow, s.MaxCatchUp = millis(p.MisfireGrace), jobs.Misfire(p.Misfire), millis(p.CatchUpWindow), p.MaxCatchUp
	s.Jitter, s.Groups, s.Weight, s.Burst, s.History, s.HistoryBytes = millis(p.Jitter), p.Groups, p.Weight, p.Burst, p.History, p.HistoryBytes
	if p.Rate != "" {
		s.Rate, err = jobs.ParseRate(p.Rate)
	}
	return err
}
