package fleet

import (
	"cmp"
	"encoding/json"
	"time"

	"github.com/solotick/solotick/lease"
)

// In JSON times are RFC 3339 with milliseconds in UTC, null where there is none; durations are
// whole milliseconds, in fields whose names end in _ms. Fields may be added, and none goes.

const timeLayout = "2006-01-02T15:04:05.000Z07:00"

// stamp is a time in JSON.
type stamp time.Time

// MarshalJSON implements [json.Marshaler].
func (s stamp) MarshalJSON() ([]byte, error) {
	t := time.Time(s)
	if t.IsZero() {
		return []byte("null"), nil
	}
	return []byte(t.UTC().Format(`"` + timeLayout + `"`)), nil
}

// entryJSON is an Entry in JSON.
type entryJSON struct {
	Job         string        `json:"job"`
	ID          string        `json:"id"`
	Scheduled   stamp         `json:"scheduled"`
	From        stamp         `json:"from"`
	Count       int           `json:"count"`
	Triggered   bool          `json:"triggered"`
	State       string        `json:"state"`
	Outcome     lease.Outcome `json:"outcome"`
	Started     stamp         `json:"started"`
	Ended       stamp         `json:"ended"`
	Took        int64         `json:"took_ms"`
	Replica     string        `json:"replica"`
	Remaining   int64         `json:"left_ms"`
	Token       int64         `json:"token"`
	Attempt     int           `json:"attempt"`
	CancelledBy string        `json:"cancelled_by"`
	Reason      string        `json:"reason"`
	Error       string        `json:"error"`
	TriggeredBy string        `json:"triggered_by"`
	Key         string        `json:"trigger_key"`
	Holders     []Holder      `json:"former_holders"`
	Runs        []Run         `json:"runs"`
	TriggerWhy  string        `json:"trigger_reason"`
	CancelWhy   string        `json:"cancel_reason"`
	Payload     int           `json:"payload_bytes"`
	Failing     *failingJSON  `json:"failing"`
}

// failingJSON is a FailingRun in JSON, without what its entry says.
type failingJSON struct {
	Attempt  int    `json:"attempt"`
	Failures int    `json:"failures"`
	Since    stamp  `json:"since"`
	Error    string `json:"error"`
	Next     stamp  `json:"next"`
}

// MarshalJSON implements [json.Marshaler].
func (e Entry) MarshalJSON() ([]byte, error) {
	var failing *failingJSON
	if f := e.Failing; f != nil {
		failing = &failingJSON{f.Attempt, f.Failures, stamp(f.Since), f.Error, stamp(f.Next)}
	}
	return json.Marshal(entryJSON{
		e.Job, e.ID, stamp(e.Scheduled), stamp(e.From), e.Count, e.Triggered, e.State, e.Outcome, stamp(e.Started), stamp(e.Ended),
		e.Took().Milliseconds(), e.Replica, e.Remaining.Milliseconds(), e.Token, e.Attempts, e.CancelledBy, e.Reason, e.Error,
		e.TriggeredBy, e.Key, append([]Holder{}, e.Holders...), append([]Run{}, e.Runs...), e.TriggerReason, e.CancelReason, e.Payload, failing,
	})
}

// triggeredJSON is a Triggered in JSON.
type triggeredJSON struct {
	Status string `json:"status"`
	ID     string `json:"id"`
	Tick   stamp  `json:"tick"`
	Wait   int64  `json:"wait_ms"`
	Next   stamp  `json:"next"`
	Limit  string `json:"limit,omitempty"`
	Entry  *Entry `json:"entry"`
}

// MarshalJSON implements [json.Marshaler].
func (t Triggered) MarshalJSON() ([]byte, error) {
	return json.Marshal(triggeredJSON{t.Status.String(), t.ID, stamp(t.Tick), t.Wait.Milliseconds(), stamp(t.Next), string(t.Limit), t.Entry})
}

// cancelledJSON is a Cancelled in JSON.
type cancelledJSON struct {
	Job       string `json:"job"`
	ID        string `json:"id"`
	Tick      stamp  `json:"tick"`
	Status    string `json:"status"`
	By        string `json:"by"`
	Replica   string `json:"replica"`
	Remaining int64  `json:"left_ms"`
	Entry     *Entry `json:"entry"`
}

