// Package wire has the words and times that replicas write and the fleet reads.
package wire

import (
	"hash/fnv"
	"strconv"
	"strings"
	"time"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/jobs"
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

// Due is when a tick of a job is to start, both in Unix ms. The jitter depends on nothing but the
// job and the tick: it is the same everywhere.
func Due(job string, tick int64, jitter time.Duration) int64 {
	most := jitter.Milliseconds()
	if most <= 0 {
		return tick
	}
	h := fnv.New64a()
	_, _ = h.Write(strconv.AppendInt([]byte(job), tick, 10))
	return tick + int64(h.Sum64()%uint64(most+1))
}

// The states of a tick.
const (
	StateRunning = "running" // a replica holds it
	// StateRetrying is of one whose last attempt failed: its holder waits to make the next.
	StateRetrying = "retrying"
	StateWaiting  = "waiting" // it waits for its turn, or was triggered and waits to be claimed
	StateFree     = "free"    // its holder gave it up, or its lease ran out: the next replica to claim it runs it
	StateSettled  = "settled"
)

// The kinds of facts: fleet.Fact says what each is about.
const (
	FactTriggered = "triggered"
	FactPaused    = "paused"
	FactResumed   = "resumed"
	FactTakeover  = "takeover"
	FactEdited    = "edited"
	FactRepaired  = "repaired"
	FactCancelled = "cancelled"
	FactScheduled = "scheduled"
	FactDeleted   = "deleted"
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

// FailingRun says that attempts of a run have failed, and that its replica makes another: it waits
// for that, or has begun it lately.
type FailingRun struct {
	Job      string    `json:"-"`
	Token    int64     `json:"-"`        // of the run's lease
	Attempt  int       `json:"attempt"`  // the last that failed
	Failures int       `json:"failures"` // how many failed, one after the other
	Since    time.Time `json:"since"`    // when the first of them did, by fleet time
	Error    string    `json:"error"`    // of the last one, on one line: see FailingError
	Next     time.Time `json:"next"`     // when the next attempt begins
}

// maxFailing bounds the error of a FailingRun, in bytes.
const maxFailing = 240

// FailingError is an error on one line: its beginning, and its end, where a command's last output
// is.
func FailingError(text string) string {
	return strings.Join(strings.Fields(shortError(text, maxFailing)), " ")
}

// leastWait is the least wait before a leader task is started again, whatever its policy says.
const leastWait = 100 * time.Millisecond

// Waits returns the least and the greatest wait before a leader task is started again.
func Waits(policy jobs.Retry) (least, most time.Duration) {
	return max(policy.Backoff, leastWait), max(policy.MaxBackoff, leastWait)
}

// doesWell is the least value of DoesWell: a task that ends every few minutes fails all the time.
const doesWell = 5 * time.Minute

// DoesWell is how long an attempt has to run until those before it that failed do not count any
// more: two of the longest waits, and 5 min at least.
func DoesWell(policy jobs.Retry) time.Duration {
	_, most := Waits(policy)
	return max(2*most, doesWell)
}
