package scheduler_test

import (
	"context"
	"fmt"
	"time"

	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease/memlease"
	"github.com/solotick/solotick/scheduler"
)

// A service starts its scheduler, waits until the store has answered, and stops it within what its framework gives. With
// redislease.New(client, "billing") for memlease.New each tick runs on one replica of the service.
func Example() {
	store, err := memlease.New("billing")
	if err != nil {
		fmt.Println(err)
		return
	}
	ran := make(chan string, 10)
	report, err := jobs.New("report", "@every 1s", func(_ context.Context, run jobs.Run) error {
		// ctx ends when the lease is lost or the replica stops; run.Token goes with every write.
		ran <- fmt.Sprint(run.Job, ", attempt ", run.Attempt)
		return nil
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	var registry jobs.Registry
	if err := registry.Add(report); err != nil {
		fmt.Println(err)
		return
	}
	s, err := scheduler.New(store, &registry)
	if err != nil {
		fmt.Println(err)
		return
	}

	if err := s.Start(); err != nil {
		fmt.Println(err)
		return
	}
	ready, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := s.WaitReady(ready); err != nil { // it names the fault, and what to change
		fmt.Println(err)
	}
	fmt.Println(<-ran)
	stop, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()
	fmt.Println(s.Shutdown(stop))
	// Output:
	// report, attempt 1
	// <nil>
}