// MarshalJSON implements [json.Marshaler].
func (c Cancelled) MarshalJSON() ([]byte, error) {
	return json.Marshal(cancelledJSON{c.Job, c.ID, stamp(c.Tick), c.Status.String(), c.By, c.Replica, c.Remaining.Milliseconds(), c.Entry})
}

// explanationJSON is an Explanation in JSON.
type explanationJSON struct {
	Job     string `json:"job"`
	ID      string `json:"id"`
	Tick    stamp  `json:"tick"`
	Verdict string `json:"verdict"`
	Text    string `json:"text"`
	Policy  string `json:"policy"`
	Remedy  string `json:"remedy"`
	Entry   *Entry `json:"entry"`
	Facts   []Fact `json:"facts"`
}

// MarshalJSON implements [json.Marshaler].
func (e Explanation) MarshalJSON() ([]byte, error) {
	return json.Marshal(explanationJSON{e.Job, e.ID, stamp(e.Tick), e.Verdict, e.Text, e.Policy, e.Remedy, e.Entry, append([]Fact{}, e.Facts...)})
}

// factView is a Fact in JSON.
type factView struct {
	Kind     string   `json:"kind"`
	At       stamp    `json:"at"`
	By       string   `json:"by"`
	Tick     stamp    `json:"tick"`
	Job      string   `json:"job,omitempty"`
	From     stamp    `json:"from"`
	To       stamp    `json:"to"`
	Reason   string   `json:"reason,omitempty"`
	Via      string   `json:"via,omitempty"`
	Lock     string   `json:"lock,omitempty"`
	Key      string   `json:"key,omitempty"`
	Why      string   `json:"why,omitempty"`
	PausedBy string   `json:"paused_by,omitempty"`
	Replica  string   `json:"replica,omitempty"`
	Token    int64    `json:"token,omitempty"`
	Attempt  int      `json:"attempt,omitempty"`
	Released bool     `json:"released,omitempty"`
	Groups   []string `json:"groups,omitempty"`
	Schedule string   `json:"schedule,omitempty"`
	Before   string   `json:"before,omitempty"`
	Step     int64    `json:"step_ms,omitempty"`
	Payload  int      `json:"payload_bytes,omitempty"`
}

// MarshalJSON implements [json.Marshaler]. What a journal holds is not this, but what Encode
// writes.
func (f Fact) MarshalJSON() ([]byte, error) {
	return json.Marshal(factView{
		f.Kind, stamp(f.At), f.By, stamp(f.Tick), f.Job, stamp(f.From), stamp(f.To), f.Reason, f.Via, f.Lock, f.Key, f.Why, f.Pauser, f.Replica, f.Token, f.Attempt,
		f.Released, f.Groups, f.Schedule, f.Before, f.Step.Milliseconds(), f.Payload,
	})
}

// auditJSON is an AuditLog in JSON.
type auditJSON struct {
	Acts   []Fact `json:"acts"`
	Next   string `json:"next"`
	Used   int    `json:"used_bytes"`
	Budget int    `json:"budget_bytes"`
}

// MarshalJSON implements [json.Marshaler].
func (a AuditLog) MarshalJSON() ([]byte, error) {
	return json.Marshal(auditJSON{append([]Fact{}, a.Facts...), a.Next, a.Used, a.Budget})
}

// holderJSON is a Holder in JSON.
type holderJSON struct {
	Replica  string `json:"replica"`
	Token    int64  `json:"token"`
	Attempt  int    `json:"attempt"`
	From     stamp  `json:"from"`
	To       stamp  `json:"to"`
	Released bool   `json:"released"`
	Next     string `json:"next"`
}

// runJSON is a Run in JSON.
type runJSON struct {
	Attempt  int    `json:"attempt"`
	Replica  string `json:"replica"`
	Token    int64  `json:"token"`
	Started  stamp  `json:"started"`
	Ended    stamp  `json:"ended"`
	End      string `json:"end"`
	Error    string `json:"error"`
	Renewals int    `json:"renewals"`
	Margin   int64  `json:"margin_ms"`

	Margins []int64 `json:"margins_ms"`
}

// MarshalJSON implements [json.Marshaler].
func (r Run) MarshalJSON() ([]byte, error) {
	margins := []int64{}
	for _, margin := range r.Margins {
		margins = append(margins, margin.Milliseconds())
	}
	return json.Marshal(runJSON{
		r.Attempt, r.Replica, r.Token, stamp(r.Started), stamp(r.Ended), r.End, r.Error, r.Renewals, r.Margin.Milliseconds(), margins,
	})
}

