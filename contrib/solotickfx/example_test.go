package solotickfx_test

import (
	"context"
	"fmt"
	"log"

	"go.uber.org/fx"

	"github.com/solotick/solotick"
	"github.com/solotick/solotick/contrib/solotickfx"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/memlease"
)

// A service provides its Redis client in place of a store, and gives Module a namespace: see the program in example.
func Example() {
	done := make(chan struct{})
	newReport := func() (*jobs.Job, error) {
		return jobs.New("report", "0 2 * * *", func(context.Context, jobs.Run) error {
			defer close(done)
			fmt.Println("the report is made")
			return nil
		})
	}
	var s *solotick.Scheduler
	app := fx.New(
		fx.NopLogger,
		fx.Provide(func() lease.Store { return new(memlease.Store) }, solotickfx.AsJob(newReport)),
		solotickfx.Module(""),
		fx.Populate(&s),
	)
	ctx := context.Background() // a service calls app.Run()
	if err := app.Start(ctx); err != nil {
		log.Fatal(err)
	}
	if _, err := s.Trigger(ctx, "report", "example"); err != nil { // not to wait for the night
		log.Fatal(err)
	}
	<-done
	if err := app.Stop(ctx); err != nil {
		log.Fatal(err)
	}
	// Output: the report is made
}
