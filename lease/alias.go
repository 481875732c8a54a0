package lease

import "github.com/solotick/solotick/internal/protocol"

// Store grants leases, and is what schedulers, fleets and locks share. Its methods are for these,
// not for programs. Make one with packages redislease, quorum or memlease, or one of your own with
// package driver.
type Store = protocol.Store

// Claim asks for a lease. Its fields:
//
//	Name            of the lease: letters, digits, and . _ - after the first; at most 128
//	Tick            the ordered number of the work, such as its time in Unix ms; 0 is a plain lock, without a memory
//	Holder          who asks; the same pattern as Name
//	Request         tells repeated claims of one holder apart; Acquire makes one up
//	TTL             how long the lease lasts without renewal; at least 1 ms
//	Takeovers       how often the tick may be granted again after its lease ran out; 0 is never: then it is settled as lost
//	TakeoverWithin  how long after that it may be granted again; 0 is no bound
//	NotBefore, NotAfter  the store's time within which a new tick may be granted; the zero time is no bound
//	MaxHold         for how long it is renewed at most; 0 is no bound
//
// The others are for schedulers.
type Claim = protocol.Claim

// Outcome is how a tick was settled, in a word of 1 to 64 of a-z _. docs/policies.md lists those of
// scheduled ticks.
type Outcome = protocol.Outcome

// OutcomeSucceeded is how a holder settles what went well.
const OutcomeSucceeded = protocol.OutcomeSucceeded

// CancelledError is the cause of a lease's context when somebody has cancelled its tick, and says
// who, as By.
type CancelledError = protocol.CancelledError
