package engine_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/engine"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/lease/driver"
)

const acme = "report/acme"

// schedules is a session, and what a replica would ask it about one schedule.
type schedules struct {
	*testing.T
	*engine.Session
	requests int
}

func inSchedules(t *testing.T, f func(s *schedules)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { f(&schedules{T: t, Session: new(engine.Session)}) })
}

func in(d time.Duration) int64 { return time.Now().Add(d).UnixMilli() }

// put puts the schedule of acme, next due at a time.
func (s *schedules) put(revision string, due int64, change ...func(p *protocol.Put)) protocol.PutAnswer {
	s.Helper()
	p := protocol.Put{Name: acme, Revision: revision, Schedule: "UTC @every 1m", After: in(0), Stored: protocol.Stored{Due: due, Payload: "pdf"}}
	for _, c := range change {
		c(&p)
	}
	answers, err := s.PutSchedules(s.Context(), []protocol.Put{p})
	require.NoError(s, err)
	return answers[0]
}

func (s *schedules) claim(revision string, tick, next int64) protocol.Answer {
	s.Helper()
	s.requests++
	a, err := s.Claim(s.Context(), protocol.Claim{
		Name: acme, Tick: tick, Holder: "a", Request: "r" + string(rune('a'+s.requests)), TTL: 10 * time.Second, Takeovers: 1,
		NotBefore: time.UnixMilli(tick), Overlap: protocol.OverlapSkip, Revision: revision, NextDue: next,
	})
	require.NoError(s, err)
	return a
}

func (s *schedules) settle(a protocol.Answer, tick int64) {
	s.Helper()
	g := protocol.Grant{Name: acme, Tick: tick, Holder: "a", Request: "r" + string(rune('a'+s.requests)), Token: a.Token, Attempt: a.Attempt, TTL: 10 * time.Second}
	require.NoError(s, s.Settle(s.Context(), g, protocol.OutcomeSucceeded))
}

// look returns when the index has acme due; 0 when it does not have it.
func (s *schedules) look() int64 {
	s.Helper()
	due, err := s.Memory().Due(s.Context(), "report", []int{driver.ShareOf(acme)}, time.Now().Add(1000*time.Hour), 10)
	require.NoError(s, err)
	if len(due) == 0 {
		return 0
	}
	require.Len(s, due, 1)
	require.Equal(s, acme, due[0].Key)
	return due[0].At.UnixMilli()
}

func (s *schedules) get() protocol.Keyed {
	s.Helper()
	list, err := s.GetSchedules(s.Context(), []string{acme})
	require.NoError(s, err)
	return list[0]
}

func TestIndexFollowsATick(t *testing.T) {
	inSchedules(t, func(s *schedules) {
		first, second := in(time.Minute), in(2*time.Minute)
		require.Equal(t, protocol.PutCreated, s.put("v1", first).Status)
		require.Equal(t, first, s.look())
		require.Equal(t, protocol.Early, s.claim("v1", first, second).Status)
		time.Sleep(time.Minute)
		a := s.claim("v1", first, second)
		require.Equal(t, protocol.Granted, a.Status)
		require.Equal(t, "pdf", a.Payload)
		require.Equal(t, in(10*time.Second), s.look(), "the end of the lease")
		time.Sleep(time.Second)
		s.settle(a, first)
		require.Equal(t, second, s.look())
		require.Equal(t, protocol.Decided, s.claim("v1", first, second).Status)
	})
}

func TestPutOfWhatIsThereChangesNothing(t *testing.T) {
	inSchedules(t, func(s *schedules) {
		s.put("v1", in(time.Minute))
		before := s.get()
		time.Sleep(time.Second)
		require.Equal(t, protocol.PutUnchanged, s.put("v1", in(time.Hour)).Status)
		require.Equal(t, before, s.get())
	})
}

