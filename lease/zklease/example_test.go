package zklease_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/zklease"
)

// A tick that was settled stays so for every process that has the same servers.
func ExampleOpen() {
	for _, process := range []string{"first", "second"} {
		if err := run("zk://"+shared.Addr()+"/examples", process); err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// first: succeeded
	// lease: the tick is decided: "report" at 20261122
}

func run(url, process string) error {
	store, err := zklease.Open(url, "billing")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	ctx := context.Background()
	held, err := lease.Acquire(ctx, store, lease.Claim{Name: "report", Tick: 20261122, Holder: process, TTL: 30 * time.Second})
	if err != nil {
		return err
	}
	fmt.Println(process + ": succeeded")
	return held.Settle(ctx, "succeeded")
}
