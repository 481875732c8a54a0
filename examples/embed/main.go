// Command embed runs Solotick inside a service: Go functions as jobs, without the worker daemon.
//
//	go run ./examples/embed                                    # alone, without Redis
//	go run ./examples/embed -redis redis://localhost:6379/0    # start it several times: each tick runs once
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/solotick/solotick"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease/memlease"
)

func main() {
	url := flag.String("redis", "", "URL of the Redis that the replicas share; empty: none, this process is alone")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	s := solotick.On(new(memlease.Store))
	if *url != "" {
		options, err := redis.ParseURL(*url)
		if err != nil {
			log.Fatal(err)
		}
		s = solotick.New(redis.NewClient(options), "embed")
	}
	if err := run(ctx, s, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// run is all that a service needs. s.Run returns the errors of s.Func, too.
func run(ctx context.Context, s *solotick.Scheduler, out io.Writer) error {
	_ = s.Func("greet", "@every 2s", func(_ context.Context, run solotick.Run) error {
		_, err := fmt.Fprintf(out, "%s: tick %s, attempt %d, token %d\n", run.Job, run.Tick.Format(time.TimeOnly), run.Attempt, run.Token)
		return err
	})
	_ = s.Func("clean-up", "15 3 * * *", cleanUp,
		jobs.WithTimezone("Europe/Berlin"),
		jobs.WithTimeout(10*time.Minute),
		jobs.WithRetry(jobs.Retry{MaxAttempts: 3, Backoff: time.Second, MaxBackoff: time.Minute}),
	)
	return s.Run(ctx) // until ctx ends and the last run has finished
}

// cleanUp is given a context that ends when the lease is lost, the timeout has passed, or the replica stops.
func cleanUp(ctx context.Context, run solotick.Run) error {
	for range 100 {
		if !run.Lease.Valid() { // before anything that cannot carry run.Token
			return context.Cause(ctx)
		}
		// delete a few old rows
	}
	return nil
}
