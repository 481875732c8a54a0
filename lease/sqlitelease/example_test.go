package sqlitelease_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/sqlitelease"
)

// A tick that was settled stays so, also for the process that opens the file next.
func ExampleNew() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	for _, process := range []string{"first", "second"} {
		if err := run(filepath.Join(dir, "billing.db"), process); err != nil {
			fmt.Println(err)
		}
	}
	if err := os.RemoveAll(dir); err != nil {
		fmt.Println(err)
	}
	// Output:
	// first: succeeded
	// lease: the tick is decided: "report" at 20261122
}

func run(path, process string) error {
	store, err := sqlitelease.New(path, "billing")
	if err != nil {
		return err
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
