package notify

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease/memlease"
)

// mortal is the store as a process sees it, whose calls fail once that is dead.
type mortal struct {
	*memlease.Store
	dead atomic.Bool
}

var errDead = errors.New("dead")

func (m *mortal) Time(ctx context.Context) (now, since time.Time, err error) {
	if m.dead.Load() {
		return now, since, errDead
	}
	return m.Store.Time(ctx)
}

func (m *mortal) ReleaseLock(ctx context.Context, g protocol.LockGrant) error {
	if m.dead.Load() {
		return errDead
	}
	return m.Store.ReleaseLock(ctx, g)
}

func (m *mortal) RenewLocks(ctx context.Context, grants []protocol.LockGrant) []error {
	if m.dead.Load() {
		list := make([]error, len(grants))
		for i := range list {
			list[i] = errDead
		}
		return list
	}
	return m.Store.RenewLocks(ctx, grants)
}

// successions replace the elected notifier by another one, again and again.
func successions(w *world, receivers []Receiver, opts ...Option) map[string]func() {
	store := &mortal{Store: w.store}
	_, stop := w.start(store, receivers, opts...)
	return map[string]func(){
		"stops": func() {
			stop()
			store = &mortal{Store: w.store}
			_, stop = w.start(store, receivers, opts...)
		},
		"dies": func() {
			killed, end := store, stop
			killed.dead.Store(true)
			store = &mortal{Store: w.store}
			_, stop = w.start(store, receivers, opts...)
			time.Sleep(30 * time.Second)
			end()
		},
	}
}

func TestChangeOfNotifierSendsNothing(t *testing.T) {
	for _, how := range []string{"stops", "dies"} {
		t.Run(how, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.job("a")
				stop := w.replica()
				succeed := successions(w, to("x"), WithConfirm(5*time.Minute))[how]
				w.minute()
				stop()
				time.Sleep(6 * time.Minute)
				require.Equal(w, []string{"a unserved<ok"}, w.received("x"))
				for range 3 {
					succeed()
					time.Sleep(10 * time.Minute)
					require.Empty(w, w.received("x"), "it was unserved throughout")
				}
				w.replica()
				w.minute()
				require.Contains(w, w.received("x"), "a ok<unserved")
			})
		})
	}
}

// Since when a receiver has not taken something is not since when the present notifier knows it.
func TestWaitOfAReceiverOutlivesTheNotifier(t *testing.T) {
	for _, how := range []string{"stops", "dies"} {
		t.Run(how, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.job("a")
				w.replica()
				w.answers("x", func(*http.Request, string) (*http.Response, error) { return status(http.StatusBadGateway), nil })
				succeed := successions(w, to("x"))[how]
				w.minute("a")
				w.minute("a")
				first, err := Inspect(w.Context(), w.store)
				require.NoError(w, err)
				require.Len(w, first.Waiting, 1)
				for range 3 {
					succeed()
					for range 5 {
						w.minute("a")
						report, err := Inspect(w.Context(), w.store)
						require.NoError(w, err)
						require.Len(w, report.Waiting, 1)
						require.WithinDuration(w, first.Waiting[0].Since, report.Waiting[0].Since, time.Second)
					}
				}
				w.answers("x", nil)
				for range 10 {
					w.minute("a")
				}
				report, err := Inspect(w.Context(), w.store)
				require.NoError(w, err)
				require.Empty(w, report.Waiting)
			})
		})
	}
}

func TestNewNotifierConfirmsNothingAgain(t *testing.T) {
	now, sent := time.Now(), int64(1)
	late := fleet.JobStatus{Name: "a", Given: true, Overdue: now.Add(-time.Hour)}
	unserved := fleet.JobStatus{Name: "a", Given: true, Unserved: true}
	for _, test := range []struct {
		knows reached
		is    fleet.JobStatus
		want  reached
	}{
		{reached{Overdue: &sent}, late, reached{Overdue: &sent}},
		{reached{Unserved: &sent}, unserved, reached{Unserved: &sent}},
		{reached{Overdue: &sent, Unserved: &sent}, unserved, reached{Overdue: &sent, Unserved: &sent}},
		{reached{Overdue: &sent}, unserved, reached{Overdue: &sent}},
		{reached{Unserved: &sent}, late, reached{}},
	} {
		k := &known{reached: map[string]reached{"x": test.knows, "y": {}}}
		found := k.found(test.is, time.Hour, now, now)
		require.Equal(t, test.want.Overdue != nil, found.overdue != nil)
		require.Equal(t, test.want.Unserved != nil, found.unserved != nil)
	}
}

func TestLeaderTaskThatFailsAllTheTimeIsSent(t *testing.T) {
	inWorld(t, func(w *world) {
		task, err := jobs.New("task", "", func(ctx context.Context, _ jobs.Run) error {
			time.Sleep(3 * time.Second)
			w.mu.Lock()
			fails := w.fails["task"]
			w.mu.Unlock()
			if !fails {
				<-ctx.Done()
			}
			return errors.New("boom")
		}, jobs.WithLeader())
		require.NoError(w, err)
		w.jobs = append(w.jobs, task)
		w.fails = map[string]bool{"task": true}
		halt := w.replica()
		_, stop := w.start(w.store, to("x", "filtered"))
		w.minute("task")
		w.minute("task")
		require.Equal(w, []string{"task failed<ok"}, w.received("x"))
		stop()
		w.start(w.store, to("x"))
		for range 8 {
			w.minute("task")
		}
		halt() // another leads, and fails as well
		w.replica()
		for range 8 {
			w.minute("task")
		}
		require.Empty(w, w.received("x"), "it failed throughout")
		w.minute()
		w.minute()
		require.Empty(w, w.received("x"), "it may fail again")
		for range 5 {
			w.minute()
		}
		require.Equal(w, []string{"task ok<failed"}, w.received("x"))
		for range 3 {
			w.minute("task")
		}
		require.Empty(w, w.received("x"), "it runs on")
		ids := w.ids["x"]
		require.Len(w, ids, 2)
		require.NotEqual(w, ids[0], ids[1])
	})
}
