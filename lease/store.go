package lease

import (
	"errors"
	"fmt"
	"time"

	"github.com/solotick/solotick/internal/engine"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/lease/driver"
)

// Store grants leases, and is what schedulers, fleets and locks share. Its methods are for these,
// not for programs. Make one with packages redislease, quorum or memlease, or one of your own with
// [NewStore].
type Store = protocol.Store

// StoreOption changes a default of [NewStore].
type StoreOption func(*storeOptions)

type storeOptions = engine.Options

// WithHint makes hint the function that tells people what to change when a call of the driver fails
// with err. It returns "" when it does not know. Several goroutines may call it at once.
func WithHint(hint func(err error) string) StoreOption {
	return func(o *storeOptions) { o.Hint = hint }
}

// NewStore makes a store of your own: the rules of leases over a driver. The namespace names the
// fleet, and must match [A-Za-z0-9][A-Za-z0-9._-]{0,127}; the driver's keys are that namespace's
// alone. The store does not close the driver. The error joins all faults of the arguments.
func NewStore(d driver.Store, namespace string, opts ...StoreOption) (Store, error) {
	var options storeOptions
	var faults []error
	for i, opt := range opts {
		if opt == nil {
			faults = append(faults, fmt.Errorf("lease: options[%d]: nil must be an option", i))
			continue
		}
		opt(&options)
	}
	if d == nil {
		faults = append(faults, errors.New("lease: driver: nil must be a driver.Store"))
	}
	s, err := engine.NewSession(d, namespace, options)
	if err != nil {
		faults = append(faults, fmt.Errorf("lease: %w", err))
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	return s, nil
}

// Claim asks for a lease.
type Claim struct {
	Name   string // of the lease; matches [A-Za-z0-9][A-Za-z0-9._-]{0,127}
	Tick   int64  // the ordered number of the work, such as its time in Unix ms, below 2^53; 0 is a plain lock, without a memory
	Holder string // who asks; the same pattern as Name

	// Request tells repeated claims of one holder apart: the same Request gets the same grant. The
	// same pattern as Name. [Acquire] makes one up if it is empty.
	Request string

	TTL time.Duration // how long the lease lasts without renewal; at least 1 ms

	// Takeovers is how often the tick may be granted again after a lease of it ran out. 0 means
	// never: the tick is then settled as lost. A plain lock is granted any number of times.
	Takeovers int
	// TakeoverWithin is how long after its lease ran out the tick may be granted again; 0 means no
	// bound.
	TakeoverWithin time.Duration

	// NotBefore and NotAfter bound the store's time at which a tick may be granted for the first
	// time. The zero time means no bound.
	NotBefore, NotAfter time.Time

	// NoOverlap grants the tick only if no other tick of the name is open. If one is, the error of
	// [Acquire] is a [*HeldError]. The default is that several ticks may be held at once.
	NoOverlap bool

	// MaxHold bounds for how long the lease is renewed: it is lost then. 0 means no bound.
	MaxHold time.Duration
}

// asked is the claim as stores know it.
func (c Claim) asked() protocol.Claim {
	request := c.Request
	if request == "" {
		request = protocol.NewRequest()
	}
	var overlap protocol.Overlap
	if c.NoOverlap {
		overlap = protocol.OverlapWait
	}
	return protocol.Claim{
		Name: c.Name, Tick: c.Tick, Holder: c.Holder, Request: request, TTL: c.TTL, Takeovers: c.Takeovers, TakeoverWithin: c.TakeoverWithin,
		NotBefore: c.NotBefore, NotAfter: c.NotAfter, MaxHold: c.MaxHold, Overlap: overlap,
	}
}

// Outcome is how a tick was settled, in a word of 1 to 64 of a-z _. docs/policies.md lists those of
// scheduled ticks.
type Outcome = protocol.Outcome

// OutcomeSucceeded is how a holder settles what went well.
const OutcomeSucceeded = protocol.OutcomeSucceeded

// CancelledError is the cause of a lease's context when somebody has cancelled its tick, and says
// who, as By.
type CancelledError = protocol.CancelledError
