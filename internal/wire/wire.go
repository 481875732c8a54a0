// Package wire has the words and times that replicas write and the fleet reads.
package wire

import (
	"time"

	"github.com/solotick/solotick/internal/protocol"
)

// The outcomes that holders settle. Stores settle the others on their own.
const (
	Succeeded = protocol.OutcomeSucceeded
	Failed    = protocol.Outcome("failed")
	Missed    = protocol.Outcome("missed")
)

// The reasons why ticks are settled without a run, besides those that stores note.
const (
	ReasonMisfire   = "misfire"
	ReasonCapacity  = "capacity"
	ReasonOverload  = "overload"
	ReasonTooOld    = "too_old"
	ReasonTooMany   = "too_many"
	ReasonForgotten = "forgotten"
	ReasonTakeovers = "takeovers"
	ReasonCancelled = "cancelled"
	ReasonPast      = "past"
	ReasonEdited    = "edited"
	ReasonStopping  = "stopping"
)

// MissedHeartbeats is how many heartbeats a replica may miss before it counts as gone.
const MissedHeartbeats = 3

// HeartbeatInterval is the time between two heartbeats of a replica whose leases last for ttl. Others learn that it is
// gone about when they may take its ticks over; the bounds keep the heartbeats of large fleets cheap.
func HeartbeatInterval(ttl time.Duration) time.Duration {
	return min(max(ttl/2, 500*time.Millisecond), 5*time.Second)
}