// MarshalJSON implements [json.Marshaler].
func (h Holder) MarshalJSON() ([]byte, error) {
	return json.Marshal(holderJSON{h.Replica, h.Token, h.Attempt, stamp(h.From), stamp(h.To), h.Released, h.Next})
}

// pauseJSON is a pause in JSON.
type pauseJSON struct {
	By    string `json:"by"`
	Why   string `json:"why"`
	Since stamp  `json:"since"`
}

// MarshalJSON implements [json.Marshaler].
func (p Pause) MarshalJSON() ([]byte, error) {
	return json.Marshal(pauseJSON{p.By, p.Reason, stamp(p.Since)})
}

// replicaView is a Replica in JSON.
type replicaView struct {
	ID            string   `json:"id"`
	Groups        []string `json:"groups"`
	Started       stamp    `json:"started"`
	Version       string   `json:"version"`
	ClockOffset   int64    `json:"clock_offset_ms"`
	TTL           int64    `json:"term_ms"`
	Running       int      `json:"running"`
	MaxRuns       int      `json:"max_runs"`
	Used          int      `json:"used"`
	Waiting       int      `json:"waiting"`
	Stopping      bool     `json:"stopping"`
	Processes     int      `json:"processes"`
	LastHeartbeat stamp    `json:"last_heartbeat"`
	Gone          bool     `json:"gone"`
	JobCount      int      `json:"job_count"`
}

// MarshalJSON implements [json.Marshaler].
func (r Replica) MarshalJSON() ([]byte, error) {
	return json.Marshal(replicaView{
		r.ID, append([]string{}, r.Groups...), stamp(r.Started), r.Version, r.ClockOffset.Milliseconds(), r.TTL.Milliseconds(),
		r.Running, r.MaxRuns, r.Used, r.Waiting, r.Stopping, r.Processes(), stamp(r.LastHeartbeat), r.Gone, r.JobCount,
	})
}

// jobStatusJSON is a JobStatus in JSON.
type jobStatusJSON struct {
	Job         string              `json:"job"`
	Configured  bool                `json:"configured"`
	Known       bool                `json:"known"`
	Schedule    string              `json:"schedule"`
	Timezone    string              `json:"timezone"`
	Leader      bool                `json:"leader"`
	Next        stamp               `json:"next"`
	Overdue     stamp               `json:"overdue"`
	Ahead       int64               `json:"watermark_ahead_ms"`
	Last        *Entry              `json:"last"`
	LastRun     *Entry              `json:"last_run"`
	LastSuccess *Entry              `json:"last_success"`
	Newest      []lease.Outcome     `json:"newest_outcomes"`
	Open        []Entry             `json:"open"`
	Paused      *Pause              `json:"paused"`
	PausedHere  bool                `json:"paused_by_configuration"`
	Replicas    []string            `json:"replicas"`
	Unserved    bool                `json:"unserved"`
	Disagreeing map[string][]string `json:"revisions"`
}

func (s JobStatus) view() jobStatusJSON {
	view := jobStatusJSON{
		Job: s.Name, Configured: s.Given, Known: s.Known, Schedule: cmp.Or(s.Schedule, s.Spec.Schedule), Timezone: cmp.Or(s.Timezone, s.Spec.Timezone),
		LastRun: s.LastRun, LastSuccess: s.LastSuccess, Newest: append([]lease.Outcome{}, s.Newest...), Leader: s.Spec.Leader,
		Next: stamp(s.Next), Overdue: stamp(s.Overdue), Ahead: s.Ahead.Milliseconds(), Last: s.Last, Open: append([]Entry{}, s.Open...),
		Paused: s.Paused, PausedHere: s.Spec.Paused, Replicas: append([]string{}, s.Replicas...), Unserved: s.Unserved, Disagreeing: s.Revisions,
	}
	return view
}

// MarshalJSON implements [json.Marshaler].
func (s JobStatus) MarshalJSON() ([]byte, error) { return json.Marshal(s.view()) }

// revisionJSON is a Definition in JSON.
type revisionJSON struct {
	Revision string   `json:"revision"`
	Replicas []string `json:"replicas"`
	Here     bool     `json:"of_this_configuration"`

	Fields map[string]string `json:"fields"` // null where they are not known
}

