package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/naming"
	"github.com/solotick/solotick/internal/render"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/internal/wording"
	"github.com/solotick/solotick/jobs/schedule"
	"github.com/solotick/solotick/schedules"
)

// SchedulesQuery asks for a [SchedulesPage].
type SchedulesQuery struct {
	Prefix string `json:"prefix"` // of the keys
	Limit  int    `json:"limit"`
	After  string `json:"after"` // the Next of the page before
	Zone   string `json:"zone"`
}

func (q *SchedulesQuery) bind(p *Parameters) {
	p.Text("prefix", &q.Prefix)
	p.Number("limit", &q.Limit, 1, MaxLimit, DefaultLimit)
	Checked(p, "after", &q.After, AnyText)
	p.Zone(&q.Zone)
}

// SchedulesPage shows schedules of a job that lie in the store.
type SchedulesPage struct {
	Head
	Query     SchedulesQuery `json:"query"`
	Job       JobRow         `json:"job"`
	Schedules []ScheduleRow  `json:"schedules"` // of this page, by key
	Next      string         `json:"next"`      // cursor for after; "" on the last page

	listed []schedules.Schedule
}

// About returns the job that the page is about. Times are in the zone of each schedule.
func (p SchedulesPage) About() (job, zone string) { return p.Job.Job, "" }

// ScheduleRow is a schedule in the store, with the size of its payload in place of the payload.
type ScheduleRow struct {
	schedules.Schedule
	Words string `json:"schedule_words"`
	Size  int    `json:"payload_bytes"`
}

// Schedules shows a page of the schedules of a job.
func Schedules(s *Snapshot, j *fleet.JobStatus, list schedules.Page, q SchedulesQuery, now time.Time) SchedulesPage {
	slices.SortFunc(list.Schedules, func(a, b schedules.Schedule) int { return strings.Compare(a.Key, b.Key) })
	p := SchedulesPage{Head: s.head(now), Query: q, Job: s.row(j, stateOf(j), now), Next: list.Next, listed: list.Schedules}
	p.Schedules = make([]ScheduleRow, 0, len(list.Schedules))
	for _, row := range list.Schedules {
		r := ScheduleRow{Schedule: row, Words: Words(s.Wording, j.Name, &row), Size: len(row.Payload)}
		r.Payload = ""
		p.Schedules = append(p.Schedules, r)
	}
	return p
}

// PlainText implements [Page].
func (p SchedulesPage) PlainText() string {
	t := p.text("schedules of "+p.Job.Job, p.Query.Zone)
	t.table(render.StoredSchedules(t.View, p.listed))
	t.line("")
	t.line("%d shown%s", len(p.Schedules), more(p.Next))
	return t.String()
}

// ticksOf returns the ticks of a schedule; nil if this machine does not know its zone.
func ticksOf(job string, row *schedules.Schedule) *schedule.Schedule {
	ticks, err := wire.ParseSchedule(naming.Keyed(job, row.Key), row.Timezone+" "+render.Spec(*row))
	if err != nil {
		return nil
	}
	return ticks.Within(row.Start, row.End)
}

// Words says when a schedule ticks.
func Words(w wording.Wording, job string, row *schedules.Schedule) string {
	return wordsIn(ticksOf(job, row), render.Spec(*row), false, w)
}

// Stored shows the schedule JOB/KEY that d describes, as [Job] shows a job.
func Stored(s *Snapshot, d fleet.Description, row schedules.Schedule, q JobQuery, now time.Time) JobPage {
	p := Job(s, d, q, now)
	job, key := naming.SplitKeyed(d.Name)
	p.Stored = &StoredSchedule{Key: key, Fields: StoredFields(&row, cmp.Or(q.Zone, row.Timezone))}
	if of := s.job(job); of != nil {
		p.Stored.Of = s.row(of, stateOf(of), now)
	}
	p.schedule = ticksOf(job, &row)
	p.coming(s.Wording, now)
	if p.Next = row.Next; len(p.Coming) > 0 {
		p.Next = p.Coming[0].Tick
	}
	p.NextIn = until(p.Next, now)
	return p
}

// StoredSchedule is what the page of a schedule in the store has besides that of a job.
type StoredSchedule struct {
	Of     JobRow // its job
	Key    string
	Fields []Field // its definition
}

// StoredFields returns the definition of a schedule, with the size of its payload in place of the payload.
func StoredFields(row *schedules.Schedule, zone string) (list []Field) {
	add := func(name, value string) {
		if value != "" {
			list = append(list, Field{name, value})
		}
	}
	at := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return t.In(zoneOf(zone, "")).Format("2006-01-02 15:04:05 MST")
	}
	add("cron", row.Cron)
	add("at", at(row.At))
	add("timezone", row.Timezone)
	add("start", at(row.Start))
	add("end", at(row.End))
	add("payload", fmt.Sprintf("%d B", len(row.Payload)))
	add("revision", row.Revision)
	add("updated", at(row.Updated))
	add("updated_by", row.UpdatedBy)
	return list
}
