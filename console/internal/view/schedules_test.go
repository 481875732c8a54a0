package view_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/console/internal/view"
	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/schedules"
)

// tenants is a snapshot with a job of stored schedules, and one of those.
func tenants(t *testing.T) (*view.Snapshot, fleet.Description, schedules.Schedule) {
	s := small(t)
	j, status := job(t, "tenants", "", jobs.WithSchedules(), jobs.WithTimezone("Europe/Berlin"))
	status.Paused = &fleet.Pause{By: "ann", Reason: "moving", Since: noon.Add(-time.Hour)}
	s.Given["tenants"] = j
	s.Status.Jobs = append(s.Status.Jobs, status)
	start := noon.Add(72 * time.Hour)
	row := schedules.Schedule{
		Key: "acme", Cron: "0 7 * * *", Timezone: "Asia/Tokyo", Payload: "secret", Start: start, End: start.Add(48 * time.Hour), Revision: "cafe", Updated: noon.Add(-time.Hour),
		UpdatedBy: "bob", Next: start.Add(10 * time.Hour),
	}
	d := fleet.Description{Now: noon, JobStatus: fleet.JobStatus{Name: "tenants/acme", Known: true, Schedule: row.Cron, Timezone: row.Timezone, Replicas: status.Replicas}}
	return s, d, row
}

func TestPageOfAScheduleHasTheTicksWithinItsBounds(t *testing.T) {
	s, d, row := tenants(t)
	p := view.Stored(s, d, row, query(t, view.Parse[view.JobQuery], ""), noon)
	require.Len(t, p.Coming, 2)
	require.Equal(t, "2026-11-02T22:00:00Z", p.Next.UTC().Format(time.RFC3339), "07:00 in Tokyo, from the start on")
	require.Equal(t, p.Next.Sub(noon), p.NextIn)
	require.Equal(t, "tenants", p.Stored.Of.Job)
	require.True(t, p.Stored.Of.InStore())
	require.False(t, p.InStore(), "it has ticks of its own")
	require.Equal(t, "ann", p.Stored.Of.Paused.By)
	require.Contains(t, p.Stored.Fields, view.Field{Name: "start", Value: "2026-11-02 21:00:00 JST"})
	require.Contains(t, p.Stored.Fields, view.Field{Name: "payload", Value: "6 B"})
	text := text(t, p)
	require.Regexp(t, `(?m)^updated_by +bob$`, text)
	require.Contains(t, text, "2026-11-03 07:00:00")
	require.NotContains(t, text+indented(t, p), "secret")
}

func TestSchedulesAreInTheOrderOfTheirKeys(t *testing.T) {
	s, _, row := tenants(t)
	once := schedules.Schedule{Key: "aaa", At: noon.Add(time.Hour), Timezone: "UTC", Next: noon.Add(time.Hour)}
	of := &s.Status.Jobs[len(s.Status.Jobs)-1]
	p := view.Schedules(s, of, schedules.Page{Schedules: []schedules.Schedule{row, once}, Next: "more"}, query(t, view.Parse[view.SchedulesQuery], "prefix=a"), noon)
	require.Equal(t, []string{"aaa", "acme"}, []string{p.Schedules[0].Key, p.Schedules[1].Key})
	require.Equal(t, "once, at 2026-10-30 13:00:00 UTC", p.Schedules[0].Words)
	require.Equal(t, 6, p.Schedules[1].Size)
	text := text(t, p)
	require.Regexp(t, `(?m)^acme +0 7 \* \* \* +Asia/Tokyo +.*6 B`, text)
	require.Contains(t, text, "2 shown, more with after=more")
	require.NotContains(t, indented(t, p), "secret")
}

func TestTickOfAScheduleIsInItsZoneAndServedByItsJob(t *testing.T) {
	s, d, _ := tenants(t)
	s.Stored = &d.JobStatus
	for i := range s.Status.Replicas {
		s.Status.Replicas[i].Jobs, s.Status.Replicas[i].JobCount = map[string]string{"tenants": "r"}, 1
	}
	tick := time.Date(2026, 10, 31, 22, 0, 0, 0, time.UTC)
	p := view.Why(s, fleet.Explanation{Job: "tenants/acme", Tick: tick, Verdict: wire.Future}, view.TickQuery{Job: "tenants/acme"}, noon)
	require.Equal(t, "Asia/Tokyo", p.Timezone)
	require.Equal(t, tick.Add(24*time.Hour), p.Later.UTC())
	require.Equal(t, view.AnswerMayClaim, p.Asked[0].Answer)
}
