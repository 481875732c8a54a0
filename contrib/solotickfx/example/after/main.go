// Command after is the service of ../before on solotickfx: one replica runs each tick, and the job
// ends when the application stops.
package main

import (
	"context"
	"log"
	"os"

	"github.com/redis/go-redis/v9"
	"go.uber.org/fx"

	"github.com/solotick/solotick/contrib/solotickfx"
	"github.com/solotick/solotick/jobs"
)

func main() {
	fx.New(fx.Provide(newRedis, solotickfx.AsJob(newReport)), solotickfx.Module("billing")).Run()
}

func newRedis(lifecycle fx.Lifecycle) (*redis.Client, error) {
	options, err := redis.ParseURL(os.Getenv("REDIS_URL"))
	if err != nil {
		return nil, err
	}
	client := redis.NewClient(options)
	lifecycle.Append(fx.StopHook(client.Close))
	return client, nil
}

func newReport() (*jobs.Job, error) { return jobs.New("report", "@every 1s", report) }

func report(context.Context, jobs.Run) error {
	log.Print("reported")
	return nil
}
