package schedules_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease/memlease"
	"github.com/solotick/solotick/schedules"
)

// world is the schedules of a job in a store in memory, in a bubble whose clock begins at 2000-01-01
// 00:00 UTC, a Saturday.
type world struct {
	*testing.T
	store *memlease.Store
	fleet *fleet.Fleet
	all   *schedules.Schedules
}

func job(t *testing.T, options ...jobs.Option) *jobs.Job {
	j, err := jobs.New("report", "", func(context.Context, jobs.Run) error { return nil }, append(options, jobs.WithSchedules())...)
	require.NoError(t, err)
	return j
}

func inWorld(t *testing.T, test func(w *world), options ...jobs.Option) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{T: t, store: new(memlease.Store)}
		var err error
		w.fleet, err = fleet.New(w.store)
		require.NoError(t, err)
		w.defined(job(t, options...))
		w.all, err = schedules.New(w.store, "report")
		require.NoError(t, err)
		test(w)
	})
}

// defined makes the record that a replica with this job would.
func (w *world) defined(j *jobs.Job) {
	_, err := w.store.Sync(w.Context(), []protocol.Sync{{
		Name: j.Name(), Watermark: time.Now().UnixMilli(), Revision: j.ScheduleRevision(), Schedule: j.ScheduleText(), Policy: wire.PolicyOf(j.Spec()), Defines: true,
	}})
	require.NoError(w, err)
}

func (w *world) put(row schedules.Schedule, options ...schedules.Option) schedules.Result {
	w.Helper()
	r, err := w.all.Put(w.Context(), row, options...)
	require.NoError(w, err)
	return r
}

func (w *world) get(key string) schedules.Schedule {
	w.Helper()
	row, err := w.all.Get(w.Context(), key)
	require.NoError(w, err)
	return row
}

func (w *world) audit() []string {
	log, err := w.fleet.Audit(w.Context(), "", 100)
	require.NoError(w, err)
	var all []string
	for _, f := range log.Facts {
		all = append(all, f.Job+": "+f.Words(time.UTC, nil))
	}
	return all
}

func TestPutIsReadAsItWasWritten(t *testing.T) {
	inWorld(t, func(w *world) {
		start, end := time.Now().Add(24*time.Hour), time.Now().Add(96*time.Hour)
		r := w.put(schedules.Schedule{
			Key: "acme", Cron: " 0  7 * * 1-5", Timezone: "Asia/Shanghai", Payload: "{\"format\": \"pdf\"}", Start: start, End: end,
		}, schedules.By("billing"))
		monday := time.Date(2000, 1, 2, 23, 0, 0, 0, time.UTC)
		require.Equal(w, schedules.Result{Key: "acme", Status: schedules.Created, Revision: r.Revision, Next: monday}, r)
		require.Equal(w, schedules.Schedule{
			Key: "acme", Cron: "0 7 * * 1-5", Timezone: "Asia/Shanghai", Payload: "{\"format\": \"pdf\"}", Start: start.UTC(), End: end.UTC(),
			Revision: r.Revision, Updated: time.Now().UTC(), UpdatedBy: "billing", Next: monday,
		}, w.get("acme"))

		r = w.put(schedules.Schedule{Key: "once", At: time.Now().Add(time.Hour + 1)})
		require.Equal(w, time.Now().Add(time.Hour+time.Second).UTC(), r.Next, "a tick is a whole second, and never early")
		row := w.get("once")
		require.Equal(w, r.Next, row.At)
		require.Equal(w, []string{"", "UTC"}, []string{row.Cron, row.Timezone})
		require.Equal(w, schedules.Unchanged, w.put(row).Status, "what was read is what is there")

		_, err := w.all.Get(w.Context(), "none")
		require.ErrorIs(w, err, schedules.ErrNotFound)
		require.ErrorContains(w, err, `"none"`)
		_, err = w.all.Get(w.Context(), "a b")
		require.ErrorIs(w, err, schedules.ErrNotFound)
	})
}

func TestPutOfWhatIsThereChangesNothing(t *testing.T) {
	inWorld(t, func(w *world) {
		acme := schedules.Schedule{Key: "acme", Cron: "@hourly"}
		first := w.put(acme)
		time.Sleep(time.Minute)
		require.Equal(w, schedules.Unchanged, w.put(acme).Status)
		require.Equal(w, time.Now().Add(-time.Minute).UTC(), w.get("acme").Updated)

		for what, change := range map[string]func(*schedules.Schedule){
			"cron": func(s *schedules.Schedule) { s.Cron = "@daily" }, "timezone": func(s *schedules.Schedule) { s.Timezone = "Europe/Berlin" },
			"payload": func(s *schedules.Schedule) { s.Payload = "x" }, "start": func(s *schedules.Schedule) { s.Start = time.Now() },
			"end": func(s *schedules.Schedule) { s.End = time.Now().Add(48 * time.Hour) },
		} {
			other := acme
			change(&other)
			r := w.put(other)
			require.Equal(w, schedules.Changed, r.Status, what)
			require.NotEqual(w, first.Revision, r.Revision, what)
			require.Equal(w, schedules.Changed, w.put(acme).Status, what)
		}
	})
}

