package fleet

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
)

// In JSON, times are RFC 3339 with milliseconds in UTC, null where there is none; durations are whole
// milliseconds, in fields whose names end in _ms; an empty list is []. Fields may be added, and none
// goes. A program that asks another one for it can read it again: times are then in whole
// milliseconds, and what JSON does not have is left at its zero value.

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

// millis is a duration in JSON.
type millis time.Duration

// MarshalJSON implements [json.Marshaler].
func (m millis) MarshalJSON() ([]byte, error) {
	return json.Marshal(time.Duration(m).Milliseconds())
}

// UnmarshalJSON implements [json.Unmarshaler].
func (m *millis) UnmarshalJSON(text []byte) error {
	var ms int64
	err := json.Unmarshal(text, &ms)
	*m = millis(time.Duration(ms) * time.Millisecond)
	return err
}

// shape is how a struct is written: as mirror, whose fields are those of the struct that have a
// tag, with stamp and millis in place of times and durations. Fields of embedded structs count as
// fields of the struct.
type shape struct {
	mirror reflect.Type
	fields [][]int // of the struct, for each of the mirror
}

var shapes sync.Map // of shape, by reflect.Type

func shapeOf(t reflect.Type) shape {
	if known, ok := shapes.Load(t); ok {
		return known.(shape)
	}
	var l shape
	var fields []reflect.StructField
	for _, f := range reflect.VisibleFields(t) {
		if tag := f.Tag.Get("json"); tag != "" {
			l.fields = append(l.fields, f.Index)
			fields = append(fields, reflect.StructField{Name: f.Name, Type: written(f.Type), Tag: f.Tag})
		}
	}
	l.mirror = reflect.StructOf(fields)
	shapes.Store(t, l)
	return l
}

// written returns the type as which values of t are written.
func written(t reflect.Type) reflect.Type {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return reflect.TypeFor[stamp]()
	case t == reflect.TypeFor[time.Duration]():
		return reflect.TypeFor[millis]()
	case t.Kind() == reflect.Slice:
		return reflect.SliceOf(written(t.Elem()))
	}
	return t
}

// set sets to, of a mirror, to what from of the struct is, or the other way round.
func set(to, from reflect.Value) {
	if from.Kind() != reflect.Slice {
		to.Set(from.Convert(to.Type()))
		return
	}
	to.Set(reflect.MakeSlice(to.Type(), from.Len(), from.Len()))
	for i := range from.Len() {
		to.Index(i).Set(from.Index(i).Convert(to.Type().Elem()))
	}
}

// marshal writes the struct v.
func marshal(v any) ([]byte, error) {
	from := reflect.ValueOf(v)
	l := shapeOf(from.Type())
	to := reflect.New(l.mirror).Elem()
	for i, index := range l.fields {
		set(to.Field(i), from.FieldByIndex(index))
	}
	return json.Marshal(to.Interface())
}

// unmarshal reads into the struct that v points to.
func unmarshal(text []byte, v any) error {
	to := reflect.ValueOf(v).Elem()
	l := shapeOf(to.Type())
	from := reflect.New(l.mirror)
	if err := json.Unmarshal(text, from.Interface()); err != nil {
		return err
	}
	for i, index := range l.fields {
		set(to.FieldByIndex(index), from.Elem().Field(i))
	}
	return nil
}

// What the types below have no methods for in their views: a view would be written by itself.
type (
	plainEntry       Entry
	plainReplica     Replica
	plainStatus      JobStatus
	plainTriggered   Triggered
	plainCancelled   Cancelled
	plainDescription Description
)

// entryView is an Entry in JSON.
type entryView struct {
	plainEntry
	Took    time.Duration `json:"took_ms"`
	Failing *failingView  `json:"failing"`
}

// failingView is a FailingRun in JSON, without what its entry says.
type failingView struct {
	Attempt  int    `json:"attempt"`
	Failures int    `json:"failures"`
	Since    stamp  `json:"since"`
	Error    string `json:"error"`
	Next     stamp  `json:"next"`
}

// MarshalJSON implements [json.Marshaler].
func (e Entry) MarshalJSON() ([]byte, error) {
	view := entryView{plainEntry: plainEntry(e), Took: e.Took()}
	if f := e.Failing; f != nil {
		view.Failing = &failingView{f.Attempt, f.Failures, stamp(f.Since), f.Error, stamp(f.Next)}
	}
	return marshal(view)
}

// UnmarshalJSON implements [json.Unmarshaler].
func (e *Entry) UnmarshalJSON(text []byte) error {
	var view entryView
	err := unmarshal(text, &view)
	*e = Entry(view.plainEntry)
	if f := cmp.Or(view.Failing, new(failingView)); view.Failing != nil || e.State == wire.StateRetrying {
		e.Failing = &FailingRun{
			Job: e.Job, Token: e.Token, Attempt: f.Attempt, Failures: f.Failures, Since: time.Time(f.Since), Error: f.Error, Next: time.Time(f.Next),
		}
	}
	return err
}

