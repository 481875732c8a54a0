package fleet_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/heartbeat"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease/memlease"
)

// world is a fleet on a store in memory, in a bubble whose clock begins at 2000-01-01 00:00 UTC.
type world struct {
	*testing.T
	store *memlease.Store
	fleet *fleet.Fleet
}

func inWorld(t *testing.T, test func(w world)) {
	synctest.Test(t, func(t *testing.T) {
		store := new(memlease.Store)
		f, err := fleet.New(store)
		require.NoError(t, err)
		w := world{t, store, f}
		test(w)
	})
}

// contended makes the records that a replica would.
func (w world) contended(names ...string) {
	for _, name := range names {
		_, err := w.store.Sync(w.Context(), []protocol.Sync{{Name: name, Watermark: time.Now().UnixMilli()}})
		require.NoError(w, err)
	}
}

// defined makes the record that a replica with this definition would.
func (w world) defined(options ...jobs.Option) {
	spec := job(w.T, "@hourly", options...).Spec()
	_, err := w.store.Sync(w.Context(), []protocol.Sync{{Name: spec.Name, Watermark: time.Now().UnixMilli(), Policy: wire.PolicyOf(spec)}})
	require.NoError(w, err)
}

// claim claims a tick, and returns the grant.
func (w world) claim(name string, tick int64, holder string) protocol.Grant {
	c := protocol.Claim{
		Name: name, Tick: tick, Holder: holder, Request: fmt.Sprintf("%s-%d", holder, tick), TTL: time.Minute,
		Overlap: protocol.OverlapSkip, Takeovers: 1,
	}
	a, err := w.store.Claim(w.Context(), c)
	require.NoError(w, err)
	if a.Status != protocol.Granted {
		require.Equal(w, protocol.Skipped, a.Status)
		return protocol.Grant{}
	}
	return protocol.Grant{
		Name: name, Tick: tick, Holder: holder, Request: c.Request, Token: a.Token, Attempt: a.Attempt, Takeovers: a.Takeovers, TTL: c.TTL,
	}
}

func (w world) settle(g protocol.Grant, outcome protocol.Outcome, note wire.Note) {
	g.Note = note.String()
	require.NoError(w, w.store.Settle(w.Context(), g, outcome))
}

func (w world) history(name string, n int) []fleet.Entry {
	list, err := w.fleet.History(w.Context(), name, n)
	require.NoError(w, err)
	return list
}

func TestHistoryShowsEveryFieldOfATick(t *testing.T) {
	inWorld(t, func(w world) {
		begin := time.Now().UTC()
		w.contended("report")
		time.Sleep(10 * time.Second)
		first := w.claim("report", begin.Add(10*time.Second).UnixMilli(), "r1")
		time.Sleep(10 * time.Second)
		w.claim("report", begin.Add(20*time.Second).UnixMilli(), "r2")
		w.settle(first, "failed", wire.Note{Started: begin.Add(11 * time.Second), Error: "exit status 1"})
		_, passed, err := w.store.Skip(w.Context(), protocol.Skip{
			Name: "report", From: begin.Add(20 * time.Second).UnixMilli(), To: begin.Add(25 * time.Second).UnixMilli(),
			Outcome: "missed", Request: "p", Holder: "r3", Note: wire.Note{Reason: "misfire", Count: 5}.String(),
		})
		require.NoError(w, err)
		require.True(w, passed)
		running := w.claim("report", begin.Add(30*time.Second).UnixMilli(), "r1")

		list := w.history("report", 0)
		id := func(after time.Duration) string {
			return fmt.Sprintf("default/report/%d", begin.Add(after).UnixMilli())
		}
		now := time.Now().UTC()
		require.Equal(w, []fleet.Entry{
			{
				Job: "report", ID: id(30 * time.Second), Scheduled: begin.Add(30 * time.Second), Count: 1, State: wire.StateRunning,
				Started: time.UnixMicro(running.Token).UTC(), Replica: "r1", Remaining: time.Minute, Token: running.Token, Attempts: 1,
				Runs: []fleet.Run{{Attempt: 1, Replica: "r1", Token: running.Token, Started: time.UnixMicro(running.Token).UTC(), End: "running"}},
			}, {
				Job: "report", ID: id(25 * time.Second), Scheduled: begin.Add(25 * time.Second), From: begin.Add(20 * time.Second), Count: 5,
				State: wire.StateSettled, Outcome: "missed", Ended: now, SettledAt: now, Replica: "r3", Reason: "misfire",
			}, {
				Job: "report", ID: id(20 * time.Second), Scheduled: begin.Add(20 * time.Second), Count: 1, State: wire.StateSettled, Outcome: "skipped",
				Ended: now, SettledAt: now, Replica: "r2", Reason: "overlap",
			}, {
				Job: "report", ID: id(10 * time.Second), Scheduled: begin.Add(10 * time.Second), Count: 1, State: wire.StateSettled, Outcome: "failed",
				Started: begin.Add(11 * time.Second), Ended: now, SettledAt: now, Replica: "r1", Token: first.Token, Attempts: 1, Error: "exit status 1",
				Runs: []fleet.Run{{
					Attempt: 1, Replica: "r1", Token: first.Token, Started: begin.Add(11 * time.Second), Ended: now, End: "failed", Error: "exit status 1",
				}},
			},
		}, list)
		require.Equal(w, 9*time.Second, list[3].Took())
		require.Zero(w, list[0].Took())
		require.True(w, list[1].IsRange())
		require.Len(w, w.history("report", 1), 2, "what is open does not count")
		require.Empty(w, w.history("nobody-knows-it", 0))

		time.Sleep(2 * time.Minute)
		require.Equal(w, wire.StateFree, w.history("report", 1)[0].State)
	})
}