func TestChangesCanExpectARevision(t *testing.T) {
	inWorld(t, func(w *world) {
		acme := schedules.Schedule{Key: "acme", Cron: "@hourly"}
		first := w.put(acme, schedules.IfAbsent())
		acme.Cron = "@daily"
		_, err := w.all.Put(w.Context(), acme, schedules.IfAbsent())
		require.ErrorIs(w, err, schedules.ErrRevision)
		_, err = w.all.Put(w.Context(), acme, schedules.IfRevision("other"))
		require.ErrorIs(w, err, schedules.ErrRevision)
		require.Equal(w, first.Revision, w.get("acme").Revision)
		second := w.put(acme, schedules.IfRevision(first.Revision))
		require.Equal(w, schedules.Changed, second.Status)

		_, err = w.all.Delete(w.Context(), "acme", schedules.IfRevision(first.Revision))
		require.ErrorIs(w, err, schedules.ErrRevision)
		deleted, err := w.all.Delete(w.Context(), "acme", schedules.IfRevision(second.Revision))
		require.NoError(w, err)
		require.True(w, deleted)
		deleted, err = w.all.Delete(w.Context(), "acme")
		require.NoError(w, err)
		require.False(w, deleted)
		_, err = w.all.Get(w.Context(), "acme")
		require.ErrorIs(w, err, schedules.ErrNotFound)
	})
}

func TestAllFaultsAreReturnedAtOnce(t *testing.T) {
	inWorld(t, func(w *world) {
		now := time.Now()
		for name, test := range map[string]struct {
			row  schedules.Schedule
			want []string
		}{
			"all": {schedules.Schedule{Key: "a b", Cron: "61 * * * *", Timezone: "Local", Payload: "a\x00", Start: now.Add(time.Hour), End: now},
				[]string{"key", "timezone", "cron", "payload", "end"}},
			"neither":   {schedules.Schedule{Key: "a"}, []string{"cron"}},
			"both":      {schedules.Schedule{Key: "a", Cron: "@daily", At: now.Add(time.Hour)}, []string{"cron"}},
			"an @at":    {schedules.Schedule{Key: "a", Cron: "@AT 2030-01-31T08:00:00Z"}, []string{"cron"}},
			"no ticks":  {schedules.Schedule{Key: "a", Cron: "@triggered"}, []string{"cron"}},
			"stored":    {schedules.Schedule{Key: "a", Cron: "@stored"}, []string{"cron"}},
			"jitter":    {schedules.Schedule{Key: "a", Cron: "* * * * *"}, []string{"cron"}},
			"long":      {schedules.Schedule{Key: "a", Cron: strings.Repeat("0,", 300) + "0 * * * *"}, []string{"cron"}},
			"payload":   {schedules.Schedule{Key: "a", Cron: "@daily", Payload: strings.Repeat("a", 4097)}, []string{"payload"}},
			"years":     {schedules.Schedule{Key: "a", Cron: "@daily", Start: now.AddDate(-50, 0, 0), End: now.AddDate(9000, 0, 0)}, []string{"start", "end"}},
			"over":      {schedules.Schedule{Key: "a", At: now}, []string{"at"}},
			"in bounds": {schedules.Schedule{Key: "a", Cron: "@daily", Start: now.Add(time.Hour), End: now.Add(2 * time.Hour)}, []string{"cron"}},
		} {
			_, err := w.all.Put(w.Context(), test.row)
			require.ErrorContains(w, err, fmt.Sprintf("schedule %q: ", test.row.Key), name)
			var fields []string
			var walk func(err error)
			walk = func(err error) {
				if joined, ok := err.(interface{ Unwrap() []error }); ok {
					for _, one := range joined.Unwrap() {
						walk(one)
					}
					return
				}
				if next := errors.Unwrap(err); next != nil {
					walk(next)
					return
				}
				fault, ok := errors.AsType[*jobs.Fault](err)
				require.True(w, ok, "%s: %v", name, err)
				fields = append(fields, fault.Field)
			}
			walk(err)
			require.Equal(w, test.want, fields, "%s: %v", name, err)
		}
		page, err := w.all.List(w.Context(), "", "", 10)
		require.NoError(w, err)
		require.Empty(w, page.Schedules)
	}, jobs.WithJitter(time.Minute))
}

