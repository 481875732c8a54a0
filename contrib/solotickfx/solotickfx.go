// Package solotickfx runs a service's cron jobs within an application that is wired with
// go.uber.org/fx. The application's start and stop are the scheduler's, and its stop timeout is the
// time that runs have to finish.
//
//	fx.New(
//		fx.Provide(newRedisClient, solotickfx.AsJob(newReport)),
//		solotickfx.Module("billing"),
//	).Run()
//
// It is a module of its own, so that services without fx do not inherit it.
package solotickfx

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"
	"go.uber.org/fx"

	"github.com/solotick/solotick"
	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lock"
)

const group = `group:"solotick"`

// AsJob adds the job that a constructor makes to the scheduler of [Module]. The constructor returns
// a *jobs.Job, or that and an error; its parameters are what the application provides.
func AsJob(constructor any) any { return fx.Annotate(constructor, fx.ResultTags(group)) }

// Module runs the jobs of [AsJob] as one replica of the fleet that the namespace names. The
// application provides a Redis client, as *redis.Client, *redis.ClusterClient or
// redis.UniversalClient, or else a lease.Store, for which the namespace must be the empty text.
//
// It provides a *solotick.Scheduler, a *fleet.Fleet and a *lock.Locks. A start with wrong jobs or
// arguments fails with all faults; one without an answer from Redis does not: see
// [solotick.Scheduler.WaitReady]. When the application stops, runs are cancelled in time before
// its stop timeout, and their ticks are given up, so that another replica runs them.
func Module(namespace string, options ...solotick.Option) fx.Option {
	return fx.Module("solotick",
		fx.Provide(
			func(in inputs) (*solotick.Scheduler, error) { return in.scheduler(namespace, options) },
			func(s *solotick.Scheduler) (*fleet.Fleet, error) { return s.Fleet() },
			func(s *solotick.Scheduler) *lock.Locks { return s.Locks() },
		),
		fx.Invoke(func(*solotick.Scheduler) {}),
	)
}

type inputs struct {
	fx.In

	Lifecycle fx.Lifecycle
	Jobs      []*jobs.Job           `group:"solotick"`
	Any       redis.UniversalClient `optional:"true"`
	Single    *redis.Client         `optional:"true"`
	Cluster   *redis.ClusterClient  `optional:"true"`
	Store     lease.Store           `optional:"true"`
}

func (in inputs) scheduler(namespace string, options []solotick.Option) (*solotick.Scheduler, error) {
	clients := in.clients()
	var s *solotick.Scheduler
	switch {
	case len(clients)+present(in.Store != nil) != 1:
		return nil, errors.New("solotickfx: provide one of *redis.Client, *redis.ClusterClient, redis.UniversalClient and lease.Store")
	case in.Store == nil:
		s = solotick.New(clients[0], namespace, options...)
	case namespace != "":
		return nil, errors.New("solotickfx: namespace must be empty where a lease.Store is provided, which has its own")
	default:
		s = solotick.On(in.Store, options...)
	}
	_ = s.Job(in.Jobs...) // Start returns its error
	in.Lifecycle.Append(fx.Hook{
		OnStart: func(context.Context) error { return s.Start() },
		OnStop:  s.Shutdown,
	})
	return s, nil
}

func (in inputs) clients() (given []redis.UniversalClient) {
	if in.Any != nil {
		given = append(given, in.Any)
	}
	if in.Single != nil {
		given = append(given, in.Single)
	}
	if in.Cluster != nil {
		given = append(given, in.Cluster)
	}
	return given
}

func present(b bool) int {
	if b {
		return 1
	}
	return 0
}
