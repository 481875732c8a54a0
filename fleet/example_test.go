package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease/memlease"
	"github.com/solotick/solotick/scheduler"
)

// With a redislease.Store in its place, this rules a fleet of any size.
func ExampleFleet_Trigger() {
	ctx := context.Background()
	store := new(memlease.Store)
	f, err := fleet.New(store)
	if err != nil {
		panic(err)
	}
	report, err := jobs.New("report", "@daily", func(context.Context, jobs.Run) error { return nil },
		jobs.WithRate(jobs.Rate{Count: 1, Per: 10 * time.Minute}, 1))
	if err != nil {
		panic(err)
	}

	_, err = f.Trigger(ctx, report.Name(), fleet.TriggerOptions{By: "ops1"})
	fmt.Println("nobody serves it yet:", errors.Is(err, fleet.ErrUnknown))

	// A replica serves it when it has started: the job's rate is in the record, and binds everybody.
	var registry jobs.Registry
	if err := registry.Add(report); err != nil {
		panic(err)
	}
	replica, err := scheduler.New(store, &registry)
	if err != nil {
		panic(err)
	}
	if err := errors.Join(replica.Start(), replica.WaitReady(ctx)); err != nil {
		panic(err)
	}
	defer func() { _ = replica.Shutdown(ctx) }()
	for _, key := range []string{"deploy-1", "deploy-1"} {
		t, err := f.Trigger(ctx, report.Name(), fleet.TriggerOptions{By: "ops1", Key: key})
		fmt.Println(key, t.Status, err)
	}
	// Output:
	// nobody serves it yet: true
	// deploy-1 opened <nil>
	// deploy-1 repeated <nil>
}
