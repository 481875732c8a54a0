package scheduler_test

import (
	"context"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/lease/memlease"
)

// Pause implements [protocol.Store].
func (a *audit) Pause(ctx context.Context, name string, p protocol.Pause) (protocol.Pause, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.both(func(s *memlease.Store) { _, _ = s.Pause(ctx, name, p) })
	return a.Store.Pause(ctx, name, p)
}

// Resume implements [protocol.Store].
func (a *audit) Resume(ctx context.Context, name string, r protocol.Resume) (*protocol.Pause, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.both(func(s *memlease.Store) { _, _ = s.Resume(ctx, name, r) })
	before, _ := a.Store.Inspect(ctx, name)
	p, err := a.Store.Resume(ctx, name, r)
	after, _ := a.Store.Inspect(ctx, name)
	if j := a.job(name); err == nil && after.Watermark > before.Watermark {
		j.passes = append(j.passes, passed{before.Watermark, after.Watermark, protocol.OutcomeSkipped, a.now()})
	}
	return p, err
}

// Trigger implements [protocol.Store].
func (a *audit) Trigger(ctx context.Context, t protocol.Trigger) (protocol.Triggered, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.both(func(s *memlease.Store) { _, _ = s.Trigger(ctx, t) })
	return a.Store.Trigger(ctx, t)
}

func (f *fleet) pause(job string) {
	f.t.Helper()
	_, err := f.store.Pause(context.Background(), job, protocol.Pause{By: "ops", Reason: "to see"})
	require.NoError(f.t, err)
}

func (f *fleet) resume(job string) {
	f.t.Helper()
	was, err := f.store.Resume(context.Background(), job, protocol.Resume{By: "ops"})
	require.NoError(f.t, err)
	require.NotNil(f.t, was, "it was paused")
	require.Equal(f.t, "ops", was.By)
}

// trigger asks for a run of the job now, and returns its tick.
func (f *fleet) trigger(job string) time.Time {
	f.t.Helper()
	answer, err := f.store.Trigger(context.Background(), protocol.Trigger{Name: job, By: "ops", Request: protocol.NewRequest()})
	require.NoError(f.t, err)
	require.Equal(f.t, protocol.Opened, answer.Status)
	return time.UnixMilli(answer.Tick).UTC()
}

// runsOf returns the attempts of one tick.
func (f *fleet) runsOf(job string, tick time.Time) (list []attempt) {
	for _, a := range f.runs.of(job) {
		if a.Tick.Equal(tick) {
			list = append(list, a)
		}
	}
	return list
}

// inspect returns the store's record of a job.
func (f *fleet) inspect(job string) protocol.Record {
	f.t.Helper()
	f.store.mu.Lock()
	defer f.store.mu.Unlock()
	r, err := f.store.Store.Inspect(context.Background(), job)
	require.NoError(f.t, err)
	return r
}