func TestStatusListsTheNewestOutcomesInOrder(t *testing.T) {
	inWorld(t, func(w world) {
		w.contended("report")
		for i := range protocol.SummaryOutcomes + 3 {
			time.Sleep(time.Second)
			outcome := protocol.Outcome("succeeded")
			if i == protocol.SummaryOutcomes {
				outcome = "failed"
			}
			w.settle(w.claim("report", time.Now().UnixMilli(), "r1"), outcome, wire.Note{})
		}
		want := slices.Repeat([]string{"succeeded"}, protocol.SummaryOutcomes)
		want[protocol.SummaryOutcomes-3] = "failed"

		shown := func(v any) []string {
			text, err := fleet.Marshal(v)
			require.NoError(w, err)
			var got struct {
				Newest []string `json:"newest_outcomes"`
			}
			require.NoError(w, json.Unmarshal(text, &got))
			return got.Newest
		}
		s, err := w.fleet.Status(w.Context(), nil, "report", "fresh")
		require.NoError(w, err)
		require.Equal(w, want, shown(s.Jobs[0]))
		require.Equal(w, []string{}, shown(s.Jobs[1]), "without a record")
		d, err := w.fleet.Describe(w.Context(), "report", nil, 1, 1)
		require.NoError(w, err)
		require.Equal(w, want, shown(d))
	})
}

func TestHistoryIsBoundedInAge(t *testing.T) {
	inWorld(t, func(w world) {
		w.fleet.HideOlder(150 * time.Minute)
		w.contended("report")
		for range 4 {
			time.Sleep(time.Hour)
			w.settle(w.claim("report", time.Now().UnixMilli(), "r1"), "succeeded", wire.Note{})
		}
		require.Len(w, w.history("report", 0), 3)
		require.Len(w, w.history("report", 2), 2)
		time.Sleep(time.Hour)
		require.Len(w, w.history("report", 0), 2)
	})
}

func TestPauseAndResumeReturnThePauseBefore(t *testing.T) {
	inWorld(t, func(w world) {
		_, err := w.fleet.Pause(w.Context(), "report", fleet.Act{By: "ops1"})
		require.ErrorIs(w, err, protocol.ErrUnknown)
		w.contended("report")
		p, err := w.fleet.Pause(w.Context(), "report", fleet.Act{By: "ops1", Reason: "the database moves"})
		require.NoError(w, err)
		want := fleet.Pause{By: "ops1", Reason: "the database moves", Since: time.Now().UTC()}
		require.Equal(w, want, p)

		time.Sleep(time.Minute)
		p, err = w.fleet.Pause(w.Context(), "report", fleet.Act{By: "ops2", Reason: "me too"})
		require.NoError(w, err)
		want.By, want.Reason, want.Before = "ops2", "me too", true
		require.Equal(w, want, p, "the newest reason, and who gave it")
		p, err = w.fleet.Pause(w.Context(), "report", fleet.Act{By: "ops3"})
		require.NoError(w, err)
		require.Equal(w, want, p, "no reason leaves the one that there is")
		want.Before = false
		s, err := w.fleet.Status(w.Context(), nil)
		require.NoError(w, err)
		require.Len(w, s.Jobs, 1)
		require.True(w, s.Jobs[0].LeftOver(), "only the store knows it")
		s, err = w.fleet.Status(w.Context(), []*jobs.Job{job(w.T, "@every 10s")})
		require.False(w, s.Jobs[0].LeftOver())
		require.NoError(w, err)
		require.Equal(w, &want, s.Jobs[0].Paused)

		ended, err := w.fleet.Resume(w.Context(), "report", fleet.Act{By: "ops2"})
		require.NoError(w, err)
		require.Equal(w, &want, ended)
		s, err = w.fleet.Status(w.Context(), []*jobs.Job{job(w.T, "@hourly")})
		require.NoError(w, err)
		require.Nil(w, s.Jobs[0].Last, "nothing came due")
		ended, err = w.fleet.Resume(w.Context(), "report", fleet.Act{By: "ops2"})
		require.NoError(w, err)
		require.Nil(w, ended)
		e, err := w.fleet.Why(w.Context(), "report", job(w.T, "@every 10s"), time.Now().Add(-31*time.Second))
		require.NoError(w, err)
		require.Contains(w, e.Text, "It was skipped because the job was paused by ops2 at 00:00:01 because \"me too\", until ops2 resumed it at 00:01:01.")
	})
}

