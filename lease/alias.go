package lease

import "github.com/solotick/solotick/internal/protocol"

// Store grants leases; package protocol has the rest of what it is asked and answers.
type Store = protocol.Store

// Claim asks for a lease.
type Claim = protocol.Claim

// Overlap says what becomes of a claim of a new tick when another tick of the name is open.
type Overlap = protocol.Overlap

// The values of [Overlap].
const (
	OverlapAllow   = protocol.OverlapAllow
	OverlapSkip    = protocol.OverlapSkip
	OverlapWait    = protocol.OverlapWait
	OverlapQueue   = protocol.OverlapQueue
	OverlapReplace = protocol.OverlapReplace
)

// Outcome is how a tick was settled.
type Outcome = protocol.Outcome

// OutcomeSucceeded is how a holder settles what went well.
const OutcomeSucceeded = protocol.OutcomeSucceeded

// CancelledError is the cause of a lease's context when somebody has cancelled its tick, and says who.
type CancelledError = protocol.CancelledError
