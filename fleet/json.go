package fleet

import (
	"bytes"
	"cmp"
	"encoding"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
)

const timeLayout = "2006-01-02T15:04:05.000Z07:00"

// Marshal writes v as the command line and the console do: a value of this package, or whatever
// holds some. Times are RFC 3339 with milliseconds in UTC, null where there is none; durations are
// whole milliseconds, in fields whose names end in _ms; an empty list is []. Fields may be added,
// and none goes.
func Marshal(v any) ([]byte, error) { return shown.marshal(v) }

// Unmarshal reads what Marshal wrote into what v points to. Times are then in whole milliseconds,
// and what JSON does not have is left at its zero value, such as the jobs of a [Replica].
func Unmarshal(text []byte, v any) error { return shown.unmarshal(text, v) }

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

// unixMilli is a time in a journal.
type unixMilli time.Time

// IsZero makes omitzero leave it out.
func (u unixMilli) IsZero() bool { return time.Time(u).IsZero() }

// MarshalJSON implements [json.Marshaler].
func (u unixMilli) MarshalJSON() ([]byte, error) {
	return strconv.AppendInt(nil, wire.UnixMilli(time.Time(u)), 10), nil
}

// UnmarshalJSON implements [json.Unmarshaler].
func (u *unixMilli) UnmarshalJSON(text []byte) error {
	var ms int64
	err := json.Unmarshal(text, &ms)
	*u = unixMilli(wire.FromMilli(ms))
	return err
}

// millis is a duration in JSON.
type millis time.Duration

// MarshalJSON implements [json.Marshaler].
func (m millis) MarshalJSON() ([]byte, error) {
	return strconv.AppendInt(nil, time.Duration(m).Milliseconds(), 10), nil
}

// UnmarshalJSON implements [json.Unmarshaler].
func (m *millis) UnmarshalJSON(text []byte) error {
	var ms int64
	err := json.Unmarshal(text, &ms)
	*m = millis(time.Duration(ms) * time.Millisecond)
	return err
}

// codec writes a value as its mirror: the same value with other types in place of times and
// durations. It is safe for concurrent use.
type codec struct {
	tag      string // the name of a field is in this tag, or else in api, or json
	option   string // for every field that has no other
	lists    bool   // a nil slice is an empty list
	time     reflect.Type
	mirrors  sync.Map // the mirror of a type
	mirrored sync.Map // []mirrorField, by the struct type that has a mirror
}

var (
	shown   = &codec{tag: "api", lists: true, time: reflect.TypeFor[stamp]()}
	journal = &codec{tag: "journal", option: ",omitzero", time: reflect.TypeFor[unixMilli]()}
)

// deriver is a struct that JSON shows with more fields than it has, and derivable one that is set
// from them.
type (
	deriver   interface{ derived() any }
	derivable interface{ derive(from any) error }
)

// mirrorField is a field of a mirror: of the struct, or of what it derives.
type mirrorField struct {
	index   []int
	derived bool
}