// descriptionJSON is a Description in JSON.
type descriptionJSON struct {
	Namespace string `json:"namespace"`
	Now       stamp  `json:"now"`
	jobStatusJSON
	Policies    *policiesJSON         `json:"policies"`
	Definitions []revisionJSON        `json:"definitions"`
	Differences []string              `json:"differences"`
	Coming      []stamp               `json:"coming"`
	Outcomes    []Entry               `json:"outcomes"`
	Counts      map[lease.Outcome]int `json:"counts"`
	Since       stamp                 `json:"counted_since"`
	Runs        int                   `json:"runs"`
	Median      int64                 `json:"median_ms"`
	Longest     int64                 `json:"longest_ms"`
	HistoryUsed int                   `json:"history_used_bytes"`
	HistoryMax  int                   `json:"history_limit_bytes"`
	Facts       []Fact                `json:"facts"`
}

// MarshalJSON implements [json.Marshaler].
func (d Description) MarshalJSON() ([]byte, error) {
	definitions := []revisionJSON{}
	for _, v := range d.Definitions {
		definitions = append(definitions, revisionJSON{v.Revision, v.Replicas, v.Given, v.Fields})
	}
	coming := []stamp{}
	for _, t := range d.Coming {
		coming = append(coming, stamp(t))
	}
	return json.Marshal(descriptionJSON{
		d.Namespace, stamp(d.Now), d.view(), policies(d.JobStatus), definitions, append([]string{}, d.Differences()...), coming, append([]Entry{}, d.Outcomes...), d.Counts, stamp(d.Since),
		d.Runs, d.Median.Milliseconds(), d.Longest.Milliseconds(), d.HistoryBytes, d.HistoryLimit, append([]Fact{}, d.Facts...),
	})
}

// policiesJSON are the policies of a given job.
type policiesJSON struct {
	Timeout       int64    `json:"timeout_ms"`
	MaxAttempts   int      `json:"max_attempts"`
	Backoff       int64    `json:"backoff_ms"`
	MaxBackoff    int64    `json:"max_backoff_ms"`
	Delivery      string   `json:"delivery"`
	MaxTakeovers  int      `json:"max_takeovers"`
	Overlap       string   `json:"overlap"`
	MisfireGrace  int64    `json:"misfire_grace_ms"`
	Misfire       string   `json:"misfire"`
	CatchUpWindow int64    `json:"catch_up_window_ms"`
	MaxCatchUp    int      `json:"max_catch_up"`
	Jitter        int64    `json:"jitter_ms"`
	Groups        []string `json:"groups"`
	Weight        int      `json:"weight"`
	Rate          string   `json:"rate"`
	Burst         int      `json:"burst"`
	History       int      `json:"history"`
	HistoryBytes  int      `json:"history_bytes"`
}

// policies are those of a job that was given; nil of another.
func policies(s JobStatus) *policiesJSON {
	if !s.Given {
		return nil
	}
	spec := s.Spec
	p := &policiesJSON{
		spec.Timeout.Milliseconds(), spec.Retry.MaxAttempts, spec.Retry.Backoff.Milliseconds(), spec.Retry.MaxBackoff.Milliseconds(),
		string(spec.Delivery), spec.MaxTakeovers, string(spec.Overlap), spec.MisfireGrace.Milliseconds(), string(spec.Misfire),
		spec.CatchUpWindow.Milliseconds(), spec.MaxCatchUp, spec.Jitter.Milliseconds(), append([]string{}, spec.Groups...), spec.Weight, "", spec.Burst, spec.History, spec.HistoryBytes,
	}
	if !spec.Rate.IsZero() {
		p.Rate = spec.Rate.String()
	}
	return p
}

// statusJSON is a Status in JSON.
type statusJSON struct {
	Namespace string      `json:"namespace"`
	Now       stamp       `json:"now"`
	Since     stamp       `json:"since"`
	Replicas  []Replica   `json:"replicas"`
	Silent    []Replica   `json:"silent"`
	Jobs      []JobStatus `json:"jobs"`
}

// MarshalJSON implements [json.Marshaler].
func (s Status) MarshalJSON() ([]byte, error) {
	return json.Marshal(statusJSON{s.Namespace, stamp(s.Now), stamp(s.Since), append([]Replica{}, s.Replicas...), append([]Replica{}, s.Silent...), append([]JobStatus{}, s.Jobs...)})
}
