// Command fencedwrite shows what the fencing token is for: a holder that froze and was taken over writes once more when
// it thaws, and the place where it writes refuses it.
//
//	go run ./examples/fencedwrite
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/memlease"
)

// ErrStale is returned for a write that carries a lower token than one before it.
var ErrStale = errors.New("stale fencing token")

// Account is what jobs write to. In a database the check is a condition of the update itself:
//
//	UPDATE account SET balance = $1, token = $2 WHERE id = $3 AND token <= $2
type Account struct {
	mu      sync.Mutex
	balance int
	token   int64 // the highest that was seen
}

// Set stores the balance, unless a holder with a higher token has written.
func (a *Account) Set(balance int, token int64) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if token < a.token {
		return fmt.Errorf("%w: the account has seen a higher one", ErrStale)
	}
	a.balance, a.token = balance, token
	return nil
}

func main() {
	if err := demo(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "fencedwrite:", err)
		os.Exit(1)
	}
}

func demo(ctx context.Context, out io.Writer) error {
	store, account := new(memlease.Store), new(Account)
	claim := lease.Claim{Name: "account-7", Term: 200 * time.Millisecond}

	// A process that is frozen renews nothing; to play one, take the lease without a keeper.
	claim.Holder, claim.Request = "frozen", "1"
	frozen, err := store.Claim(ctx, claim)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "frozen:", frozen.Status)

	// Another waits until the lease has run out, gets the name with a higher token, and writes.
	claim.Holder, claim.Request = "awake", ""
	var awake *lease.Lease
	for awake == nil {
		awake, err = lease.Acquire(ctx, store, claim)
		if held, ok := errors.AsType[*lease.HeldError](err); ok {
			time.Sleep(held.Left)
		} else if err != nil {
			return err
		}
	}
	defer func() { _ = awake.Release(context.WithoutCancel(ctx)) }()
	fmt.Fprintln(out, "awake: granted, token is higher:", awake.Token() > frozen.Token)
	fmt.Fprintln(out, "awake writes 100:", account.Set(100, awake.Token()))

	// The first thaws in the middle of what it was doing, and writes. No lease can stop that; the account does.
	fmt.Fprintln(out, "frozen writes 50:", account.Set(50, frozen.Token))
	fmt.Fprintln(out, "balance:", account.balance)
	return nil
}