func (c *codec) marshal(v any) ([]byte, error) {
	if v == nil {
		return []byte("null"), nil
	}
	from := reflect.ValueOf(v)
	to := reflect.New(c.mirror(from.Type())).Elem()
	if err := c.set(to, from); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // texts are for people
	err := e.Encode(to.Interface())
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

func (c *codec) unmarshal(text []byte, v any) error {
	to := reflect.ValueOf(v).Elem()
	from := reflect.New(c.mirror(to.Type()))
	if err := json.Unmarshal(text, from.Interface()); err != nil {
		return err
	}
	return c.set(to, from.Elem())
}

// mirror returns the type as which values of t are written.
func (c *codec) mirror(t reflect.Type) reflect.Type {
	if known, ok := c.mirrors.Load(t); ok {
		return known.(reflect.Type)
	}
	m := t
	switch of := reflect.PointerTo(t); {
	case t == reflect.TypeFor[time.Time]():
		m = c.time
	case t == reflect.TypeFor[time.Duration]():
		m = reflect.TypeFor[millis]()
	case of.Implements(reflect.TypeFor[json.Marshaler]()), of.Implements(reflect.TypeFor[encoding.TextMarshaler]()):
	case t.Kind() == reflect.Pointer:
		m = reflect.PointerTo(c.mirror(t.Elem()))
	case t.Kind() == reflect.Slice:
		m = reflect.SliceOf(c.mirror(t.Elem()))
	case t.Kind() == reflect.Map:
		m = reflect.MapOf(t.Key(), c.mirror(t.Elem()))
	case t.Kind() == reflect.Struct:
		m = c.structure(t)
	}
	c.mirrors.Store(t, m)
	return m
}

// structure returns the mirror of a struct. As in package json, the fields of embedded structs are
// fields of the struct, and of two with the same name the outer one is written.
func (c *codec) structure(t reflect.Type) reflect.Type {
	var list []mirrorField
	var fields []reflect.StructField
	places := map[string]int{}
	add := func(of reflect.Type, derived bool) {
		for _, f := range reflect.VisibleFields(of) {
			tag := cmp.Or(f.Tag.Get(c.tag), f.Tag.Get("api"), f.Tag.Get("json"))
			name, options, _ := strings.Cut(tag, ",")
			if name == "-" || !f.IsExported() || f.Anonymous && name == "" {
				continue
			}
			if name == "" {
				name = f.Name
			}
			if options == "" {
				tag += c.option
			}
			at, again := places[name]
			if again && len(list[at].index) <= len(f.Index) {
				continue
			}
			field := reflect.StructField{Type: c.mirror(f.Type), Tag: reflect.StructTag(`json:"` + tag + `"`)}
			if !again {
				at = len(list)
				places[name], list, fields = at, append(list, mirrorField{}), append(fields, field)
			}
			field.Name = "F" + strconv.Itoa(at)
			list[at], fields[at] = mirrorField{f.Index, derived}, field
		}
	}
	add(t, false)
	if d, ok := reflect.TypeAssert[deriver](reflect.Zero(t)); ok {
		add(reflect.TypeOf(d.derived()), true)
	}
	c.mirrored.Store(t, list)
	return reflect.StructOf(fields)
}

// set sets to, of a mirror, to what from is, or the other way round.
func (c *codec) set(to, from reflect.Value) (err error) {
	switch from.Kind() {
	case reflect.Pointer:
		if !from.IsNil() {
			to.Set(reflect.New(to.Type().Elem()))
			err = c.set(to.Elem(), from.Elem())
		}
	case reflect.Interface:
		if !from.IsNil() {
			m := reflect.New(c.mirror(from.Elem().Type())).Elem()
			err = c.set(m, from.Elem())
			to.Set(m)
		}
	case reflect.Slice:
		if from.IsNil() && !c.lists {
			return nil
		}
		to.Set(reflect.MakeSlice(to.Type(), from.Len(), from.Len()))
		for i := 0; i < from.Len() && err == nil; i++ {
			err = c.set(to.Index(i), from.Index(i))
		}
	case reflect.Map:
		if from.IsNil() {
			return nil
		}
		to.Set(reflect.MakeMapWithSize(to.Type(), from.Len()))
		for entries := from.MapRange(); entries.Next() && err == nil; {
			m := reflect.New(to.Type().Elem()).Elem()
			err = c.set(m, entries.Value())
			to.SetMapIndex(entries.Key(), m)
		}
	default:
		if fields, ok := c.mirrored.Load(from.Type()); ok {
			return c.fields(to, from, fields.([]mirrorField), false)
		} else if fields, ok := c.mirrored.Load(to.Type()); ok {
			return c.fields(from, to, fields.([]mirrorField), true)
		}
		to.Set(from.Convert(to.Type()))
	}
	return err
}

// fields sets a mirror to what a struct is, or when reads the other way round.
func (c *codec) fields(mirror, of reflect.Value, list []mirrorField, reads bool) error {
	var derived reflect.Value
	if d, ok := reflect.TypeAssert[deriver](of); ok {
		if derived = reflect.ValueOf(d.derived()); reads {
			derived = reflect.New(derived.Type()).Elem()
		}
	}
	for i, f := range list {
		to, from := mirror.Field(i), of
		if f.derived {
			from = derived
		}
		if from = from.FieldByIndex(f.index); reads {
			to, from = from, to
		}
		if err := c.set(to, from); err != nil {
			return err
		}
	}
	if !reads {
		return nil
	}
	if d, ok := reflect.TypeAssert[derivable](of.Addr()); ok {
		return d.derive(derived.Interface())
	}
	return nil
}

// entryMore is what JSON has of an [Entry] besides its fields.
type entryMore struct {
	Took time.Duration `api:"took_ms"`
}

func (e Entry) derived() any { return entryMore{e.Took()} }

// replicaMore is what JSON has of a [Replica] besides its fields.
type replicaMore struct {
	Processes int `api:"processes"`
}

func (r Replica) derived() any { return replicaMore{r.Processes()} }

func (r *Replica) derive(from any) error { //nolint:unparam // others fail
	const most = 1000 // an id is shared by a few processes; the text may hold anything
	for i := range min(from.(replicaMore).Processes-1, most) {
		if r.Others == nil {
			r.Others = map[string]int64{}
		}
		r.Others[strconv.Itoa(i)] = 0
	}
	return nil
}

// statusMore is what JSON has of the Spec of a [JobStatus].
type statusMore struct {
	Leader     bool `api:"leader"`
	PausedHere bool `api:"paused_by_configuration"`
}

func (s JobStatus) derived() any { return statusMore{s.Spec.Leader, s.Spec.Paused} }

func (s *JobStatus) derive(from any) error {
	more := from.(statusMore)
	s.Spec.Name, s.Spec.Leader, s.Spec.Paused = s.Name, more.Leader, more.PausedHere
	if s.Given {
		s.Spec.Schedule, s.Spec.Timezone = s.Schedule, s.Timezone
	}
	return nil
}

// descriptionMore is what JSON has of a [Description] besides its fields.
type descriptionMore struct {
	statusMore
	Policies *policies `api:"policies"` // of a job that was given
}

func (d Description) derived() any {
	more := descriptionMore{statusMore: statusMore{d.Spec.Leader, d.Spec.Paused}}
	if d.Given {
		more.Policies = policiesOf(d.Spec)
	}
	return more
}

func (d *Description) derive(from any) error {
	more := from.(descriptionMore)
	if err := d.JobStatus.derive(more.statusMore); err != nil || more.Policies == nil {
		return err
	}
	return more.Policies.read(&d.Spec)
}

// policies are those of a Spec in JSON.
type policies struct {
	Timeout       time.Duration `api:"timeout_ms"`
	MaxAttempts   int           `api:"max_attempts"`
	Backoff       time.Duration `api:"backoff_ms"`
	MaxBackoff    time.Duration `api:"max_backoff_ms"`
	Delivery      jobs.Delivery `api:"delivery"`
	MaxTakeovers  int           `api:"max_takeovers"`
	Overlap       jobs.Overlap  `api:"overlap"`
	MisfireGrace  time.Duration `api:"misfire_grace_ms"`
	Misfire       jobs.Misfire  `api:"misfire"`
	CatchUpWindow time.Duration `api:"catch_up_window_ms"`
	MaxCatchUp    int           `api:"max_catch_up"`
	Jitter        time.Duration `api:"jitter_ms"`
	Groups        []string      `api:"groups"`
	Weight        int           `api:"weight"`
	Rate          string        `api:"rate"`
	Burst         int           `api:"burst"`
	History       int           `api:"history"`
	HistoryBytes  int           `api:"history_bytes"`
	MaxConcurrent int           `api:"max_concurrent"`
}

func policiesOf(s jobs.Spec) *policies {
	return &policies{
		s.Timeout, s.Retry.MaxAttempts, s.Retry.Backoff, s.Retry.MaxBackoff, s.Delivery, s.MaxTakeovers, s.Overlap, s.MisfireGrace, s.Misfire,
		s.CatchUpWindow, s.MaxCatchUp, s.Jitter, s.Groups, s.Weight, s.Rate.String(), s.Burst, s.History, s.HistoryBytes, s.MaxConcurrent,
	}
}

func (p *policies) read(s *jobs.Spec) (err error) {
	s.Timeout, s.Retry = p.Timeout, jobs.Retry{MaxAttempts: p.MaxAttempts, Backoff: p.Backoff, MaxBackoff: p.MaxBackoff}
	s.Delivery, s.MaxTakeovers, s.Overlap, s.MisfireGrace, s.Misfire = p.Delivery, p.MaxTakeovers, p.Overlap, p.MisfireGrace, p.Misfire
	s.CatchUpWindow, s.MaxCatchUp, s.Jitter, s.Groups, s.Weight = p.CatchUpWindow, p.MaxCatchUp, p.Jitter, p.Groups, p.Weight
	s.Burst, s.History, s.HistoryBytes, s.MaxConcurrent = p.Burst, p.History, p.HistoryBytes, p.MaxConcurrent
	if p.Rate != "" {
		s.Rate, err = jobs.ParseRate(p.Rate)
	}
	return err
}
