// Package soloriver inserts a job of github.com/riverqueue/river for each tick of a job.
//
//	type InvoiceArgs struct {
//		soloriver.Tick
//		Country string `json:"country"`
//	}
//
//	s := solotick.New(client, "billing")
//	s.Func("invoices", "0 2 * * *", soloriver.Insert(riverClient, func(_ context.Context, tick soloriver.Tick) (InvoiceArgs, error) {
//		return InvoiceArgs{Tick: tick, Country: "de"}, nil
//	}, nil))
//
// It takes the place of river's periodic jobs, which its leader keeps in memory. Ticks are
// remembered in the store, and each inserts one job, whichever replica runs it. River does all that
// comes then: queues, workers, retries.
//
// The job is unique by its kind and the tick's id, in every state. So a tick which is taken over,
// or whose reply was lost, does not insert another one. That holds as long as river keeps the job:
// a day after it was completed, by default. A replica that is frozen for longer than that before it
// inserts can insert again.
package soloriver

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/solotick/solotick/jobs"
)

// Tick says which tick a river job is of. The arguments of the job embed it.
type Tick struct {
	ID    string    `json:"tick_id" river:"unique"` // as jobs.Run.TickID
	Time  time.Time `json:"tick_time"`              // the scheduled time, in UTC
	Token int64     `json:"tick_token"`             // the fencing token of the attempt that has inserted the job
}

func (t Tick) tickID() string { return t.ID } //nolint:unused // it is what Args asks for

// Args are the arguments of a river job that embed a [Tick].
type Args interface {
	river.JobArgs
	tickID() string
}

// Client inserts jobs. A *river.Client is one.
type Client interface {
	Insert(ctx context.Context, args river.JobArgs, opts *river.InsertOpts) (*rivertype.JobInsertResult, error)
}

// Insert makes the handler of a job that inserts a river job for each tick. args makes its
// arguments, with the tick that it is given. Its error fails the attempt, and so does one of the
// database; the job's retry policy decides what follows. opts may be nil; its UniqueOpts have no
// effect.
func Insert[A Args](client Client, args func(ctx context.Context, tick Tick) (A, error), opts *river.InsertOpts) jobs.Handler {
	return func(ctx context.Context, run jobs.Run) error {
		if client == nil || args == nil {
			return errors.New("soloriver: client and args: nil must be a client, and a function that makes arguments")
		}
		a, err := args(ctx, Tick{ID: run.TickID(), Time: run.Tick, Token: run.Token})
		if err == nil && a.tickID() != run.TickID() {
			err = fmt.Errorf("their Tick has the id %q, and must be the one that args is given", a.tickID())
		}
		if err != nil {
			return fmt.Errorf("soloriver: the arguments of %s: %w", run.TickID(), err)
		}
		unique := river.InsertOpts{}
		if opts != nil {
			unique = *opts
		}
		unique.UniqueOpts = river.UniqueOpts{ByArgs: true, ByState: rivertype.JobStates()}
		if _, err := client.Insert(ctx, a, &unique); err != nil { // that an earlier attempt has inserted it is none
			return fmt.Errorf("soloriver: insert %s: %w", run.TickID(), err)
		}
		return nil
	}
}
