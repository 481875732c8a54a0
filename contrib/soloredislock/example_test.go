package soloredislock_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/solotick/solotick/contrib/soloredislock"
	"github.com/solotick/solotick/lease/memlease"
	"github.com/solotick/solotick/lock"
)

// The calls are those of redislock.
func Example() {
	ctx := context.Background()
	locks := lock.New(new(memlease.Store)) // a service has a store on its Redis: redislease.New(client, "billing")
	defer locks.Close()
	locker := soloredislock.New(locks)

	held, err := locker.Obtain(ctx, "my-key", time.Minute, nil)
	if err != nil {
		log.Fatal(err)
	}
	_, err = locker.Obtain(ctx, "my-key", time.Minute, nil)
	fmt.Println("another one is refused:", errors.Is(err, soloredislock.ErrNotObtained))
	fmt.Println("it is mine:", held.Context().Err() == nil && held.Fence() > 0)
	if err := held.Release(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println("it was mine:", held.Context().Err() != nil)
	// Output:
	// another one is refused: true
	// it is mine: true
	// it was mine: true
}
