//go:build unix

// Command customstore coordinates the processes of one machine through a directory: a store of your
// own, in less than 200 lines. The test beside it runs the cases of package leasetest, which every
// store passes.
//
//	go run ./examples/customstore -dir /tmp/ticks    # start it in two terminals
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/solotick/solotick/jobs"
	joblog "github.com/solotick/solotick/jobs/log"
	"github.com/solotick/solotick/scheduler"
)

func main() {
	dir := flag.String("dir", "", "directory that the processes share")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *dir); err != nil {
		fmt.Fprintln(os.Stderr, "customstore:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, dir string) error {
	store, err := NewFileStore(dir, "greetings")
	if err != nil {
		return fmt.Errorf("-dir: %w", err)
	}
	logger := slog.Default()
	job, err := jobs.New("hello", "@every 2s", joblog.New(logger, "hello"))
	if err != nil {
		return err
	}
	var registry jobs.Registry
	if err := registry.Add(job); err != nil {
		return err
	}
	s, err := scheduler.New(store, &registry, scheduler.WithObserver(scheduler.LogEvents(logger)))
	if err != nil {
		return err
	}
	return s.Run(ctx)
}