func TestStatusShowsWhoServesWhatAndWhoDisagrees(t *testing.T) {
	inWorld(t, func(w world) {
		begin := time.Now().UTC()
		announce := func(r heartbeat.Replica) {
			require.NoError(w, w.store.SendHeartbeat(w.Context(), r.ID, r.Encode(), time.Minute))
		}
		announce(heartbeat.Replica{ID: "r2", Jobs: map[string]string{"report": "bbb", "other": "ccc"}})
		announce(heartbeat.Replica{ID: "r1", Jobs: map[string]string{"report": "aaa", "other": "ccc"}})
		require.NoError(w, w.store.SendHeartbeat(w.Context(), "later", []byte("?"), time.Minute))
		w.contended("report", "other")
		time.Sleep(10 * time.Second)
		w.settle(w.claim("report", begin.Add(10*time.Second).UnixMilli(), "r1"), "succeeded", wire.Note{})
		time.Sleep(10 * time.Second)
		w.claim("report", begin.Add(20*time.Second).UnixMilli(), "r2")

		report := job(w.T, "@every 10s")
		alone, err := jobs.New("alone", "@every 10s", report.Handler())
		require.NoError(w, err)
		s, err := w.fleet.Status(w.Context(), []*jobs.Job{report, alone})
		require.NoError(w, err)
		require.Equal(w, "default", s.Namespace)
		require.Equal(w, time.Now().UTC(), s.Now)
		require.Equal(w, []string{"later", "r1", "r2"}, []string{s.Replicas[0].ID, s.Replicas[1].ID, s.Replicas[2].ID})
		require.Equal(w, 2, s.Replicas[1].JobCount)
		require.Len(w, s.Jobs, 3)

		r := s.Jobs[0]
		require.Equal(w, "report", r.Name)
		require.True(w, r.Given)
		require.True(w, r.Known)
		require.EqualValues(w, "succeeded", r.Last.Outcome)
		require.Len(w, r.Open, 1)
		require.Equal(w, "r2", r.Open[0].Replica)
		require.Equal(w, begin.Add(30*time.Second), r.Next)
		require.Equal(w, []string{"r1", "r2"}, r.Replicas)
		require.Equal(w, map[string][]string{"aaa": {"r1"}, "bbb": {"r2"}}, r.Revisions)
		require.False(w, r.Unserved)

		require.Equal(w, "alone", s.Jobs[1].Name)
		require.False(w, s.Jobs[1].Known)
		require.Empty(w, s.Jobs[1].Replicas)
		require.False(w, s.Jobs[1].Unserved, "one replica does not say what it serves")
		require.Equal(w, "other", s.Jobs[2].Name)
		require.False(w, s.Jobs[2].Given)
		require.True(w, s.Jobs[2].Known)
		require.Nil(w, s.Jobs[2].Revisions)
		require.Zero(w, s.Jobs[2].Next)

		require.NoError(w, w.store.SendHeartbeat(w.Context(), "later", nil, 0))
		s, err = w.fleet.Status(w.Context(), []*jobs.Job{report, alone})
		require.NoError(w, err)
		require.True(w, s.Jobs[1].Unserved)
		require.False(w, s.Jobs[0].Unserved)

		announce(heartbeat.Replica{ID: "r2", Stopping: true, Jobs: map[string]string{"report": "bbb", "other": "ccc"}})
		s, err = w.fleet.Status(w.Context(), []*jobs.Job{report})
		require.NoError(w, err)
		require.Equal(w, []string{"r1"}, s.Jobs[0].Replicas)
		require.Nil(w, s.Jobs[0].Revisions, "the next release may differ")
	})
}

