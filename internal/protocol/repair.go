package protocol

import (
	"errors"
	"time"
)

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
