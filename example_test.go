package solotick_test

import (
	"context"
	"fmt"
	"log"

	"github.com/solotick/solotick"
	"github.com/solotick/solotick/lease/memlease"
)

// A service makes its store with [solotick.New] and its Redis client; memory is a fleet of one process.
func Example() {
	s := solotick.On(new(memlease.Store), quiet())
	done := make(chan struct{})
	_ = s.Func("nightly-report", "0 2 * * *", func(_ context.Context, run solotick.Run) error {
		defer close(done)
		fmt.Println(run.Job, "attempt", run.Attempt)
		return nil
	})
	if err := s.Start(); err != nil {
		log.Fatal(err)
	}
	if _, err := s.Trigger(context.Background(), "nightly-report", "example"); err != nil {
		log.Fatal(err)
	}
	<-done
	if err := s.Shutdown(context.Background()); err != nil {
		log.Fatal(err)
	}
	// Output: nightly-report attempt 1
}

// A job without a schedule runs when somebody triggers it, each time with the payload that it is given.
func ExampleScheduler_Trigger() {
	s := solotick.On(new(memlease.Store), quiet())
	done := make(chan struct{})
	_ = s.Func("reindex", "@triggered", func(_ context.Context, run solotick.Run) error {
		defer close(done)
		fmt.Println("reindex", string(run.Payload))
		return nil
	})
	if err := s.Start(); err != nil {
		log.Fatal(err)
	}
	if _, err := s.Trigger(context.Background(), "reindex", "example", solotick.WithPayload(`{"tenant": 7}`)); err != nil {
		log.Fatal(err)
	}
	<-done
	if err := s.Shutdown(context.Background()); err != nil {
		log.Fatal(err)
	}
	// Output: reindex {"tenant": 7}
}
