package fleet

import "github.com/solotick/solotick/lease"

// For a test that package scheduler has the same: it imports this one.
var (
	Outcomes = []lease.Outcome{succeeded, failed, lease.OutcomeSkipped, missed, lease.OutcomeLost}
	Reasons  = []string{lease.NoteOverlap, lease.NotePaused, reasonMisfire, reasonTooOld, reasonTooMany, reasonForgotten}
)
