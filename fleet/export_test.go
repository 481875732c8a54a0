package fleet

import (
	"time"

	"github.com/solotick/solotick/lease"
)

// For a test that package scheduler has the same: it imports this one.
var (
	Outcomes = []lease.Outcome{succeeded, failed, lease.OutcomeSkipped, missed, lease.OutcomeLost}
	Reasons  = []string{lease.NoteOverlap, lease.NotePaused, reasonMisfire, reasonTooOld, reasonTooMany, reasonForgotten}
)

// AgeOfSets makes the last look at the store's sets that much older.
func AgeOfSets(s *JobSets, d time.Duration) { s.kept = s.kept.Add(-d) }
