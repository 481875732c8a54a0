package lease

import "github.com/solotick/solotick/lease/protocol"

// What a claim is made of, and whom it is put to. Package protocol has the rest of what a store is asked and answers.
type (
	Store          = protocol.Store
	Claim          = protocol.Claim
	Overlap        = protocol.Overlap
	Outcome        = protocol.Outcome
	CancelledError = protocol.CancelledError
)

// The values of [Overlap].
const (
	OverlapAllow   = protocol.OverlapAllow
	OverlapSkip    = protocol.OverlapSkip
	OverlapWait    = protocol.OverlapWait
	OverlapQueue   = protocol.OverlapQueue
	OverlapReplace = protocol.OverlapReplace
)

// OutcomeSucceeded is how a holder settles what went well.
const OutcomeSucceeded = protocol.OutcomeSucceeded
