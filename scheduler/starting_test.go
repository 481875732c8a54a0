package scheduler_test

import (
	"context"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/scheduler"
)

// startOver starts a replica of the fleet's jobs over what wrap makes of its link.
func (f *fleet) startOver(id string, wrap func(*link) protocol.Store, options ...scheduler.Option) *replica {
	f.t.Helper()
	return f.startBoth(id, f.jobs, wrap, options...)
}

func (f *fleet) startBoth(id string, list []*jobs.Job, wrap func(*link) protocol.Store, options ...scheduler.Option) *replica {
	f.t.Helper()
	var registry jobs.Registry
	require.NoError(f.t, registry.Add(list...))
	r := &replica{link: &link{Store: f.store}, done: make(chan struct{})}
	options = append([]scheduler.Option{
		scheduler.WithReplica(id), scheduler.WithTTL(ttl),
		scheduler.WithObserver(func(scheduler.Event) {}), // else failures are logged
		scheduler.WithSyncObserver(func(e scheduler.Event) {
			f.note(id, e)
			if f.observe != nil {
				f.observe(id, e)
			}
		}),
	}, options...)
	var err error
	r.Scheduler, err = scheduler.New(wrap(r.link), &registry, options...)
	require.NoError(f.t, err)
	var ctx context.Context
	ctx, r.stop = context.WithCancel(context.Background())
	go func() {
		defer close(r.done)
		r.err = r.Run(ctx)
	}()
	f.mu.Lock()
	f.replicas = append(f.replicas, r)
	f.mu.Unlock()
	return r
}

// registry is one of these jobs, for [scheduler.Scheduler.Update].
func (f *fleet) registry(list ...*jobs.Job) *jobs.Registry {
	f.t.Helper()
	registry := new(jobs.Registry)
	require.NoError(f.t, registry.Add(list...))
	return registry
}