func TestScheduleThatIsOverStaysWhatItIs(t *testing.T) {
	inWorld(t, func(w *world) {
		welcome := schedules.Schedule{Key: "welcome", At: time.Now().Add(time.Hour)}
		w.put(welcome)
		time.Sleep(2 * time.Hour)
		require.Equal(w, schedules.Unchanged, w.put(welcome).Status)
		welcome.Payload = "other"
		_, err := w.all.Put(w.Context(), welcome)
		require.ErrorContains(w, err, `at: "@at 2000-01-01T01:00:00Z" must have a tick to come`)
	})
}

func TestManyArePutEachByItself(t *testing.T) {
	inWorld(t, func(w *world) {
		rows := make([]schedules.Schedule, 1000)
		for i := range rows {
			rows[i] = schedules.Schedule{Key: fmt.Sprintf("k%03d", i), Cron: "H * * * *"}
		}
		rows[500].Cron = "never"
		results, err := w.all.PutAll(w.Context(), rows, schedules.As(fleet.Act{By: "ada", Reason: "move", Via: "cli"}))
		require.NoError(w, err)
		next := map[time.Time]bool{}
		for i, r := range results {
			require.Equal(w, rows[i].Key, r.Key)
			if i == 500 {
				require.ErrorContains(w, r.Err, `cron: "never"`)
				require.Empty(w, r.Status)
				continue
			}
			require.Equal(w, schedules.Created, r.Status)
			next[r.Next] = true
		}
		require.Len(w, next, 60, "H spreads by key")
		require.Equal(w, []string{`report: ada put 999 schedules because "move".`}, w.audit())

		seen := map[string]bool{}
		for cursor := ""; ; {
			page, err := w.all.List(w.Context(), "k1", cursor, 10)
			require.NoError(w, err)
			for _, row := range page.Schedules {
				seen[row.Key] = true
			}
			if cursor = page.Next; cursor == "" {
				break
			}
			require.GreaterOrEqual(w, len(page.Schedules), 10)
		}
		require.Len(w, seen, 100)
	})
}

func TestActsAreInTheAuditLog(t *testing.T) {
	inWorld(t, func(w *world) {
		act := fleet.Act{By: "ada", Reason: "asked for", Via: "cli"}
		w.put(schedules.Schedule{Key: "eu-a", Cron: "@hourly", Payload: "7"}, schedules.As(act))
		w.put(schedules.Schedule{Key: "eu-b", Cron: "@hourly"})
		w.put(schedules.Schedule{Key: "us-a", Cron: "@hourly"})
		require.Equal(w, "ada", w.get("eu-a").UpdatedBy)

		require.NoError(w, w.all.Pause(w.Context(), "eu-a", act))
		require.Equal(w, &schedules.Pause{By: "ada", Reason: "asked for", Since: time.Now().UTC()}, w.get("eu-a").Paused)
		n, err := w.all.PausePrefix(w.Context(), "eu-", act)
		require.NoError(w, err)
		require.Equal(w, 1, n, "the other is paused already")
		time.Sleep(time.Second)
		n, err = w.all.ResumePrefix(w.Context(), "", act)
		require.NoError(w, err)
		require.Equal(w, 2, n)
		require.Nil(w, w.get("eu-b").Paused)
		resumed, err := w.all.Resume(w.Context(), "eu-b", act)
		require.NoError(w, err)
		require.False(w, resumed)

		triggered, err := w.all.Trigger(w.Context(), "eu-a", fleet.TriggerOptions{By: "ada", Via: "cli"})
		require.NoError(w, err)
		require.True(w, strings.HasPrefix(triggered.ID, "default/report/eu-a/"), triggered.ID)
		_, err = w.fleet.Trigger(w.Context(), "report", fleet.TriggerOptions{By: "ada"})
		require.ErrorIs(w, err, fleet.ErrStored)
		_, err = w.all.Trigger(w.Context(), "none", fleet.TriggerOptions{By: "ada"})
		require.ErrorIs(w, err, schedules.ErrNotFound)
		require.ErrorIs(w, w.all.Pause(w.Context(), "none", act), schedules.ErrNotFound)
		_, err = w.all.Resume(w.Context(), "none", act)
		require.ErrorIs(w, err, schedules.ErrNotFound)
		_, err = w.all.Delete(w.Context(), "us-a", schedules.As(act))
		require.NoError(w, err)

		require.Equal(w, []string{
			`report/us-a: ada deleted the schedule because "asked for".`,
			"report/eu-a: ada triggered it: the tick of 2000-01-01 00:00:01.001 +0000, with a payload of 1 bytes.",
			`report: ada resumed 2 schedules whose keys begin with "" because "asked for".`,
			`report: ada paused 1 schedules whose keys begin with "eu-" because "asked for".`,
			`report/eu-a: ada paused it because "asked for".`,
			`report/eu-a: ada put the schedule @hourly because "asked for".`,
		}, w.audit())
		facts, err := w.fleet.Facts(w.Context(), "report/eu-a")
		require.NoError(w, err)
		require.Len(w, facts, 3)
		facts, err = w.fleet.Facts(w.Context(), "report/us-a")
		require.NoError(w, err)
		require.Empty(w, facts, "nothing of a deleted one stays")
		facts, err = w.fleet.Facts(w.Context(), "report")
		require.NoError(w, err)
		require.Equal(w, "report/us-a", facts[0].Job)
	})
}

