package soloredsync_test

import (
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/solotick/solotick/contrib/soloredsync"
	"github.com/solotick/solotick/lease/memlease"
	"github.com/solotick/solotick/lock"
)

// The calls are those of redsync.
func Example() {
	locks := lock.New(new(memlease.Store)) // a service has a store on its Redis: redislease.New(client, "billing")
	defer locks.Close()
	rs := soloredsync.New(locks)

	mutex := rs.NewMutex("my-mutex", soloredsync.WithExpiry(10*time.Second))
	if err := mutex.Lock(); err != nil {
		log.Fatal(err)
	}
	err := rs.NewMutex("my-mutex").TryLock()
	taken := new(soloredsync.ErrTaken)
	fmt.Println("another one is refused:", errors.As(err, &taken))
	fmt.Println("it is mine:", mutex.Context().Err() == nil)
	fmt.Println(mutex.Unlock())
	fmt.Println("it was mine:", mutex.Context().Err() != nil)
	// Output:
	// another one is refused: true
	// it is mine: true
	// true <nil>
	// it was mine: true
}
