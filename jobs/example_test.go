package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/solotick/solotick/jobs"
)

func ExampleNew() {
	job, err := jobs.New("nightly-report", "0 2 * * *",
		func(ctx context.Context, run jobs.Run) error {
			fmt.Println("report of", run.Tick.Format(time.DateOnly), "under key", run.TickID())
			return nil
		},
		jobs.WithTimezone("Europe/Berlin"),
		jobs.WithTimeout(10*time.Minute),
		jobs.WithRetry(jobs.Retry{MaxAttempts: 3, Backoff: time.Second, MaxBackoff: time.Minute}),
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	// A scheduler does this, at the right time, on one replica.
	tick := time.Date(2026, 11, 2, 1, 0, 0, 0, time.UTC)
	err = job.Handler()(context.Background(), jobs.Run{Namespace: "billing", Job: job.Name(), Tick: tick, Attempt: 1})
	fmt.Println(err)
	// Output:
	// report of 2026-11-02 under key billing/nightly-report/1793581200000
	// <nil>
}

func ExampleNew_faults() {
	_, err := jobs.New("nightly report", "@hourly", nil, jobs.WithTimeout(-time.Minute))
	fmt.Println(err)
	// Output:
	// job "nightly report": name: "nightly report" must start with a letter or digit and hold at most 128 of A-Z a-z 0-9 . _ -
	// timeout: "-1m0s" must be at least 0s
	// handler: nil, must be a function
}

func ExamplePermanent() {
	customers := map[string]int{"ann": 7}
	handler := func(_ context.Context, _ jobs.Run) error {
		if _, found := customers["bob"]; !found {
			return jobs.Permanent(errors.New("no such customer")) // a retry would not find him either
		}
		return nil
	}
	err := fmt.Errorf("bill: %w", handler(context.Background(), jobs.Run{}))
	_, permanent := errors.AsType[*jobs.PermanentError](err)
	fmt.Println(err, permanent)
	// Output: bill: no such customer true
}

func ExampleRegistry() {
	var registry jobs.Registry
	for _, name := range []string{"report", "clean-up"} {
		job, err := jobs.New(name, "@hourly", func(context.Context, jobs.Run) error { return nil })
		if err != nil {
			fmt.Println(err)
			return
		}
		if err := registry.Add(job); err != nil {
			fmt.Println(err)
			return
		}
	}
	for _, job := range registry.All() {
		fmt.Println(job.Name())
	}
	// Output:
	// clean-up
	// report
}
