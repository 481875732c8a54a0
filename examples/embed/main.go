// Command embed runs Solotick inside a service: Go functions as jobs, without the worker daemon.
//
//	go run ./examples/embed                                    # alone, without Redis
//	go run ./examples/embed -redis redis://localhost:6379/0    # start it several times: each tick runs once
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/memlease"
	"github.com/solotick/solotick/lease/redislease"
	"github.com/solotick/solotick/scheduler"
)

func main() {
	url := flag.String("redis", "", "URL of the Redis that the replicas share; empty: none, this process is alone")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	store, closeStore, err := openStore(*url)
	if err == nil {
		err = run(ctx, store, os.Stdout)
		err = errors.Join(err, closeStore())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "embed:", err)
		os.Exit(1)
	}
}

func openStore(url string) (lease.Store, func() error, error) {
	if url == "" {
		return new(memlease.Store), func() error { return nil }, nil
	}
	options, err := redis.ParseURL(url)
	if err != nil {
		return nil, nil, err
	}
	client := redis.NewClient(options) // the service's own; the store makes itself a small one from its options
	store, err := redislease.New(client, "embed")
	if err != nil {
		return nil, nil, errors.Join(err, client.Close())
	}
	return store, func() error { return errors.Join(store.Close(), client.Close()) }, nil
}

// run is all that a service needs.
func run(ctx context.Context, store lease.Store, out io.Writer) error {
	greet, err := jobs.New("greet", "@every 2s", func(ctx context.Context, run jobs.Run) error {
		// ctx ends when the lease is lost, the time is over, or the replica stops. The token goes with every write.
		_, err := fmt.Fprintf(out, "%s: tick %s, attempt %d, token %d\n", run.Job, run.Tick.Format(time.TimeOnly), run.Attempt, run.Token)
		return err
	})
	if err != nil {
		return err
	}
	cleanUp, err := jobs.New("clean-up", "15 3 * * *", cleanUp,
		jobs.WithTimezone("Europe/Berlin"),
		jobs.WithTimeout(10*time.Minute),
		jobs.WithRetry(jobs.Retry{MaxAttempts: 3, Backoff: time.Second, MaxBackoff: time.Minute}),
	)
	if err != nil {
		return err
	}
	var registry jobs.Registry
	if err := registry.Add(greet, cleanUp); err != nil {
		return err
	}
	s, err := scheduler.New(store, &registry, scheduler.WithObserver(scheduler.LogEvents(slog.Default())))
	if err != nil {
		return err
	}
	return s.Run(ctx) // until ctx ends and the last run has finished
}

func cleanUp(ctx context.Context, run jobs.Run) error {
	for range 100 {
		if !run.Lease.Valid() { // before anything that cannot carry the token
			return context.Cause(ctx)
		}
		// delete a few old rows
	}
	return nil
}
