package schedules

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/naming"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/jobs/schedule"
)

// Option changes how a schedule is put or deleted.
type Option func(*Change)

// Change is what options ask for: see the option of the same name.
type Change struct {
	IfRevision string
	IfAbsent   bool
	By         string
	As         *fleet.Act // nil for none
}

// IfRevision makes a change only if the present schedule has this revision. Otherwise the error
// matches [ErrRevision].
func IfRevision(revision string) Option { return func(c *Change) { c.IfRevision = revision } }

// IfAbsent puts a schedule only if there is none. Otherwise the error matches [ErrRevision], unless
// the one that is there is the same.
func IfAbsent() Option { return func(c *Change) { c.IfAbsent = true } }

// By stores the name of who puts the schedule. It matches the pattern of a name.
func By(who string) Option { return func(c *Change) { c.By = who } }

// As makes a change the act of somebody, which the audit log keeps. It is for people: the log has
// room for some ten thousand acts.
func As(act fleet.Act) Option { return func(c *Change) { c.By, c.As = act.By, &act } }

// Apply returns what options ask for, for those who ask another program. The error joins their faults.
func Apply(list ...Option) (c Change, err error) {
	for i, option := range list {
		if option == nil {
			return c, fmt.Errorf("schedules: options[%d]: nil must be an option", i)
		}
		option(&c)
	}
	if (c.By != "" || c.As != nil) && !naming.Valid(c.By) {
		return c, fmt.Errorf("schedules: by: %q %s", c.By, naming.Rule)
	}
	return c, nil
}

// Status is what a put has done.
type Status string

// The values of Status. Unchanged is also the answer to a put that was sent again since its first
// answer was lost.
const (
	Created   Status = "created"
	Changed   Status = "changed"
	Unchanged Status = "unchanged"
)

// Result is the answer to a put.
type Result struct {
	Key      string    `json:"key"`
	Status   Status    `json:"status,omitempty"` // empty with an Err
	Revision string    `json:"revision,omitempty"`
	Next     time.Time `json:"next,omitzero"` // the first tick from now on
	Err      error     `json:"-"`             // of this schedule
}

// Put creates the schedule of a key, or replaces it. If the same schedule is there, Put changes nothing. A
// change takes effect from now on, on every replica within a second: no tick that is decided runs again,
// one that runs goes on, and one that is already due keeps its time.
//
// The error joins a [*jobs.Fault] for everything that is wrong with the schedule. A schedule whose
// ticks are all over is a fault, unless it is there.
func (s *Schedules) Put(ctx context.Context, row Schedule, opts ...Option) (Result, error) {
	results, err := s.PutAll(ctx, []Schedule{row}, opts...)
	if err != nil {
		return Result{}, err
	}
	return results[0], results[0].Err
}

// pageSize is how many schedules are sent to the store at once.
const pageSize = 256

// tries bounds how often a change is sent when its outcome is unknown.
const tries = 3

// PutAll puts schedules of different keys, each as [Schedules.Put] does, and returns a result for each, in
// order. A schedule that could not be put has an Err in its result. PutAll returns an error if it has put
// none, because the options or the job are wrong, or the store does not answer.
func (s *Schedules) PutAll(ctx context.Context, rows []Schedule, opts ...Option) ([]Result, error) {
	o, err := Apply(opts...)
	if err != nil {
		return nil, err
	}
	if _, err := s.view(ctx, false); err != nil {
		return nil, err
	}
	results, count, last := make([]Result, len(rows)), 0, -1
	for from := 0; from < len(rows); from += pageSize {
		to := min(from+pageSize, len(rows))
		s.putPage(ctx, rows[from:to], results[from:to], &o)
	}
	for i := range results {
		if status := results[i].Status; status == Created || status == Changed {
			count, last = count+1, i
		}
	}
	if o.As != nil && count == 1 && len(rows) == 1 {
		s.note(ctx, rows[last].Key, *o.As, fleet.Fact{Kind: wire.FactScheduled, Schedule: rows[last].text()})
	} else if o.As != nil && count > 0 {
		s.note(ctx, "", *o.As, fleet.Fact{Kind: wire.FactScheduled, Count: count})
	}
	return results, nil
}

