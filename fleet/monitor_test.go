package fleet_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease/memlease"
)

// counted counts the names that are listed and the records that are read.
type counted struct {
	*memlease.Store

	mu           sync.Mutex
	listed, read int
	last         []string
}

func (s *counted) Names(ctx context.Context, cursor string, count int) ([]string, string, error) {
	names, next, err := s.Store.Names(ctx, cursor, count)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listed += len(names)
	return names, next, err
}

func (s *counted) Summarize(ctx context.Context, names []string) ([]protocol.Summary, error) {
	s.mu.Lock()
	s.read += len(names)
	s.last = append(s.last, names...)
	s.mu.Unlock()
	return s.Store.Summarize(ctx, names)
}

// monitored is a monitor of so many hourly jobs, after its first reading.
type monitored struct {
	world
	store   *counted
	given   []*jobs.Job
	monitor *fleet.Monitor
}

func monitors(w world, n int) *monitored {
	m := &monitored{world: w, store: &counted{Store: w.store}}
	for i := range n {
		job, err := jobs.New(fmt.Sprintf("job-%05d", i), "@hourly", func(context.Context, jobs.Run) error { return nil })
		require.NoError(w, err)
		m.given = append(m.given, job)
		w.contended(job.Name())
	}
	f, err := fleet.New(m.store)
	require.NoError(w, err)
	m.monitor = f.Monitor()
	require.Len(w, m.status().Jobs, n)
	return m
}

// status is the next reading, a second after the last.
func (m *monitored) status() fleet.Status {
	time.Sleep(time.Second)
	m.store.read, m.store.listed, m.store.last = 0, 0, nil
	s, err := m.monitor.Status(m.Context(), m.given)
	require.NoError(m, err)
	return s
}

// runs settles a tick of a job that is due by now.
func (m *monitored) runs(i int) {
	name := m.given[i].Name()
	m.settle(m.claim(name, time.Now().Truncate(time.Second).UnixMilli(), "a"), wire.Succeeded, wire.Note{})
}

func TestReadingDoesNotGrowWithTheFleet(t *testing.T) {
	inWorld(t, func(w world) {
		m := monitors(w, 1500)
		for range 20 {
			m.status()
			require.LessOrEqual(w, m.store.read, 200)
			require.LessOrEqual(w, m.store.listed, 100)
		}
		time.Sleep(time.Hour) // all are due
		m.status()
		for range 10 {
			m.status()
			require.LessOrEqual(w, m.store.read, 200)
		}
	})
}

func TestSmallFleetIsReadWhole(t *testing.T) {
	inWorld(t, func(w world) {
		m := monitors(w, 200)
		m.runs(17)
		require.NotNil(w, m.status().Jobs[17].Last)
		require.Equal(w, 200, m.store.read)
	})
}

func TestEveryRecordIsReadInTurn(t *testing.T) {
	inWorld(t, func(w world) {
		m := monitors(w, 1000)
		m.runs(999)
		for i := 1; m.status().Jobs[999].Last == nil; i++ {
			require.LessOrEqual(w, i, 5)
		}
	})
}

func TestDueAndRunningJobsAreReadFirst(t *testing.T) {
	inWorld(t, func(w world) {
		m := monitors(w, 1500)
		grant := m.claim("job-01000", time.Now().UnixMilli(), "a")
		m.monitor.Changed("job-01000")
		require.Len(w, m.status().Jobs[1000].Open, 1)
		for range 3 {
			m.status()
			require.Contains(w, m.store.last, "job-01000")
		}
		m.settle(grant, wire.Succeeded, wire.Note{})
		require.NotNil(w, m.status().Jobs[1000].Last)

		late, err := jobs.New("job-01200", "@every 7s", func(context.Context, jobs.Run) error { return nil })
		require.NoError(w, err)
		m.given[1200] = late
		for range 10 {
			m.status()
		}
		require.Contains(w, m.store.last, "job-01200", "a tick of it is due by its new definition")
	})
}

func TestShownJobsAreReadBeforeOthers(t *testing.T) {
	inWorld(t, func(w world) {
		m := monitors(w, 1000)
		time.Sleep(time.Hour)
		m.status() // reads all, of which each is due
		m.monitor.Show([]string{"job-00999"})
		for range 5 {
			m.status()
			require.Contains(w, m.store.last, "job-00999")
		}
		time.Sleep(time.Minute)
		m.status()
		m.status()
		require.NotContains(w, m.store.last, "job-00999", "nobody looks at it any more")
	})
}

func TestChangedJobIsReadAtOnce(t *testing.T) {
	inWorld(t, func(w world) {
		m := monitors(w, 1500)
		_, err := m.fleet.Pause(w.Context(), "job-01321", fleet.Act{By: "me"})
		require.NoError(w, err)
		m.monitor.Changed("job-01321")
		require.NotNil(w, m.status().Jobs[1321].Paused)
	})
}

func TestRemovedJobStaysUntilItIsForgotten(t *testing.T) {
	inWorld(t, func(w world) {
		m := monitors(w, 400)
		m.given = m.given[:399]
		s := m.status()
		require.Len(w, s.Jobs, 400)
		require.Equal(w, "job-00399", s.Jobs[399].Name)
		require.True(w, s.Jobs[399].LeftOver())
		for range 20 {
			require.Len(w, m.status().Jobs, 400)
		}
		_, err := m.fleet.Forget(w.Context(), "job-00399", fleet.Act{By: "me"})
		require.NoError(w, err)
		m.monitor.Changed("job-00399")
		for range 20 {
			require.Len(w, m.status().Jobs, 399)
		}
	})
}

func TestMonitorFindsRecordsThatOnlyTheStoreHas(t *testing.T) {
	inWorld(t, func(w world) {
		m := monitors(w, 400)
		w.contended("old")
		w.claim("a-plain-lease", 0, "a")
		for i := 1; len(m.status().Jobs) == 400; i++ {
			require.LessOrEqual(w, i, 9)
		}
		s := m.status()
		require.Len(w, s.Jobs, 401)
		require.Equal(w, "old", s.Jobs[400].Name)
	})
}

func TestMonitorAgreesWithTheStatusOfTheFleet(t *testing.T) {
	inWorld(t, func(w world) {
		m := monitors(w, 50)
		for i := range 2 * 3600 / 40 {
			time.Sleep(39 * time.Second)
			if i%2 == 0 {
				m.runs(i % 50)
			}
			got := m.status()
			want, err := m.fleet.Status(w.Context(), m.given)
			require.NoError(w, err)
			require.Equal(w, want, got)
		}
	})
}