func TestPutNamesTheRevisionThatItExpects(t *testing.T) {
	inSchedules(t, func(s *schedules) {
		expects := func(revision string) func(p *protocol.Put) { return func(p *protocol.Put) { p.If = revision } }
		absent := func(p *protocol.Put) { p.Absent = true }
		require.ErrorIs(t, s.put("v1", in(time.Minute), expects("v0")).Err, protocol.ErrRevision)
		require.Equal(t, protocol.PutCreated, s.put("v1", in(time.Minute), absent).Status)
		require.ErrorIs(t, s.put("v2", in(time.Minute), absent).Err, protocol.ErrRevision)
		require.ErrorIs(t, s.put("v2", in(time.Minute), expects("v0")).Err, protocol.ErrRevision)
		require.Equal(t, protocol.PutChanged, s.put("v2", in(time.Minute), expects("v1")).Status)
		require.Equal(t, "v2", s.get().Revision)
	})
}

func TestClockOfWhoPutsIsBounded(t *testing.T) {
	inSchedules(t, func(s *schedules) {
		var bounds *protocol.BoundsError
		require.ErrorAs(t, s.put("v1", in(time.Hour), func(p *protocol.Put) { p.After = in(6 * time.Second) }).Err, &bounds)
		require.Zero(t, s.look())
		require.NoError(t, s.put("v1", in(time.Hour), func(p *protocol.Put) { p.After = in(4 * time.Second) }).Err)
	})
}

// A schedule that has come and gone while the put was under way has run the tick.
func TestLatePutRepeatsNoTick(t *testing.T) {
	inSchedules(t, func(s *schedules) {
		time.Sleep(time.Minute)
		tick := in(-time.Second)
		require.NoError(t, s.put("v1", tick, func(p *protocol.Put) { p.After = in(-3 * time.Second) }).Err)
		require.Equal(t, protocol.Decided, s.claim("v1", tick, 0).Status)
		require.Equal(t, tick, s.look(), "somebody has to say what comes next")
	})
}

func TestTicksOfAnEarlierScheduleAreNotGranted(t *testing.T) {
	inSchedules(t, func(s *schedules) {
		old, changed := in(time.Minute), in(90*time.Second)
		s.put("v1", old)
		time.Sleep(time.Minute - time.Millisecond)
		require.Equal(t, protocol.PutChanged, s.put("v2", changed).Status)
		time.Sleep(time.Second)
		require.Equal(t, protocol.Unknown, s.claim("v1", old, in(time.Minute)).Status)
		require.Equal(t, changed, s.look())
		require.Equal(t, protocol.Decided, s.claim("v2", old-60_000, changed).Status, "a tick from before the put")
		time.Sleep(30 * time.Second)
		require.Equal(t, protocol.Granted, s.claim("v2", changed, in(time.Minute)).Status)
	})
}

func TestPutLeavesWhatIsOwedAndOpen(t *testing.T) {
	inSchedules(t, func(s *schedules) {
		tick := in(time.Minute)
		s.put("v1", tick)
		time.Sleep(2 * time.Minute)
		s.put("v2", in(time.Hour))
		require.Equal(t, tick, s.look(), "it was due before the put")
		a := s.claim("v2", tick, in(time.Hour))
		require.Equal(t, protocol.Granted, a.Status)
		next := in(30 * time.Minute)
		s.put("v3", next)
		require.Equal(t, in(10*time.Second), s.look(), "the run goes on")
		s.settle(a, tick)
		require.Equal(t, next, s.look())
	})
}

func TestWithdrawnScheduleGoesWhenNothingIsOpen(t *testing.T) {
	inSchedules(t, func(s *schedules) {
		tick := in(time.Minute)
		s.put("v1", tick)
		time.Sleep(time.Minute)
		a := s.claim("v1", tick, in(time.Minute))
		withdraw := func(revision string) (bool, error) {
			return s.WithdrawSchedule(s.Context(), protocol.Withdraw{Name: acme, If: revision})
		}
		_, err := withdraw("v0")
		require.ErrorIs(t, err, protocol.ErrRevision)
		found, err := withdraw("v1")
		require.NoError(t, err)
		require.True(t, found)
		found, err = withdraw("")
		require.NoError(t, err)
		require.False(t, found)
		require.Equal(t, in(10*time.Second), s.look())
		require.Equal(t, protocol.Unknown, s.claim("v1", tick+1000, 0).Status)
		s.requests--
		s.settle(a, tick)
		require.Zero(t, s.look())
		require.Equal(t, protocol.Keyed{Record: protocol.Record{Name: acme}}, s.get())
		keys, _, err := s.Memory().Scan(context.Background(), "", "", 10)
		require.NoError(t, err)
		require.Empty(t, keys)

		require.Equal(t, protocol.PutCreated, s.put("v1", in(time.Minute)).Status)
		time.Sleep(time.Minute)
		b := s.claim("v1", in(0), 0)
		require.Greater(t, b.Token, a.Token)
		require.Equal(t, 1, b.Attempt)
	})
}