// putPage puts a page, and puts again what the store may not have got.
func (s *Schedules) putPage(ctx context.Context, rows []Schedule, results []Result, o *Change) {
	pending := make([]int, 0, len(rows))
	for i := range rows {
		pending = append(pending, i)
	}
	for try := 1; len(pending) > 0; try++ {
		v, err := s.view(ctx, try > 1)
		puts, places := make([]protocol.Put, 0, len(pending)), make([]int, 0, len(pending))
		for _, i := range pending {
			results[i] = Result{Key: rows[i].Key, Err: err}
			if err != nil {
				continue
			}
			put, ticks, wrong := s.define(rows[i], &v)
			if wrong != nil && !errors.Is(wrong, errOver) {
				results[i].Err = wrong
				continue
			}
			if put.By, put.If, put.Absent = o.By, o.IfRevision, o.IfAbsent; wrong != nil {
				put.If = put.Revision // it may only be there already
			}
			results[i].Revision, results[i].Next, results[i].Err = put.Revision, ticks.Next(v.now()), wrong
			puts, places = append(puts, put), append(places, i)
		}
		if len(puts) == 0 {
			return
		}
		answers, err := s.store.PutSchedules(ctx, puts)
		pending = pending[:0]
		for j, i := range places {
			var a protocol.PutAnswer
			if a.Err = err; err == nil {
				a = answers[j]
			}
			r := &results[i]
			switch {
			case a.Err == nil:
				r.Status, r.Err = [...]Status{"", Created, Changed, Unchanged}[a.Status], nil
				continue
			case errors.Is(a.Err, ErrRevision) && r.Err != nil:
			default:
				*r = Result{Key: r.Key, Err: named(r.Key, a.Err)}
			}
			if unknown(ctx, a.Err) && try < tries {
				pending = append(pending, i)
			}
		}
	}
}

// unknown reports whether a change with this error may be sent again.
func unknown(ctx context.Context, err error) bool {
	return err != nil && ctx.Err() == nil && !errors.Is(err, ErrRevision) && !errors.Is(err, protocol.ErrPermanent)
}

func named(key string, err error) error { return fmt.Errorf("schedule %q: %w", key, err) }

// note keeps an act in the journal of a key, or of the job, and in the audit log.
func (s *Schedules) note(ctx context.Context, key string, act fleet.Act, fact fleet.Fact) {
	now, err := s.fleet.Now(ctx)
	if err != nil {
		return
	}
	fact.By, fact.Reason, fact.Via, fact.From = act.By, protocol.Cut(act.Reason, protocol.MaxReason), act.Via, now.Truncate(time.Millisecond)
	if fact.Via == "" {
		fact.Via = wire.ViaGo
	}
	if fact.Why = ""; fact.Kind == wire.FactPaused {
		fact.Why = fact.Reason
	}
	s.fleet.Note(ctx, s.name(key), fact)
}

const atPrefix = "@at "

// text returns the schedule as package schedule reads it.
func (row *Schedule) text() string {
	if row.At.IsZero() {
		return strings.Join(strings.Fields(row.Cron), " ")
	}
	return atPrefix + row.At.Add(time.Second-1).Truncate(time.Second).UTC().Format(time.RFC3339)
}

// errOver is matched by the fault of a schedule that would be in order, had it a tick to come.
var errOver = errors.New("over")

type overFault struct{ jobs.Fault }

func (*overFault) Is(target error) bool { return target == errOver }

// As makes errors.As find the fault.
func (f *overFault) As(target any) bool {
	to, ok := target.(**jobs.Fault)
	if ok {
		*to = &f.Fault
	}
	return ok
}