// triggeredView is a Triggered in JSON.
type triggeredView struct {
	plainTriggered
	Status string `json:"status"`
}

// MarshalJSON implements [json.Marshaler].
func (t Triggered) MarshalJSON() ([]byte, error) {
	return marshal(triggeredView{plainTriggered(t), t.Status.String()})
}

// UnmarshalJSON implements [json.Unmarshaler].
func (t *Triggered) UnmarshalJSON(text []byte) error {
	var view triggeredView
	if err := unmarshal(text, &view); err != nil {
		return err
	}
	*t = Triggered(view.plainTriggered)
	for t.Status = protocol.Opened; t.Status.String() != view.Status; t.Status++ {
		if t.Status >= protocol.Limited {
			return fmt.Errorf("fleet: status of a trigger: %q is not known", view.Status)
		}
	}
	return nil
}

// cancelledView is a Cancelled in JSON.
type cancelledView struct {
	plainCancelled
	Status string `json:"status"`
}

// MarshalJSON implements [json.Marshaler].
func (c Cancelled) MarshalJSON() ([]byte, error) {
	return marshal(cancelledView{plainCancelled(c), c.Status.String()})
}

// UnmarshalJSON implements [json.Unmarshaler].
func (c *Cancelled) UnmarshalJSON(text []byte) error {
	var view cancelledView
	if err := unmarshal(text, &view); err != nil {
		return err
	}
	*c = Cancelled(view.plainCancelled)
	for c.Status = protocol.CancelPending; c.Status.String() != view.Status; c.Status++ {
		if c.Status.String() == "invalid" {
			return fmt.Errorf("fleet: status of a cancel: %q is not known", view.Status)
		}
	}
	return nil
}

// MarshalJSON implements [json.Marshaler].
func (e Explanation) MarshalJSON() ([]byte, error) { return marshal(e) }

// UnmarshalJSON implements [json.Unmarshaler].
func (e *Explanation) UnmarshalJSON(text []byte) error { return unmarshal(text, e) }

// MarshalJSON implements [json.Marshaler]. A journal holds what Encode writes instead.
func (f Fact) MarshalJSON() ([]byte, error) { return marshal(f) }

// UnmarshalJSON implements [json.Unmarshaler].
func (f *Fact) UnmarshalJSON(text []byte) error { return unmarshal(text, f) }

// MarshalJSON implements [json.Marshaler].
func (a AuditLog) MarshalJSON() ([]byte, error) { return marshal(a) }

// UnmarshalJSON implements [json.Unmarshaler].
func (a *AuditLog) UnmarshalJSON(text []byte) error { return unmarshal(text, a) }

// MarshalJSON implements [json.Marshaler].
func (r Run) MarshalJSON() ([]byte, error) { return marshal(r) }

// UnmarshalJSON implements [json.Unmarshaler].
func (r *Run) UnmarshalJSON(text []byte) error { return unmarshal(text, r) }

// MarshalJSON implements [json.Marshaler].
func (h Holder) MarshalJSON() ([]byte, error) { return marshal(h) }

// UnmarshalJSON implements [json.Unmarshaler].
func (h *Holder) UnmarshalJSON(text []byte) error { return unmarshal(text, h) }

// MarshalJSON implements [json.Marshaler].
func (p Pause) MarshalJSON() ([]byte, error) { return marshal(p) }

// UnmarshalJSON implements [json.Unmarshaler].
func (p *Pause) UnmarshalJSON(text []byte) error { return unmarshal(text, p) }

// MarshalJSON implements [json.Marshaler].
func (s Status) MarshalJSON() ([]byte, error) { return marshal(s) }

// UnmarshalJSON implements [json.Unmarshaler].
func (s *Status) UnmarshalJSON(text []byte) error { return unmarshal(text, s) }

// replicaView is a Replica in JSON.
type replicaView struct {
	plainReplica
	Processes int `json:"processes"`
}

// MarshalJSON implements [json.Marshaler].
func (r Replica) MarshalJSON() ([]byte, error) {
	return marshal(replicaView{plainReplica(r), r.Processes()})
}

// UnmarshalJSON implements [json.Unmarshaler]. The jobs of the replica are not known then.
func (r *Replica) UnmarshalJSON(text []byte) error {
	var view replicaView
	err := unmarshal(text, &view)
	*r = Replica(view.plainReplica)
	const most = 1000 // an id is shared by a few processes; the text may hold anything
	for i := range min(view.Processes-1, most) {
		if r.Others == nil {
			r.Others = map[string]int64{}
		}
		r.Others[fmt.Sprint(i)] = 0
	}
	return err
}

// specView has what a JobStatus shows of its Spec in JSON.
type specView struct {
	Leader     bool `json:"leader"`
	PausedHere bool `json:"paused_by_configuration"`
}

// statusView is a JobStatus in JSON.
type statusView struct {
	plainStatus
	specView
}