func TestPausedScheduleIsNotLookedAt(t *testing.T) {
	inSchedules(t, func(s *schedules) {
		tick := in(time.Minute)
		s.put("v1", tick)
		_, err := s.Pause(s.Context(), acme, protocol.Pause{By: "me"})
		require.NoError(t, err)
		require.Zero(t, s.look())
		time.Sleep(time.Hour)
		_, err = s.Resume(s.Context(), acme, protocol.Resume{By: "me"})
		require.NoError(t, err)
		require.Equal(t, tick, s.look(), "somebody has to say what comes next")
		require.NoError(t, s.PlanSchedule(s.Context(), protocol.Plan{Name: acme, Revision: "v1", Watermark: s.get().Watermark, Due: in(time.Minute)}))
		require.Equal(t, in(time.Minute), s.look())
	})
}

func TestTriggeredScheduleIsLookedAtAtOnce(t *testing.T) {
	inSchedules(t, func(s *schedules) {
		s.put("v1", in(time.Hour))
		time.Sleep(time.Minute)
		a, err := s.Trigger(s.Context(), protocol.Trigger{Name: acme, By: "me", Request: "t"})
		require.NoError(t, err)
		require.Equal(t, a.Tick, s.look())
		require.LessOrEqual(t, s.look(), in(time.Second))
	})
}

func TestStoredScheduleIsReadAsItWasWritten(t *testing.T) {
	inSchedules(t, func(s *schedules) {
		start, end := time.Now().UTC(), time.Now().Add(time.Hour).UTC()
		s.put("v1", in(time.Minute), func(p *protocol.Put) { p.Start, p.End, p.By = start, end, "me" })
		k := s.get()
		require.True(t, k.IsScheduled())
		require.Equal(t, protocol.Stored{Payload: "pdf", Start: start, End: end, Due: in(time.Minute), By: "me"}, k.Stored)
		require.Equal(t, "UTC @every 1m", k.Schedules[0].Text)
		list, next, err := s.ListSchedules(s.Context(), "report", "ac", "", 10)
		require.NoError(t, err)
		require.Empty(t, next)
		require.Equal(t, []protocol.Keyed{k}, list)
	})
}

// A holder whose schedule the store has lost has nothing to write back.
func TestHolderOfALostScheduleIsFenced(t *testing.T) {
	inSchedules(t, func(s *schedules) {
		tick := in(time.Minute)
		s.put("v1", tick)
		time.Sleep(time.Minute)
		a := s.claim("v1", tick, 0)
		s.Memory().Forget()
		g := protocol.Grant{Name: acme, Tick: tick, Holder: "a", Request: "rb", Token: a.Token, Attempt: 1, TTL: 10 * time.Second}
		require.ErrorIs(t, s.Renew(s.Context(), []protocol.Grant{g})[0], protocol.ErrFenced)
		require.ErrorIs(t, s.Settle(s.Context(), g, protocol.OutcomeSucceeded), protocol.ErrFenced)
		require.Equal(t, protocol.Keyed{Record: protocol.Record{Name: acme}}, s.get())
	})
}

func TestPutOfWhatIsThereTakesThePoliciesOfTheJob(t *testing.T) {
	inSchedules(t, func(s *schedules) {
		s.put("v1", in(time.Minute))
		kept := func(p *protocol.Put) { p.Policy.History = 9 }
		require.Equal(t, protocol.PutUnchanged, s.put("v1", in(time.Minute), kept).Status)
		require.Equal(t, 9, s.get().Policy.History)
		require.Equal(t, in(time.Minute), s.look())
	})
}

