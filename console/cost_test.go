package console_test

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/console"
	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease/memlease"
)

// costs counts what a console asks of a store: about as many commands of Redis.
type costs struct {
	*memlease.Store
	commands atomic.Int64
}

func (s *costs) Names(ctx context.Context, cursor string, count int) ([]string, string, error) {
	names, next, err := s.Store.Names(ctx, cursor, count)
	s.commands.Add(int64(len(names)))
	return names, next, err
}

func (s *costs) Summarize(ctx context.Context, names []string) ([]protocol.Summary, error) {
	s.commands.Add(int64(len(names)))
	return s.Store.Summarize(ctx, names)
}

func (s *costs) Inspect(ctx context.Context, name string) (protocol.Record, error) {
	s.commands.Add(3) // the value, and the list beside it
	return s.Store.Inspect(ctx, name)
}

func (s *costs) Notes(ctx context.Context, name string, count int) ([]protocol.JournalEntry, error) {
	s.commands.Add(2)
	return s.Store.Notes(ctx, name, count)
}

// inLargeFleet makes a console of 3,000 jobs, of which each 500th has run.
func inLargeFleet(t *testing.T, test func(s *site, store *costs)) {
	synctest.Test(t, func(t *testing.T) {
		store := &costs{Store: new(memlease.Store)}
		registry := new(jobs.Registry)
		faulty := &faultyStore{Store: store.Store}
		for i := range 3_000 {
			job, err := jobs.New(fmt.Sprintf("job-%05d", i), "0 0 1 1 *", func(context.Context, jobs.Run) error { return nil })
			require.NoError(t, err)
			require.NoError(t, registry.Add(job))
			if i%500 == 0 {
				faulty.settle(t, job.Name(), "succeeded")
				continue
			}
			_, err = store.Sync(t.Context(), []protocol.Sync{{Name: job.Name(), Watermark: time.Now().UnixMilli()}})
			require.NoError(t, err)
		}
		c, err := console.New(store, console.WithJobs(registry.All))
		require.NoError(t, err)
		defer c.Close()
		test(&site{T: t, store: faulty, console: c}, store)
	})
}

func TestPageOfALargeFleetCostsFewCommands(t *testing.T) {
	for _, page := range []string{"/", "/timeline", "/load", "/jobs/job-02000"} {
		t.Run(page, func(t *testing.T) {
			inLargeFleet(t, func(s *site, store *costs) {
				require.Equal(s, http.StatusOK, s.get(page).StatusCode)
				time.Sleep(time.Second)
				s.get(page)
				before := store.commands.Load()
				for range 5 {
					time.Sleep(time.Second)
					require.Equal(s, http.StatusOK, s.get(page).StatusCode)
				}
				require.LessOrEqual(s, (store.commands.Load()-before)/5, int64(500), "a second")
			})
		})
	}
}

func TestLargeFleetShowsAtOnceWhatOthersChange(t *testing.T) {
	inLargeFleet(t, func(s *site, store *costs) {
		s.get("/")
		f, err := fleet.New(store)
		require.NoError(s, err)
		_, err = f.Pause(s.Context(), "job-02777", fleet.Act{By: "somebody"})
		require.NoError(s, err)
		time.Sleep(time.Second)
		require.Contains(s, text(s.T, s.get("/jobs.txt?q=job-02777")), "paused")
	})
}
