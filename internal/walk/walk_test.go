package main

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease/memlease"
	"github.com/solotick/solotick/scheduler"
)

// Schedules in virtual time, which begins on 1 January 2000.
const (
	inAMinute  = "1 0 1 1 *"
	inAYear    = "0 0 31 12 *"
	aDayBefore = "0 0 30 12 *"
)

func TestTick(t *testing.T) {
	t.Run("with", func(t *testing.T) { require.Equal(t, 1, runs(t, inAMinute, 0)) })
	t.Run("without", func(t *testing.T) { require.Zero(t, runs(t, inAYear, 0)) })
}

func TestRenewal(t *testing.T) {
	t.Run("with", func(t *testing.T) { require.Equal(t, 1, runs(t, inAMinute, time.Minute)) })
	t.Run("without", func(t *testing.T) { require.Equal(t, 1, runs(t, inAMinute, time.Second)) })
}

func TestReload(t *testing.T) {
	t.Run("with", func(t *testing.T) { require.Zero(t, runs(t, inAYear, 0, aDayBefore)) })
	t.Run("without", func(t *testing.T) { require.Zero(t, runs(t, inAYear, 0)) })
}

// runs returns how often a replica runs a job in ten minutes if each run takes long. After half a
// minute it applies the updates of the job's schedule.
func runs(t *testing.T, schedule string, long time.Duration, updates ...string) (count int) {
	registry := func(schedule string) *jobs.Registry {
		job, err := jobs.New("report", schedule, func(context.Context, jobs.Run) error {
			time.Sleep(long)
			count++
			return nil
		})
		require.NoError(t, err)
		r := new(jobs.Registry)
		require.NoError(t, r.Add(job))
		return r
	}
	synctest.Test(t, func(t *testing.T) {
		s, err := scheduler.New(new(memlease.Store), registry(schedule))
		require.NoError(t, err)
		require.NoError(t, s.Start())
		time.Sleep(time.Minute / 2)
		for _, schedule := range updates {
			require.Equal(t, []string{"report"}, s.Update(registry(schedule)).Redefined)
		}
		time.Sleep(10 * time.Minute)
		require.NoError(t, s.Shutdown(t.Context()))
	})
	return count
}