func TestStatusShowsTicksThatNobodyDecidesAbout(t *testing.T) {
	inWorld(t, func(w world) {
		begin := time.Now().UTC()
		w.contended("report")
		overdue := func() time.Time {
			s, err := w.fleet.Status(w.Context(), []*jobs.Job{job(w.T, "@every 1m")})
			require.NoError(w, err)
			return s.Jobs[0].Overdue
		}
		time.Sleep(70 * time.Second)
		require.Zero(w, overdue(), "within the grace")
		time.Sleep(10 * time.Second)
		require.Equal(w, begin.Add(time.Minute), overdue())
		time.Sleep(time.Minute)
		require.Equal(w, begin.Add(time.Minute), overdue(), "the oldest")
		w.claim("report", begin.Add(time.Minute).UnixMilli(), "r1")
		require.Zero(w, overdue(), "what waits for its turn is not")
	})
}

func TestAResumeAloneIsNoTick(t *testing.T) {
	hourly, err := jobs.New("report", "@hourly", func(context.Context, jobs.Run) error { return nil })
	require.NoError(t, err)
	leads, err := jobs.New("report", "", func(context.Context, jobs.Run) error { return nil }, jobs.WithLeader())
	require.NoError(t, err)
	hour := time.Date(2026, 11, 2, 1, 0, 0, 0, time.UTC)
	within := fleet.Entry{From: hour, Scheduled: hour.Add(59 * time.Minute)}
	across := fleet.Entry{From: hour, Scheduled: hour.Add(time.Hour)}
	require.True(t, within.IsEmpty(hourly))
	require.False(t, across.IsEmpty(hourly))
	require.True(t, across.IsEmpty(leads))
	require.False(t, within.IsEmpty(nil), "nobody can tell")
	within.Count = 1
	require.False(t, within.IsEmpty(hourly), "somebody has counted")
	require.False(t, fleet.Entry{Scheduled: hour}.IsEmpty(hourly))
}

// With overlap allowed a long run is settled after shorter ones of newer ticks.
func TestHistoryAndWhyAgreeWhereTicksOverlap(t *testing.T) {
	inWorld(t, func(w world) {
		j := job(w.T, "* * * * * *", jobs.WithOverlap(jobs.Allow))
		name := j.Name()
		w.contended(name)
		const ticks = 5
		begin := time.Now().UnixMilli()
		var grants []protocol.Grant
		for i := range int64(ticks) {
			time.Sleep(time.Second)
			c := protocol.Claim{
				Name: name, Tick: begin + 1000*(i+1), Holder: "r1", Request: fmt.Sprint("r", i), TTL: time.Minute,
				Overlap: protocol.OverlapAllow, Takeovers: 1,
			}
			a, err := w.store.Claim(w.Context(), c)
			require.NoError(w, err)
			require.Equal(w, protocol.Granted, a.Status)
			grants = append(grants, protocol.Grant{
				Name: name, Tick: c.Tick, Holder: "r1", Request: c.Request, Token: a.Token, Attempt: a.Attempt, Takeovers: 1, TTL: c.TTL,
			})
		}
		for _, i := range []int{4, 1, 3, 0} { // 2 runs on
			time.Sleep(100 * time.Millisecond)
			require.NoError(w, w.store.Settle(w.Context(), grants[i], "succeeded"))
		}
		for n, want := range map[int][]int{0: {2, 4, 3, 1, 0}, 1: {2, 4}, 2: {2, 4, 3}} {
			list, err := w.fleet.History(w.Context(), name, n)
			require.NoError(w, err)
			var got []int
			for _, e := range list {
				got = append(got, int((e.Scheduled.UnixMilli()-begin)/1000)-1)
				why, err := w.fleet.Why(w.Context(), name, j, e.Scheduled)
				require.NoError(w, err)
				require.Equal(w, e, *why.Entry, "what history shows of a tick, why explains")
			}
			require.Equal(w, want, got)
		}
		newest, err := w.fleet.Why(w.Context(), name, j, time.Time{})
		require.NoError(w, err)
		require.Equal(w, begin+5000, newest.Tick.UnixMilli(), "the newest that was decided")
	})
}
