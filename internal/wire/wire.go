// Package wire has the words and times that replicas write and the fleet reads.
package wire

import (
	"strings"
	"time"

	"github.com/solotick/solotick/internal/protocol"
)

// The outcomes of a tick. Stores settle the last four on their own as well.
const (
	Succeeded = protocol.OutcomeSucceeded  // the handler returned nil
	Failed    = protocol.OutcomeFailed     // its last attempt returned an error
	Missed    = protocol.Outcome("missed") // a misfire that the policy does not run
	Skipped   = protocol.OutcomeSkipped    // a policy refused it: overlap, or the job is paused
	Lost      = protocol.OutcomeLost       // its holders' leases ran out too often
	Replaced  = protocol.OutcomeReplaced   // it had to make room for a newer tick
	Cancelled = protocol.OutcomeCancelled  // somebody has ended it
)

// The reasons why ticks are settled without a run, in a word. docs/policies.md lists them for
// users.
const (
	ReasonOverlap   = protocol.NoteOverlap // an earlier tick was still running
	ReasonOpen      = protocol.NoteOpen    // protocol.MaxOpen ticks of the job were open
	ReasonPaused    = protocol.NotePaused  // the job is
	ReasonNewer     = protocol.NoteNewer   // a newer tick took its place
	ReasonMisfire   = "misfire"            // late, and the misfire policy does not run it
	ReasonCapacity  = "capacity"           // late because no replica had room for it, and the misfire policy does not run it
	ReasonOverload  = "overload"           // late because the store was slower than it was asked, and the misfire policy does not run it
	ReasonTooOld    = "too_old"            // late, and older than the catch-up window
	ReasonTooMany   = "too_many"           // late, and past the most that are caught up
	ReasonForgotten = "forgotten"          // the store lost its record, so whether it ran is unknown
	ReasonTakeovers = "takeovers"          // its holders' leases ran out, and it may not be granted again
	ReasonCancelled = "cancelled"          // somebody has ended it, and its holder is gone
	ReasonPast      = "past"               // the only tick of its schedule was over when the job was first known
	ReasonEdited    = "edited"             // late, and from before the schedule was changed
	ReasonStopping  = "stopping"           // its replica stopped before the run had ended, and it may not be granted again
)

// MissedHeartbeats is how many heartbeats a replica may miss before it counts as gone.
const MissedHeartbeats = 3

// HeartbeatInterval is the time between two heartbeats of a replica whose leases last for ttl.
// Others learn that it is gone about when they may take its ticks over; the bounds keep the
// heartbeats of large fleets cheap.
func HeartbeatInterval(ttl time.Duration) time.Duration {
	return min(max(ttl/2, 500*time.Millisecond), 5*time.Second)
}

const (
	// DefaultAge is how long outcomes are shown.
	DefaultAge = 30 * 24 * time.Hour
	// DefaultWindow is for how long the key of a trigger is remembered.
	DefaultWindow = 24 * time.Hour
)

// Words makes words of an outcome, a verdict or a reason, which have underscores in place of
// spaces.
func Words(s string) string { return strings.ReplaceAll(s, "_", " ") }

// What an act of somebody was asked for by.
const (
	ViaGo      = "go"
	ViaCLI     = "cli"
	ViaAPI     = "api"
	ViaConsole = "console"
)