// define returns what puts a schedule, and its ticks, or all of its faults.
func (s *Schedules) define(row Schedule, v *view) (protocol.Put, *schedule.Schedule, error) {
	var faults []error
	fault := func(field, value, rule string, args ...any) {
		faults = append(faults, &jobs.Fault{Field: field, Value: value, Rule: fmt.Sprintf(rule, args...)})
	}
	if !naming.Valid(row.Key) {
		fault("key", row.Key, naming.Rule)
	}
	if row.Timezone == "" {
		row.Timezone = v.zone
	}
	zone, err := wire.LoadZone(row.Timezone)
	if err != nil || strings.EqualFold(row.Timezone, "local") {
		fault("timezone", row.Timezone, "must be a name of the IANA time zone database, such as Europe/Berlin")
		zone = time.UTC
	}
	ticks := s.parse(&row, zone, v.policy.Jitter, fault)
	if !protocol.ValidPayload(row.Payload) {
		fault("payload", fmt.Sprintf("%d bytes", len(row.Payload)), protocol.PayloadRule)
	}
	row.Start, row.End = row.Start.Truncate(time.Millisecond), row.End.Truncate(time.Millisecond)
	for _, bound := range []struct {
		field string
		at    time.Time
	}{{"start", row.Start}, {"end", row.End}} {
		if at := bound.at; !at.IsZero() && (at.Year() < 1971 || at.Year() > 9998) {
			fault(bound.field, at.Format(time.RFC3339), "must be in the years 1971 to 9998")
		}
	}
	if !row.End.IsZero() && row.End.Before(row.Start) {
		fault("end", row.End.Format(time.RFC3339), "must not be before start, %s", row.Start.Format(time.RFC3339))
	}
	if len(faults) > 0 {
		return protocol.Put{}, nil, named(row.Key, errors.Join(faults...))
	}

	ticks = ticks.Within(row.Start, row.End)
	text := zone.String() + " " + ticks.String()
	now := v.now()
	put := protocol.Put{
		Name: s.name(row.Key), Revision: revision(text, &row), Schedule: text, After: now.UnixMilli(), Policy: v.policy, Until: now.Add(fleet.ClockLimit),
		Stored: protocol.Stored{Payload: row.Payload, Start: row.Start, End: row.End},
	}
	first := ticks.Next(time.UnixMilli(put.After))
	if first.IsZero() {
		field := "cron"
		if !row.At.IsZero() {
			field = "at"
		}
		over := &overFault{jobs.Fault{Field: field, Value: row.text(), Rule: "must have a tick to come: all are over, or not between start and end"}}
		return put, ticks, named(row.Key, over)
	}
	put.Due = wire.Due(put.Name, first.UnixMilli(), v.policy.Jitter)
	return put, ticks, nil
}

// parse returns the ticks of a schedule without its bounds.
func (s *Schedules) parse(row *Schedule, zone *time.Location, jitter time.Duration, fault func(field, value, rule string, args ...any)) *schedule.Schedule {
	field, text := "cron", row.text()
	switch at := !row.At.IsZero(); {
	case at && row.Cron != "":
		fault("cron", row.Cron, "must be left out beside at: a schedule has exactly one of the two")
		return nil
	case at:
		field = "at"
	case text == "":
		fault("cron", row.Cron, "must be there, or else at: a cron expression such as 0 7 * * 1-5, @hourly or @every 90s")
		return nil
	case strings.HasPrefix(strings.ToLower(text), atPrefix):
		fault("cron", row.Cron, "must not be an @at: write its time as at")
		return nil
	}
	ticks, err := schedule.Parse(text, zone, s.name(row.Key))
	switch {
	case err != nil:
		fault(field, text, "%v", err)
	case ticks.Empty():
		fault(field, text, "must have ticks")
	case len(zone.String())+1+len(ticks.String()) > protocol.MaxSchedule:
		fault(field, text, "must have at most %d bytes, with its time zone", protocol.MaxSchedule)
	case jitter > 0 && jitter >= ticks.MinInterval():
		fault(field, text, "must have more than the job's jitter, %s, between two ticks, and has %s", jitter, ticks.MinInterval())
	}
	return ticks
}

// revision identifies a definition.
func revision(text string, row *Schedule) string {
	h := sha256.New()
	_, _ = fmt.Fprintf(h, "%q %q %d %d", text, row.Payload, wire.UnixMilli(row.Start), wire.UnixMilli(row.End))
	return hex.EncodeToString(h.Sum(nil)[:6])
}
