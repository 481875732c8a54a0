// Command example is a service that is wired with go.uber.org/fx and has one job.
//
//	go run ./example -redis redis://localhost:6379/0    # in solotickfx/; start it several times
package main

import (
	"context"
	"flag"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/fx"

	"github.com/solotick/solotick/contrib/solotickfx"
	"github.com/solotick/solotick/jobs"
)

func main() {
	url := flag.String("redis", "redis://localhost:6379/0", "URL of the Redis that the replicas share")
	flag.Parse()
	fx.New(service(*url)).Run()
}

func service(url string) fx.Option {
	newClient := func(lc fx.Lifecycle) (*redis.Client, error) {
		options, err := redis.ParseURL(url)
		if err != nil {
			return nil, err
		}
		client := redis.NewClient(options)
		lc.Append(fx.StopHook(client.Close))
		return client, nil
	}
	return fx.Options(fx.Provide(newClient, solotickfx.AsJob(newReport)), solotickfx.Module("fx-example"))
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
