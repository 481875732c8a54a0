// Command fencedwrite shows the use of the fencing token. A holder that froze and was taken over
// writes once more when it thaws, and the place where it writes refuses it.
//
// The place is a variable, behind a fence.Memory. For databases there is fence/sqlfence, for Redis
// fence/redisfence, for a service of your own fence/httpfence: docs/fencing.md has each in some
// lines.
//
//	go run ./examples/fencedwrite
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/solotick/solotick/fence"
	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/memlease"
)

// account is written by jobs.
type account struct {
	name    string
	balance int
	fence   fence.Memory
}

// set stores the balance, unless a holder with a higher token has written.
func (a *account) set(ctx context.Context, balance int, token int64) error {
	return a.fence.Do(ctx, a.name, token, func() error {
		a.balance = balance
		return nil
	})
}

func main() {
	if err := demo(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "fencedwrite:", err)
		os.Exit(1)
	}
}

func demo(ctx context.Context, out io.Writer) error {
	store, account := new(memlease.Store), &account{name: "account-7"}
	claim := lease.Claim{Name: account.name, TTL: 200 * time.Millisecond}

	// A process that is frozen renews nothing; to play one, abandon the lease.
	claim.Holder = "frozen"
	frozen, err := lease.Acquire(ctx, store, claim)
	if err != nil {
		return err
	}
	frozen.Abandon()
	fmt.Fprintln(out, "frozen: granted")

	// Another waits until the lease has run out, gets the name with a higher token, and writes.
	claim.Holder = "awake"
	var awake *lease.Lease
	for awake == nil {
		awake, err = lease.Acquire(ctx, store, claim)
		if held, ok := errors.AsType[*lease.HeldError](err); ok {
			time.Sleep(held.Remaining)
		} else if err != nil {
			return err
		}
	}
	defer func() { _ = awake.Release(context.WithoutCancel(ctx)) }()
	fmt.Fprintln(out, "awake: granted, token is higher:", awake.Token() > frozen.Token())
	fmt.Fprintln(out, "awake writes 100:", account.set(ctx, 100, awake.Token()))

	// The first thaws and writes. A lease cannot prevent that, but the account refuses its token.
	err = account.set(ctx, 50, frozen.Token())
	fmt.Fprintln(out, "frozen writes 50, and is refused as stale:", errors.Is(err, fence.ErrStale))
	fmt.Fprintln(out, "balance:", account.balance)
	return nil
}
