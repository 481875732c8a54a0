package notify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/scheduler"
	"github.com/solotick/solotick/schedules"
)

// keyed runs schedules of the job report, each minute. Another replica than the one that runs them
// notifies.
func (w *world) keyed(receivers []Receiver, keys []string, opts ...Option) (stop func(), all *schedules.Schedules) {
	w.Helper()
	report, err := jobs.New("report", "", func(_ context.Context, run jobs.Run) error {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.fails[run.Key] {
			return errors.New("no")
		}
		return nil
	}, jobs.WithSchedules(), jobs.WithGroups("eu"), jobs.WithHistory(10))
	require.NoError(w, err)
	w.jobs = append(w.jobs, report)
	_, stop = w.start(w.store, receivers, opts...)
	time.Sleep(time.Second)
	own, _ := w.start(w.store, receivers, append(opts, WithReplica("other"))...)
	var registry jobs.Registry
	require.NoError(w, registry.Add(report))
	s, err := scheduler.New(w.store, &registry, scheduler.WithGroups("eu"), scheduler.WithSyncObserver(func(e scheduler.Event) {
		if e, ok := e.(scheduler.RunSettled); ok && e.Outcome == "failed" {
			own.Failed(e.Run.Job, e.Run.Key)
		}
	}))
	require.NoError(w, err)
	require.NoError(w, s.Start())
	w.Cleanup(func() { require.NoError(w, s.Shutdown(context.Background())) })
	all, err = schedules.Of(w.store, report)
	require.NoError(w, err)
	for _, key := range keys {
		_, err := all.Put(w.Context(), schedules.Schedule{Key: key, Cron: "@every 1m"})
		require.NoError(w, err)
	}
	return stop, all
}

func TestReceiversAreNotifiedOfAFailingKey(t *testing.T) {
	inWorld(t, func(w *world) {
		receivers := to("all", "reports", "others", "eu", "us")
		receivers[1].Jobs, receivers[2].Jobs, receivers[3].Groups, receivers[4].Groups = []string{"rep*"}, []string{"!report"}, []string{"eu"}, []string{"us"}
		stop, _ := w.keyed(receivers, []string{"acme", "umbrella"})
		w.minute("acme")
		w.minute("acme")
		for _, host := range []string{"all", "reports", "eu"} {
			require.Equal(t, []string{"report/acme failed<ok"}, w.received(host), host)
		}
		stop() // the other one is elected
		w.minute("acme")
		require.Empty(t, w.received("all"))
		w.minute()
		w.minute()
		for _, host := range []string{"all", "reports", "eu"} {
			require.Equal(t, []string{"report/acme ok<failed"}, w.received(host), host)
		}
		w.minute("acme", "umbrella")
		got := w.received("all")
		slices.Sort(got)
		require.Equal(t, []string{"report/acme failed<ok", "report/umbrella failed<ok"}, got)
		require.Empty(t, append(w.received("others"), w.received("us")...))
	})
}

func TestKeyFailsAfterSoManyTicks(t *testing.T) {
	inWorld(t, func(w *world) {
		_, all := w.keyed(to("all"), []string{"acme"}, WithAfter(func(job string) int { return map[string]int{"report": 2}[job] }))
		w.minute("acme")
		require.Empty(t, w.received("all"))
		w.minute()
		w.minute("acme")
		require.Empty(t, w.received("all"))
		w.minute("acme")
		require.Equal(t, []string{"report/acme failed<ok"}, w.received("all"))
		_, err := all.Delete(t.Context(), "acme")
		require.NoError(t, err)
		w.minute()
		require.Empty(t, w.received("all"))
	})
}

// A million keys may fail at once.
func TestFailingKeysAreBounded(t *testing.T) {
	inWorld(t, func(w *world) {
		n, _ := w.start(w.store, to("all"))
		time.Sleep(time.Second)
		for i := range 100_000 {
			n.Failed("report", fmt.Sprint("k", i))
		}
		require.Len(t, n.failures, mostUnnoted)
		time.Sleep(time.Minute)
		require.Empty(t, n.failures)
		notes, err := w.store.Notes(t.Context(), failuresName, 0)
		require.NoError(t, err)
		require.LessOrEqual(t, len(notes), 128)
	})
}