func TestPauseEndsWithItsSchedule(t *testing.T) {
	inSchedules(t, func(s *schedules) {
		tick := in(time.Minute)
		s.put("v1", tick)
		time.Sleep(time.Minute)
		require.Equal(t, protocol.Granted, s.claim("v1", tick, 0).Status) // and its record is kept for this one
		_, err := s.Pause(s.Context(), acme, protocol.Pause{By: "me"})
		require.NoError(t, err)
		_, err = s.WithdrawSchedule(s.Context(), protocol.Withdraw{Name: acme})
		require.NoError(t, err)
		require.Equal(t, protocol.PutCreated, s.put("v1", in(time.Minute)).Status)
		require.Nil(t, s.get().Paused)
	})
}

// A replica that reads a schedule after the store went back still knows which tick it has decided.
func TestReadAfterSnapshotForgetsNoDecidedTick(t *testing.T) {
	inSchedules(t, func(s *schedules) {
		tick := in(time.Minute)
		s.put("v1", tick)
		restore := s.Memory().Snapshot()
		time.Sleep(time.Minute)
		s.settle(s.claim("v1", tick, in(time.Minute)), tick)
		restore()
		require.Less(t, s.get().Watermark, tick)
		require.Equal(t, protocol.Unknown, s.claim("v1", tick, in(time.Minute)).Status)
		require.Equal(t, tick, s.get().Watermark, "it was brought back")
		require.Equal(t, protocol.Decided, s.claim("v1", tick, in(time.Minute)).Status)
	})
}

func TestUnreadableScheduleHidesNoOther(t *testing.T) {
	inSchedules(t, func(s *schedules) {
		s.put("v1", in(time.Minute))
		change := driver.Change{ID: "other", Data: []byte("not a record"), Due: time.Now()}
		require.Equal(t, driver.Done, s.Memory().Do(s.Context(), []driver.Op{{Key: "report/bad", Change: &change}})[0].Status)
		list, err := s.GetSchedules(s.Context(), []string{"report/bad", acme})
		require.NoError(t, err)
		require.ErrorIs(t, list[0].Err, protocol.ErrRecord)
		require.False(t, list[0].IsScheduled())
		require.Equal(t, "v1", list[1].Revision)
		list, _, err = s.ListSchedules(s.Context(), "report", "", "", 10)
		require.NoError(t, err)
		require.Len(t, list, 1)
	})
}

// removals counts the changes of a store that remove a value.
type removals struct {
	*driver.Memory
	n int
}

func (r *removals) Do(ctx context.Context, ops []driver.Op) []driver.Result {
	for _, op := range ops {
		if op.Change != nil && op.Change.Data == nil && op.Key == acme {
			r.n++
		}
	}
	return r.Memory.Do(ctx, ops)
}

func TestWithdrawalTakesWhatIsLostOutOfTheIndex(t *testing.T) {
	r := &removals{Memory: new(driver.Memory)}
	s, err := engine.NewSession(r, "fleet", engine.Options{})
	require.NoError(t, err)
	found, err := s.WithdrawSchedule(t.Context(), protocol.Withdraw{Name: acme})
	require.NoError(t, err)
	require.False(t, found)
	require.Equal(t, 1, r.n)
}

func TestJournalGoesWithItsSchedule(t *testing.T) {
	for name, runs := range map[string]bool{"at once": false, "at the last settlement": true} {
		t.Run(name, func(t *testing.T) {
			inSchedules(t, func(s *schedules) {
				tick := in(time.Minute)
				s.put("v1", tick)
				require.NoError(t, s.Append(s.Context(), acme, "r", []byte("note")))
				time.Sleep(time.Minute)
				var a protocol.Answer
				if runs {
					a = s.claim("v1", tick, 0)
				}
				_, err := s.WithdrawSchedule(s.Context(), protocol.Withdraw{Name: acme})
				require.NoError(t, err)
				if runs {
					s.settle(a, tick)
				}
				keys, _, err := s.Memory().Scan(s.Context(), "", "", 10)
				require.NoError(t, err)
				require.Empty(t, keys)
				notes, err := s.Notes(s.Context(), acme, 10)
				require.NoError(t, err)
				require.Empty(t, notes)
			})
		})
	}
}
