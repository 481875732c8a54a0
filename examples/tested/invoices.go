// Package tested shows how a job is tested against the faults of a fleet: replicas that are killed, frozen and cut off.
//
//	go test -v ./examples/tested
package tested

import (
	"context"
	"fmt"
	"time"

	"github.com/solotick/solotick"
)

// ledger keeps the invoices: a table in a service, a solotest.Gate in its tests. WriteOnce does nothing when the key was
// written before, and refuses a token that is older than one that it has seen.
type ledger interface {
	WriteOnce(ctx context.Context, token int64, key string) error
}

// invoices returns the handler of a job that writes an invoice for each customer.
func invoices(to ledger, customers ...string) solotick.Handler {
	return func(ctx context.Context, run solotick.Run) error {
		for _, customer := range customers {
			if err := render(ctx); err != nil {
				return err
			}
			key := fmt.Sprintf("%s %s", customer, run.Tick.Format(time.RFC3339)) // the same in every attempt
			if err := to.WriteOnce(ctx, run.Token, key); err != nil {
				return err
			}
		}
		return nil
	}
}

// render takes a while, and ends when the lease is lost.
func render(ctx context.Context) error {
	select {
	case <-time.After(time.Second):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
