package console

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/solotick/solotick/console/internal/page"
	"github.com/solotick/solotick/console/internal/view"
	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/naming"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/schedules"
)

// edit is a schedule in the store as somebody types it.
type edit struct {
	key, cron, at, timezone, start, end string
	payload                             jobs.Payload
	reason                              string
	revision                            string // that is edited; "" of a new one
}

// previewTicks is how many ticks a form shows.
const previewTicks = 5

// bind names the values of an edit. Neither its payload nor its reason is a parameter of a URL.
func (e *edit) bind(p *view.Parameters, asked bool) {
	for name, value := range map[string]*string{"key": &e.key, "cron": &e.cron, "at": &e.at, "timezone": &e.timezone, "start": &e.start, "end": &e.end} {
		view.Checked(p, name, value, view.AnyText)
		*value = strings.TrimSpace(*value)
	}
	if asked {
		var shown string
		p.Zone(&shown) // in which pages show times
		return
	}
	view.Checked(p, "payload", &e.payload, func(jobs.Payload) string { return "" })
	e.payload = unixLines(e.payload)
	view.Checked(p, "reason", &e.reason, view.AnyText)
	e.reason = oneLine(e.reason)
	view.Checked(p, "revision", &e.revision, view.AnyText)
}

// unixLines returns a text with the ends of lines that forms, which send \r\n for each, do not keep.
func unixLines[T ~string](s T) T {
	return T(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(s)))
}

// editOf returns a schedule as a form shows it.
func editOf(row *schedules.Schedule) *edit {
	zone := zoneNamed(row.Timezone)
	return &edit{
		key: row.Key, cron: row.Cron, at: timeText(row.At, zone), timezone: row.Timezone, start: timeText(row.Start, zone), end: timeText(row.End, zone),
		payload: jobs.Payload(row.Payload), revision: row.Revision,
	}
}

func zoneNamed(name string) *time.Location {
	if zone, err := wire.LoadZone(name); err == nil {
		return zone
	}
	return time.UTC
}

const timeRule = "must be a time such as 2030-01-31 08:00, in the time zone of the schedule, or as RFC 3339 writes it"