func TestImportTakesWhatExportWrote(t *testing.T) {
	inWorld(t, func(w *world) {
		w.put(schedules.Schedule{Key: "acme", Cron: "0 7 * * 1-5", Timezone: "Asia/Shanghai", Payload: "\"<&\"\n"}, schedules.By("ada"))
		w.put(schedules.Schedule{Key: "once", At: time.Now().Add(time.Hour)})
		for i := range 600 {
			w.put(schedules.Schedule{Key: fmt.Sprintf("k%d", i), Cron: "@hourly", End: time.Now().Add(24 * time.Hour)})
		}
		require.NoError(w, w.all.Pause(w.Context(), "once", fleet.Act{By: "ada", Reason: "wait"}))
		var out bytes.Buffer
		n, err := w.all.Export(w.Context(), &out, "")
		require.NoError(w, err)
		require.Equal(w, 602, n)
		lines := strings.Count(out.String(), "\n")

		other := &world{T: w.T, store: new(memlease.Store)}
		other.all, err = schedules.Of(other.store, job(w.T))
		require.NoError(w, err)
		text := "\n" + out.String() + `{"key": "acme", "corn": "@hourly"}` + "\nno json\n" + `{"key": "acme", "cron": "@daily"} {}` + "\n" + `{"key": "k1", "cron": "@daily"}`
		var failed []string
		counts := map[schedules.Status]int{}
		last := 0
		each := func(line int, r schedules.Result) {
			require.Greater(w, line, last)
			last = line
			counts[r.Status]++
			if r.Err != nil {
				failed = append(failed, fmt.Sprintf("%d %s: %v", line-lines, r.Key, r.Err))
			}
		}
		require.NoError(w, other.all.Import(w.Context(), strings.NewReader(text), each))
		require.Equal(w, map[schedules.Status]int{schedules.Created: 602, schedules.Changed: 1, "": 3}, counts)
		require.Equal(w, []string{
			`2 acme: json: unknown field "corn"`, "3 : invalid character 'o' in literal null (expecting 'u')", "4 acme: must hold one schedule",
		}, failed)

		want, have := w.get("acme"), other.get("acme")
		want.UpdatedBy, want.Updated, have.Updated = "", time.Time{}, time.Time{}
		require.Equal(w, want, have)
		require.Equal(w, "wait", other.get("once").Paused.Reason)
		require.Equal(w, "@daily", other.get("k1").Cron)

		err = other.all.Import(w.Context(), strings.NewReader(strings.Repeat("x", 1<<17)), nil)
		require.EqualError(w, err, "line 1: must have at most 65536 bytes")
	})
}

