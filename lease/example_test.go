package lease_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/memlease"
)

func ExampleAcquire() {
	ctx := context.Background()
	store := new(memlease.Store) // in production one that all replicas share, such as a redislease.Store

	report := func(ctx context.Context, token int64) error {
		fmt.Println("writing the report")
		return ctx.Err() // what takes long stops when ctx ends: the lease is lost
	}
	replica := func(id string) error {
		l, err := lease.Acquire(ctx, store, lease.Claim{
			Name:   "report",
			Tick:   20261102, // the day: a number that rises
			Holder: id,
			TTL:    30 * time.Second,
		})
		if errors.Is(err, lease.ErrHeld) || errors.Is(err, lease.ErrDecided) {
			fmt.Printf("%s: nothing to do\n", id)
			return nil
		}
		if err != nil {
			return err
		}
		if err := report(l.Context(), l.Token()); err != nil {
			return errors.Join(err, l.Release(context.WithoutCancel(ctx)))
		}
		return l.Settle(context.WithoutCancel(ctx), "succeeded")
	}
	for _, id := range []string{"a", "b"} {
		if err := replica(id); err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// writing the report
	// b: nothing to do
}

// A process that was frozen can write after its lease is gone. Valid makes that unlikely, and the token, checked by what
// is written to, makes it impossible.
func ExampleLease_Valid() {
	ctx := context.Background()
	store := new(memlease.Store)
	claim := lease.Claim{Name: "balance", Holder: "a", TTL: 30 * time.Second} // no tick: a plain lock

	var highest int64
	write := func(token int64, text string) {
		if token < highest {
			fmt.Println("refused:", text)
			return
		}
		highest = token
		fmt.Println("written:", text)
	}

	a, err := lease.Acquire(ctx, store, claim)
	if err != nil {
		fmt.Println(err)
		return
	}
	if a.Valid() {
		write(a.Token(), "a, holding")
	}
	if err := a.Release(ctx); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("a is valid:", a.Valid())

	claim.Holder = "b"
	b, err := lease.Acquire(ctx, store, claim)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer b.Abandon()
	write(b.Token(), "b, holding")
	write(a.Token(), "a, which did not look")
	// Output:
	// written: a, holding
	// a is valid: false
	// written: b, holding
	// refused: a, which did not look
}

// One renewer renews any number of leases, in batches.
func ExampleRenewer() {
	ctx := context.Background()
	store := new(memlease.Store)
	renewer := lease.NewRenewer(store)
	renewer.Observe(func(r lease.Renewal) {
		if r.Err != nil {
			fmt.Println("trying again:", r.Err)
		}
	})
	defer renewer.Close()

	for _, shard := range []string{"shard-1", "shard-2", "shard-3"} {
		l, err := renewer.Acquire(ctx, lease.Claim{Name: shard, Holder: "a", TTL: 30 * time.Second})
		if err != nil {
			fmt.Println(shard, err)
			continue
		}
		fmt.Println(l.Name(), "attempt", l.Attempt())
	}
	fmt.Println("held:", renewer.Held())
	// Output:
	// shard-1 attempt 1
	// shard-2 attempt 1
	// shard-3 attempt 1
	// held: 3
}