// view returns s with the schedule of its Spec, and what else JSON has of that.
func (s JobStatus) view() (JobStatus, specView) {
	s.Schedule, s.Timezone = cmp.Or(s.Schedule, s.Spec.Schedule), cmp.Or(s.Timezone, s.Spec.Timezone)
	return s, specView{s.Spec.Leader, s.Spec.Paused}
}

// read sets what JSON has of the Spec.
func (s *JobStatus) read(v specView) {
	s.Spec.Name, s.Spec.Leader, s.Spec.Paused = s.Name, v.Leader, v.PausedHere
	if s.Given {
		s.Spec.Schedule, s.Spec.Timezone = s.Schedule, s.Timezone
	}
}

// MarshalJSON implements [json.Marshaler].
func (s JobStatus) MarshalJSON() ([]byte, error) {
	shown, spec := s.view()
	return marshal(statusView{plainStatus(shown), spec})
}

// UnmarshalJSON implements [json.Unmarshaler].
func (s *JobStatus) UnmarshalJSON(text []byte) error {
	var view statusView
	err := unmarshal(text, &view)
	*s = JobStatus(view.plainStatus)
	s.read(view.specView)
	return err
}

// descriptionView is a Description in JSON.
type descriptionView struct {
	plainDescription
	specView
	Policies    *policies `json:"policies"` // of a job that was given
	Differences []string  `json:"differences"`
}

// MarshalJSON implements [json.Marshaler].
func (d Description) MarshalJSON() ([]byte, error) {
	view := descriptionView{plainDescription: plainDescription(d), Differences: d.Differences()}
	view.JobStatus, view.specView = d.view()
	if d.Given {
		view.Policies = policiesOf(d.Spec)
	}
	return marshal(view)
}

// UnmarshalJSON implements [json.Unmarshaler].
func (d *Description) UnmarshalJSON(text []byte) error {
	var view descriptionView
	if err := unmarshal(text, &view); err != nil {
		return err
	}
	*d = Description(view.plainDescription)
	d.read(view.specView)
	if view.Policies == nil {
		return nil
	}
	return view.Policies.read(&d.Spec)
}

// policies are those of a Spec in JSON.
type policies struct {
	Timeout       time.Duration `json:"timeout_ms"`
	MaxAttempts   int           `json:"max_attempts"`
	Backoff       time.Duration `json:"backoff_ms"`
	MaxBackoff    time.Duration `json:"max_backoff_ms"`
	Delivery      jobs.Delivery `json:"delivery"`
	MaxTakeovers  int           `json:"max_takeovers"`
	Overlap       jobs.Overlap  `json:"overlap"`
	MisfireGrace  time.Duration `json:"misfire_grace_ms"`
	Misfire       jobs.Misfire  `json:"misfire"`
	CatchUpWindow time.Duration `json:"catch_up_window_ms"`
	MaxCatchUp    int           `json:"max_catch_up"`
	Jitter        time.Duration `json:"jitter_ms"`
	Groups        []string      `json:"groups"`
	Weight        int           `json:"weight"`
	Rate          string        `json:"rate"`
	Burst         int           `json:"burst"`
	History       int           `json:"history"`
	HistoryBytes  int           `json:"history_bytes"`
}

// MarshalJSON implements [json.Marshaler].
func (p policies) MarshalJSON() ([]byte, error) { return marshal(p) }

// UnmarshalJSON implements [json.Unmarshaler].
func (p *policies) UnmarshalJSON(text []byte) error { return unmarshal(text, p) }

func policiesOf(s jobs.Spec) *policies {
	p := &policies{
		s.Timeout, s.Retry.MaxAttempts, s.Retry.Backoff, s.Retry.MaxBackoff, s.Delivery, s.MaxTakeovers, s.Overlap, s.MisfireGrace, s.Misfire,
		s.CatchUpWindow, s.MaxCatchUp, s.Jitter, s.Groups, s.Weight, "", s.Burst, s.History, s.HistoryBytes,
	}
	if !s.Rate.IsZero() {
		p.Rate = s.Rate.String()
	}
	return p
}

func (p *policies) read(s *jobs.Spec) (err error) {
	s.Timeout, s.Retry = p.Timeout, jobs.Retry{MaxAttempts: p.MaxAttempts, Backoff: p.Backoff, MaxBackoff: p.MaxBackoff}
	s.Delivery, s.MaxTakeovers, s.Overlap, s.MisfireGrace, s.Misfire = p.Delivery, p.MaxTakeovers, p.Overlap, p.MisfireGrace, p.Misfire
	s.CatchUpWindow, s.MaxCatchUp, s.Jitter, s.Groups, s.Weight = p.CatchUpWindow, p.MaxCatchUp, p.Jitter, p.Groups, p.Weight
	s.Burst, s.History, s.HistoryBytes = p.Burst, p.History, p.HistoryBytes
	if p.Rate != "" {
		s.Rate, err = jobs.ParseRate(p.Rate)
	}
	return err
}