func TestJobDecidesWhetherItHasSchedules(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{T: t, store: new(memlease.Store)}
		unknown, err := schedules.New(w.store, "report")
		require.NoError(t, err)
		acme := schedules.Schedule{Key: "acme", Cron: "0 9 * * *"}
		_, err = unknown.Put(t.Context(), acme)
		require.ErrorIs(t, err, fleet.ErrUnknown)
		require.ErrorContains(t, err, `job "report"`)

		of, err := schedules.Of(w.store, job(t, jobs.WithTimezone("Asia/Shanghai")))
		require.NoError(t, err)
		r, err := of.Put(t.Context(), acme)
		require.NoError(t, err)
		require.Equal(t, time.Date(2000, 1, 1, 1, 0, 0, 0, time.UTC), r.Next, "the job's time zone is the default")
		_, err = of.Put(t.Context(), schedules.Schedule{Key: "b", Cron: "@daily"}, nil)
		require.EqualError(t, err, "schedules: options[0]: nil must be an option")
		_, err = of.Put(t.Context(), schedules.Schedule{Key: "b", Cron: "@daily"}, schedules.As(fleet.Act{}))
		require.ErrorContains(t, err, `by: ""`)

		w.defined(job(t, jobs.WithTimezone("Europe/Berlin")))
		r, err = unknown.Put(t.Context(), acme)
		require.NoError(t, err)
		require.Equal(t, time.Date(2000, 1, 1, 8, 0, 0, 0, time.UTC), r.Next)

		own, err := jobs.New("report", "@hourly", func(context.Context, jobs.Run) error { return nil })
		require.NoError(t, err)
		_, err = schedules.Of(w.store, own)
		require.ErrorIs(t, err, schedules.ErrOwnSchedule)
		time.Sleep(time.Minute)
		w.defined(own)
		_, err = unknown.Put(t.Context(), acme)
		require.ErrorIs(t, err, schedules.ErrOwnSchedule)
		_, err = schedules.New(w.store, "a/b")
		require.ErrorContains(t, err, `job: "a/b" must start`)
		_, err = schedules.New(nil, "a")
		require.ErrorContains(t, err, "store: nil")
	})
}

func TestNextTicksAreThoseOfThePut(t *testing.T) {
	inWorld(t, func(w *world) {
		row := schedules.Schedule{Key: "acme", Cron: "0 9 * * *", Start: time.Now().Add(24 * time.Hour)}
		ticks, err := w.all.NextTicks(w.Context(), row, 2)
		require.NoError(w, err)
		require.Equal(w, []time.Time{time.Date(2000, 1, 2, 9, 0, 0, 0, time.UTC), time.Date(2000, 1, 3, 9, 0, 0, 0, time.UTC)}, ticks)
		require.Equal(w, ticks[0], w.put(row).Next)
		ticks, err = w.all.NextTicks(w.Context(), schedules.Schedule{Key: "acme", At: time.Now().Add(-time.Hour)}, 2)
		require.NoError(w, err)
		require.Empty(w, ticks)
		_, err = w.all.NextTicks(w.Context(), schedules.Schedule{Key: "acme"}, 2)
		require.ErrorContains(w, err, "must be there, or else at")
	})
}

// lossy loses the first answers of puts and withdrawals.
type lossy struct {
	*memlease.Store
	lost int
}

var errLost = errors.New("connection reset")

func (l *lossy) PutSchedules(ctx context.Context, puts []protocol.Put) ([]protocol.PutAnswer, error) {
	answers, err := l.Store.PutSchedules(ctx, puts)
	if l.lost--; l.lost >= 0 {
		answers[0] = protocol.PutAnswer{Err: errLost}
	}
	return answers, err
}

func (l *lossy) WithdrawSchedule(ctx context.Context, q protocol.Withdraw) (bool, error) {
	found, err := l.Store.WithdrawSchedule(ctx, q)
	if l.lost--; l.lost >= 0 {
		return false, errLost
	}
	return found, err
}

func TestChangesWhoseAnswerIsLostAreSentAgain(t *testing.T) {
	inWorld(t, func(w *world) {
		store := &lossy{Store: w.store, lost: 1}
		all, err := schedules.New(store, "report")
		require.NoError(w, err)
		rows := []schedules.Schedule{{Key: "a", Cron: "@hourly"}, {Key: "b", Cron: "@hourly"}}
		results, err := all.PutAll(w.Context(), rows, schedules.IfAbsent())
		require.NoError(w, err)
		require.NoError(w, results[0].Err)
		require.Equal(w, []schedules.Status{schedules.Unchanged, schedules.Created}, []schedules.Status{results[0].Status, results[1].Status})
		store.lost = 1
		deleted, err := all.Delete(w.Context(), "a")
		require.NoError(w, err)
		require.True(w, deleted)
		store.lost = 3
		_, err = all.Put(w.Context(), rows[0])
		require.ErrorIs(w, err, errLost)
		require.ErrorContains(w, err, `schedule "a"`)
	})
}

func TestChangesGoByFleetTimeOfNow(t *testing.T) {
	inWorld(t, func(w *world) {
		w.put(schedules.Schedule{Key: "a", Cron: "@hourly"})
		w.store.Step(-8 * time.Second) // the time that the first put was told is in the future now
		r := w.put(schedules.Schedule{Key: "b", At: time.Now().Add(-4 * time.Second)})
		require.Equal(w, schedules.Created, r.Status)
	})
}
