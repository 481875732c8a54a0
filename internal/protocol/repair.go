package protocol

import (
	"context"
	"errors"
	"time"
)

// Repairer is a [Store] that brings a record back to now which a clock that was wrong has left in
// the future.
type Repairer interface {
	// Repair brings a watermark that lies ahead of the store's clock back to it, in ms. Ticks past
	// the new watermark that are open stay so: their holders may renew and settle them. They, and
	// those past it that the record remembers as settled one by one, are never granted again. A
	// claim of one is Decided, and moves the watermark to it. Ticks skipped as a range are
	// undecided again. The rate of triggers starts again, and triggers and keys of the future that
	// the record remembers do not count. A pause, a revision or a schedule of the future is in
	// force since now. Tokens go on rising.
	//
	// A record of which nothing lies ahead stays as it is. It returns [ErrUnknown] when there is no
	// record. A [Watcher] passes [PauseChanged] when something changed.
	Repair(ctx context.Context, r Repair) (Repaired, error)
}

// Repair asks for a record to be brought back to now.
type Repair struct {
	Name  string
	Until time.Time // as in [Claim]; past it Repair returns a [*BoundsError]
}

// MaxExceptions is how many ticks past its watermark a repaired record keeps from being granted at
// most: those that come first.
const MaxExceptions = 512

// Repaired is a store's answer to a [Repair].
type Repaired struct {
	Changed           bool  // false when nothing lay ahead
	Before, Watermark int64 // the watermark before the repair, and after it
	Exceptions        int   // how many ticks past the watermark are never granted again
}

// Validate returns every fault of r, joined; nil when there is none. Stores refuse a repair that
// has any.
func (r Repair) Validate() error {
	f := faults{of: "repair"}
	f.check(ValidName(r.Name), "name", r.Name, NameRule)
	return errors.Join(f.all...)
}