// timeIn reads a time as people type it.
func timeIn(text string, zone *time.Location) (time.Time, bool) {
	for _, layout := range []string{time.RFC3339, time.DateTime, "2006-01-02 15:04"} {
		if t, err := time.ParseInLocation(layout, text, zone); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// timeText writes a time so that timeIn reads the same one, also in an hour that a clock has twice.
func timeText(t time.Time, zone *time.Location) string {
	if t.IsZero() {
		return ""
	}
	text := t.In(zone).Format("2006-01-02 15:04:05.999")
	if same, _ := timeIn(text, zone); same.Equal(t) {
		return text
	}
	return t.In(zone).Format(time.RFC3339Nano)
}

// editing is a form with what its answer needs.
type editing struct {
	*edit
	of  *fleet.JobStatus
	all *schedules.Schedules
}

// editing finds the job of the path, and reads what is typed, unless nothing is yet.
func (q *request) editing() (e editing, err error) {
	job, key := q.r.PathValue("job"), q.r.PathValue("key")
	if key != "" && !naming.Valid(key) {
		return e, badRequest(fault("key", shortened(key), naming.Rule))
	}
	s, err := q.now()
	if err != nil {
		return e, err
	}
	if e.of, err = s.jobInStore(job); err != nil {
		return e, err
	}
	if e.all, err = q.c.schedulesOf(job); err != nil {
		return e, err
	}
	e.edit = new(edit)
	asked, noun, typed := q.r.Method != http.MethodPost, "parameter", q.values
	if !asked {
		noun, typed = "field", q.form
	}
	values, err := typed()
	if err != nil {
		return e, err
	}
	if err := view.Read(values, noun, func(p *view.Parameters) { e.bind(p, asked) }); err != nil {
		return e, badQuery(err)
	}
	if key != "" {
		e.key = key
	}
	return e, nil
}

// evaluate returns the schedule that is typed, what it does, and all that is wrong with it.
func (e *editing) evaluate(ctx context.Context) (row schedules.Schedule, shown page.PreviewPage, err error) {
	row = schedules.Schedule{Key: e.key, Cron: e.cron, Timezone: e.timezone, Payload: string(e.payload)}
	if row.Timezone == "" {
		row.Timezone = e.of.Timezone
	}
	for _, typed := range []struct {
		name, text string
		at         *time.Time
	}{{"at", e.at, &row.At}, {"start", e.start, &row.Start}, {"end", e.end, &row.End}} {
		var ok bool
		if *typed.at, ok = timeIn(typed.text, zoneNamed(row.Timezone)); !ok && typed.text != "" {
			shown.Faults = append(shown.Faults, fault(typed.name, shortened(typed.text), timeRule))
		}
	}
	if e.at != "" && row.At.IsZero() { // it is wrong, and not missing
		row.At = time.Now().Add(time.Hour)
	}
	if rule := view.TextRule(e.reason, protocol.MaxReason); rule != "" {
		shown.Faults = append(shown.Faults, fault("reason", shortened(e.reason), rule))
	}
	shown.Zone = row.Timezone
	shown.Coming, err = e.all.NextTicks(ctx, row, previewTicks)
	if _, wrong := errors.AsType[*jobs.Fault](err); wrong {
		shown.Faults, err = append(shown.Faults, badQuery(err).Errors...), nil
	}
	return row, shown, err
}

// preview says what a schedule that is being typed would do.
func (q *request) preview() (any, error) {
	e, err := q.editing()
	if err != nil {
		return nil, err
	}
	row, shown, err := e.evaluate(q.r.Context())
	if len(shown.Faults) == 0 {
		shown.Words = view.Words(q.from.Wording, e.of.Name, &row)
	}
	return shown, err
}

// editForm is the form of a new schedule, or of one that is there.
func (q *request) editForm() (any, error) {
	e, err := q.editing()
	if err != nil {
		return nil, err
	}
	if key := q.r.PathValue("key"); key != "" {
		row, err := e.all.Get(q.r.Context(), key)
		if err != nil {
			return nil, err
		}
		e.edit = editOf(&row)
	} else if e.timezone == "" {
		e.timezone = e.of.Timezone
	}
	shown := q.editPage(&e)
	if e.cron != "" || e.at != "" {
		row, preview, err := e.evaluate(q.r.Context())
		if err != nil {
			return nil, err
		}
		shown.Preview, shown.Preview.Words = preview, view.Words(q.from.Wording, e.of.Name, &row)
	}
	return shown, nil
}

// editPage is the form with what is typed. It is not compressed: it may have a secret.
func (q *request) editPage(e *editing) page.EditPage {
	q.r.Header.Del("Accept-Encoding")
	return page.EditPage{
		Job: e.of.Name, Key: q.r.PathValue("key"), Payload: string(e.payload), Reason: e.reason, Revision: e.revision,
		Inputs: []page.Field{{Name: "key", Value: e.key}, {Name: "cron", Value: e.cron}, {Name: "at", Value: e.at}, {Name: "timezone", Value: e.timezone}, {Name: "start", Value: e.start}, {Name: "end", Value: e.end}},
	}
}

// submitEdit puts what was typed, if nobody has changed the schedule since the form was made.
func (q *request) submitEdit() *problem {
	e, err := q.editing()
	if err != nil {
		return problemOf(err)
	}
	ctx := q.r.Context()
	row, preview, err := e.evaluate(ctx)
	if err != nil {
		return problemOf(err)
	}
	present, err := e.all.Get(ctx, e.key)
	if err != nil && !errors.Is(err, schedules.ErrNotFound) {
		return problemOf(err)
	}
	if e.revision != "" && unixLines(present.Payload) == row.Payload {
		row.Payload = present.Payload // nobody has edited it
	}
	status := http.StatusBadRequest
	if len(preview.Faults) == 0 {
		condition := schedules.IfAbsent()
		if e.revision != "" {
			condition = schedules.IfRevision(e.revision)
		}
		_, err = e.all.Put(ctx, row, condition, schedules.As(fleet.Act{By: q.caller.by(), Reason: e.reason, Via: wire.ViaConsole}))
		_, wrong := errors.AsType[*jobs.Fault](err)
		switch {
		case err == nil:
			q.c.expire()
			q.redirect(page.JobPath(naming.Keyed(e.of.Name, row.Key)))
			return nil
		case wrong:
			preview.Faults = badQuery(err).Errors
		case errors.Is(err, schedules.ErrRevision):
			status = http.StatusConflict
		default:
			return problemOf(err)
		}
	}
	shown := q.editPage(&e)
	shown.Faults = preview.Faults
	switch {
	case status != http.StatusConflict:
	case shown.Key == "":
		shown.Faults = []page.Fault{fault("key", e.key, "is taken: there is a schedule of this key already")}
	default: // who has seen what it is now may send the form again
		if present, err = e.all.Get(ctx, e.key); err != nil && !errors.Is(err, schedules.ErrNotFound) {
			return problemOf(err)
		}
		if shown.Meanwhile, shown.Revision = true, present.Revision; err == nil {
			shown.Present = view.StoredFields(&present, present.Timezone)
		}
	}
	return q.write(status, shown)
}
