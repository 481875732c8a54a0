package memlease_test

import (
	"context"
	"fmt"
	"time"

	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/memlease"
)

// The zero Store is ready to use; those who share it are a fleet within one process.
func Example() {
	ctx, store := context.Background(), new(memlease.Store)
	claim := lease.Claim{Name: "report", Tick: 20261122, Holder: "r1", TTL: 30 * time.Second}
	held, err := lease.Acquire(ctx, store, claim)
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := held.Settle(ctx, "succeeded"); err != nil {
		fmt.Println(err)
		return
	}
	claim.Holder = "r2"
	_, err = lease.Acquire(ctx, store, claim)
	fmt.Println(err)
	// Output: lease: the tick is decided: "report" at 20261122
}
