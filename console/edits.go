package console

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
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
	page.EditPage
	of  *fleet.JobStatus
	all *schedules.Schedules
}

// inputs are the fields of an edit but for its payload and reason, which are in no URL.
var inputs = []string{"key", "cron", "at", "timezone", "start", "end"}

// edit reads what is typed. Its page is not compressed, since it may have a secret.
func (q *request) edit() (e edit, err error) {
	q.r.Header.Del("Accept-Encoding")
	e.Job, e.Key, e.Inputs, e.Values = q.r.PathValue("job"), q.r.PathValue("key"), inputs, map[string]string{}
	if _, err = q.now(); err == nil {
		e.of, e.all, err = q.stored(e.Job)
	}
	if err != nil {
		return e, err
	}
	noun, names, typed, zone := "parameter", inputs, q.values, ""
	if q.r.Method == http.MethodPost {
		noun, names, typed = "field", slices.Concat(inputs, []string{"payload", "reason", "revision"}), q.form
	}
	values, err := typed()
	if err != nil {
		return e, err
	}
	err = view.Read(values, noun, func(p *view.Parameters) {
		for _, name := range names {
			value := ""
			view.Checked(p, name, &value, func(s string) string {
				if name == "reason" {
					return view.TextRule(oneLine(s), protocol.MaxReason)
				}
				return ""
			})
			if e.Values[name] = unixLines(value); name != "payload" {
				e.Values[name] = oneLine(value)
			}
		}
		if noun == "parameter" {
			p.Zone(&zone) // in which pages show times
		}
	})
	if e.Values["key"] = cmp.Or(e.Key, e.Values["key"]); err != nil {
		err = badQuery(err)
	}
	return e, err
}

// unixLines returns a text without the ends of lines that are lost when a form sends it.
func unixLines[T ~string](s T) T {
	return T(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(s)))
}

const timeRule = "must be a time such as 2030-01-31 08:00, in the time zone of the schedule, or as RFC 3339 writes it"

// timeIn reads a time as people type it; the zero time if it is none.
func timeIn(text string, zone *time.Location) time.Time {
	for _, layout := range []string{time.RFC3339, time.DateTime, "2006-01-02 15:04"} {
		if t, err := time.ParseInLocation(layout, text, zone); err == nil {
			return t
		}
	}
	return time.Time{}
}

// timeText writes a time so that timeIn reads the same one, also in an hour that a clock has twice.
func timeText(t time.Time, zone *time.Location) string {
	text := t.In(zone).Format("2006-01-02 15:04:05.999")
	switch {
	case t.IsZero():
		return ""
	case timeIn(text, zone).Equal(t):
		return text
	}
	return t.In(zone).Format(time.RFC3339Nano)
}

func zoneNamed(name string) *time.Location {
	if zone, err := wire.LoadZone(name); err == nil {
		return zone
	}
	return time.UTC
}

// previewTicks is how many ticks a form shows.
const previewTicks = 5

// evaluate returns the schedule that is typed with its coming ticks, and notes all that is wrong with
// it.
func (e *edit) evaluate(ctx context.Context) (row schedules.Schedule, coming []time.Time, err error) {
	row = schedules.Schedule{
		Key: e.Values["key"], Cron: e.Values["cron"], Timezone: cmp.Or(e.Values["timezone"], e.of.Timezone), Payload: e.Values["payload"],
	}
	for i, at := range []*time.Time{&row.At, &row.Start, &row.End} {
		name := []string{"at", "start", "end"}[i]
		if *at = timeIn(e.Values[name], zoneNamed(row.Timezone)); at.IsZero() && e.Values[name] != "" {
			e.Faults = append(e.Faults, fault(name, shortened(e.Values[name]), timeRule))
		}
	}
	if e.Values["at"] != "" && row.At.IsZero() { // it is wrong, and not missing
		row.At = time.Now().Add(time.Hour)
	}
	coming, err = e.all.NextTicks(ctx, row, previewTicks)
	if _, wrong := errors.AsType[*jobs.Fault](err); wrong {
		e.Faults, err = append(e.Faults, badQuery(err).Errors...), nil
	}
	return row, coming, err
}

// preview says what a schedule that is being typed would do.
func (q *request) preview() (any, error) {
	e, err := q.edit()
	if err != nil {
		return nil, err
	}
	row, coming, err := e.evaluate(q.r.Context())
	return page.PreviewPage{Words: view.Words(q.from.Wording, e.Job, &row), Zone: row.Timezone, Coming: coming, Faults: e.Faults}, err
}

// editForm is the form of a new schedule, or of one that is there.
func (q *request) editForm() (any, error) {
	e, err := q.edit()
	if err != nil {
		return nil, err
	}
	if e.Key == "" {
		e.Values["timezone"] = cmp.Or(e.Values["timezone"], e.of.Timezone)
		return e.EditPage, nil
	}
	row, err := e.all.Get(q.r.Context(), e.Key)
	zone := zoneNamed(row.Timezone)
	e.Values = map[string]string{
		"key": e.Key, "cron": row.Cron, "timezone": row.Timezone, "payload": row.Payload, "revision": row.Revision,
		"at": timeText(row.At, zone), "start": timeText(row.Start, zone), "end": timeText(row.End, zone),
	}
	return e.EditPage, err
}

// submitEdit puts what is typed, if nobody has changed the schedule since the form was made.
func (q *request) submitEdit() *problem {
	e, err := q.edit()
	if err != nil {
		return problemOf(err)
	}
	ctx := q.r.Context()
	row, _, err := e.evaluate(ctx)
	if err != nil {
		return problemOf(err)
	}
	present, err := e.all.Get(ctx, row.Key)
	if err != nil && !errors.Is(err, schedules.ErrNotFound) {
		return problemOf(err)
	}
	if unixLines(present.Payload) == row.Payload {
		row.Payload = present.Payload // nobody has edited it
	}
	status, condition := http.StatusBadRequest, schedules.IfAbsent()
	if revision := e.Values["revision"]; revision != "" {
		condition = schedules.IfRevision(revision)
	}
	if len(e.Faults) == 0 {
		_, err = e.all.Put(ctx, row, condition, schedules.As(fleet.Act{By: q.caller.by(), Reason: e.Values["reason"], Via: wire.ViaConsole}))
		_, wrong := errors.AsType[*jobs.Fault](err)
		switch {
		case err == nil:
			q.c.expire()
			q.redirect(page.JobPath(naming.Keyed(e.Job, row.Key)))
			return nil
		case wrong:
			e.Faults = badQuery(err).Errors
		case !errors.Is(err, schedules.ErrRevision):
			return problemOf(err)
		case e.Key == "":
			status, e.Faults = http.StatusConflict, []page.Fault{fault("key", row.Key, "is taken: there is a schedule of this key already")}
		default: // who has seen what it is now may send the form again
			status, e.Meanwhile, e.Values["revision"] = http.StatusConflict, true, present.Revision
			if present.Key != "" {
				e.Present = view.StoredFields(&present, present.Timezone)
			}
		}
	}
	return q.write(status, e.EditPage)
}
