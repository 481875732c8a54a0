package sologocron_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/go-co-op/gocron/v2"

	"github.com/solotick/solotick/contrib/sologocron"
	"github.com/solotick/solotick/lease/memlease"
	"github.com/solotick/solotick/lock"
)

// gocron calls Lock when a job is due. The second replica comes when the first has unlocked already, and is refused all the same.
func ExampleLocker() {
	ctx, store := context.Background(), new(memlease.Store) // a service has a store on its Redis: redislease.New(client, "billing")
	now := time.Now().UTC()
	spec := fmt.Sprintf("%d %d * * *", now.Minute(), now.Hour()) // it is due
	for _, replica := range []string{"r1", "r2"} {
		locker, err := sologocron.NewLocker(store, sologocron.WithSchedule("invoices", spec, "UTC"), sologocron.WithHolder(replica))
		if err != nil {
			log.Fatal(err)
		}
		defer locker.Close()
		if _, err := gocron.NewScheduler(gocron.WithDistributedLocker(locker)); err != nil { // what a service does with it
			log.Fatal(err)
		}

		held, err := locker.Lock(ctx, "invoices")
		if errors.Is(err, sologocron.ErrNotMine) {
			fmt.Println(replica, "has nothing to do")
			continue
		}
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(replica, "runs the tick")
		if err := held.Unlock(ctx); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// r1 runs the tick
	// r2 has nothing to do
}

// One replica of the fleet runs all jobs, and another one when it has gone.
func ExampleElector() {
	locks := lock.New(new(memlease.Store)) // a service has a store on its Redis
	defer locks.Close()
	elector := sologocron.NewElector(locks, "cron")
	defer elector.Close()
	s, err := gocron.NewScheduler(gocron.WithDistributedElector(elector))
	if err != nil {
		log.Fatal(err)
	}
	s.Start()
	fmt.Println(s.Shutdown())
	// Output: <nil>
}
