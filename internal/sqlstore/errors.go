package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/solotick/solotick/internal/lane"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/sleep"
	"github.com/solotick/solotick/internal/storekit"
)

// ErrClosed is matched by the error of calls of a store that was closed.
var ErrClosed = lane.ErrClosed

// ErrChanged is matched when somebody has changed what a release made in the database.
var ErrChanged = errors.New("a table is not as this release made it")

var (
	errTimeout = errors.New("no answer in time")
	errNewer   = errors.New("the tables were made by a newer release")
	errEmptied = errors.New("somebody has emptied the tables")
)

// hints are what to change; the errors stay until somebody does.
var hints = []storekit.Hint{
	{ErrClosed, true, "close the store when everything that uses it has ended"},
	{errNewer, true, "start the newer release, or name another database"},
	{ErrChanged, true, "undo the change of the table, or stop all processes and drop the tables that begin with solotick_"},
}

func (db *database) advice(err error) (hint string, permanent bool) {
	if hint, permanent = storekit.Advice(hints, err); hint != "" {
		return hint, permanent
	}
	return db.Advice(err)
}

// failed returns err with the place that it is about.
func (db *database) failed(err error) error {
	if err == nil {
		return nil
	}
	_, permanent := db.advice(err)
	err = fmt.Errorf("%s: %s: %w", db.Package, db.Place, err)
	if permanent {
		return protocol.Permanent(err)
	}
	return err
}

// call calls f when the tables are there, and again when that is of use: f has to bear being called
// twice, also when the first call has worked and its answer was lost.
func (db *database) call(ctx context.Context, f func(ctx context.Context) error) error {
	if db.tx != nil {
		return db.callInTx(ctx, f)
	}
	if err := db.enter(); err != nil {
		return db.failed(err)
	}
	defer db.running.Done()
	return db.failed(db.repeat(ctx, f))
}

func (db *database) repeat(ctx context.Context, f func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, db.Timeout, errTimeout)
	defer cancel()
	for tries := 0; ; tries++ {
		err := db.prepare(ctx)
		if err == nil {
			err = f(ctx)
		}
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return protocol.Ended(context.Cause(ctx), err)
		case db.Missing(err), errors.Is(err, errEmptied):
			db.forget()
			if tries >= mostMade {
				return err
			}
		case !db.Again(err) || tries >= mostTries:
			return err
		}
		sleep.For(ctx, sleep.Scatter(tries, time.Millisecond, 32*time.Millisecond))
	}
}

// mostTries is how often a transaction is repeated that the server rolls back.
const mostTries = 16

// mostMade is how often tables are looked for, or made, again in a call.
const mostMade = 4
