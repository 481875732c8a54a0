package protocol

import (
	"errors"
	"time"
)

// Remove asks for the end of a record.
type Remove struct {
	Name string
	// Watermark and Token are those of the record that the caller has looked at. Every grant and
	// every settlement of a new tick changes one of them.
	Watermark, Token int64
	Until            time.Time // as in [Claim]; past it Remove returns a [*BoundsError]
}

// RemoveStatus is the kind of an answer to a [Remove].
type RemoveStatus int

const (
	// RecordRemoved: the record is gone.
	RecordRemoved RemoveStatus = iota + 1
	// RecordAbsent: there is none, perhaps since the same was asked before.
	RecordAbsent
	// RecordOpen: a tick is open, or the name is held as a plain lock. Nothing was removed.
	RecordOpen
	// RecordChanged: the record is not the one that the request names. Nothing was removed.
	RecordChanged
	// RecordAhead: the store's clock is behind the last token, so that a new record could grant a
	// lower one. Nothing was removed.
	RecordAhead
)

// Removed is a store's answer to a [Remove].
type Removed struct {
	Status RemoveStatus
	Open   int // how many ticks are open; of RecordOpen
}

func (s RemoveStatus) String() string {
	names := [...]string{"none", "removed", "absent", "open", "changed", "ahead"}
	if s < 0 || int(s) >= len(names) {
		return "invalid"
	}
	return names[s]
}

// Validate returns every fault of r, joined; nil when there is none. Stores refuse a removal that
// has any.
func (r Remove) Validate() error {
	f := faults{of: "remove"}
	f.check(ValidName(r.Name), "name", r.Name, NameRule)
	f.check(r.Watermark >= 0 && r.Watermark <= MaxTick, "mark", r.Watermark, "must be from 0 to 2^53-1")
	f.check(r.Token >= 0 && r.Token <= MaxTick, "token", r.Token, "must be from 0 to 2^53-1")
	return errors.Join(f.all...)
}
