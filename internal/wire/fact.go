package wire

// The kinds of facts: fleet.Fact says what each is about.
const (
	FactTriggered = "triggered"
	FactPaused    = "paused"
	FactResumed   = "resumed"
	FactTakeover  = "takeover"
	FactEdited    = "edited"
	FactRepaired  = "repaired"
	FactCancelled = "cancelled"
	FactReleased  = "released"
	FactForgotten = "forgotten"
	FactAway      = "away"
	FactAbsent    = "absent"
	FactHeld      = "held"
)

// What can be known of a tick that is neither open nor among the outcomes that the store keeps:
// fleet.Explanation says it.
const (
	NotScheduled = "not_scheduled"
	Future       = "future"
	Undecided    = "undecided"
	NotKept      = "not_kept"
	NoTick       = "no_tick"
)
