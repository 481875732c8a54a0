// Command fx runs Solotick inside a service that is wired with go.uber.org/fx: the application's start and stop are the
// scheduler's, and its stop timeout is the time that runs have to finish.
//
//	go run ./examples/fx -redis redis://localhost:6379/0
package main

import (
	"context"
	"flag"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/fx"

	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/redislease"
	"github.com/solotick/solotick/scheduler"
)

func main() {
	url := flag.String("redis", "redis://localhost:6379/0", "URL of the Redis that the replicas share")
	flag.Parse()
	fx.New(
		fx.Supply(redisURL(*url)),
		fx.Provide(newStore, asJob(newReport)),
		scheduling,
	).Run()
}

// scheduling has the parts that a service needs besides a lease.Store and its jobs, each a value of the group "jobs".
var scheduling = fx.Options(
	fx.Provide(fx.Annotate(newScheduler, fx.ParamTags(``, ``, `group:"jobs"`))),
	fx.Invoke(func(*scheduler.Scheduler) {}),
)

// asJob puts the job that a constructor makes into the group.
func asJob(constructor any) any { return fx.Annotate(constructor, fx.ResultTags(`group:"jobs"`)) }

func newScheduler(lc fx.Lifecycle, store lease.Store, list []*jobs.Job) (*scheduler.Scheduler, error) {
	var registry jobs.Registry
	if err := registry.Add(list...); err != nil {
		return nil, err
	}
	s, err := scheduler.New(store, &registry)
	if err != nil {
		return nil, err
	}
	lc.Append(fx.Hook{
		OnStart: func(context.Context) error { return s.Start() }, // or s.WaitReady as well, to fail without Redis
		OnStop:  s.Shutdown,
	})
	return s, nil
}

type redisURL string

func newStore(lc fx.Lifecycle, url redisURL) (lease.Store, error) {
	options, err := redis.ParseURL(string(url))
	if err != nil {
		return nil, err
	}
	client := redis.NewClient(options)
	store, err := redislease.New(client, "fx-example")
	if err != nil {
		return nil, err
	}
	lc.Append(fx.StopHook(store.Close)) // after the scheduler, which was made later
	lc.Append(fx.StopHook(client.Close))
	return store, nil
}

func newReport() (*jobs.Job, error) {
	return jobs.New("report", "@every 10s", func(ctx context.Context, _ jobs.Run) error {
		select {
		case <-time.After(3 * time.Second): // what a report takes
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
}
