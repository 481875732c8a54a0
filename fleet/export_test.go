package fleet

import (
	"time"

	"github.com/solotick/solotick/lease/protocol"
)

// For a test that package scheduler has the same: it imports this one.
var (
	Outcomes = []protocol.Outcome{succeeded, failed, protocol.OutcomeSkipped, missed, protocol.OutcomeLost}
	Reasons  = []string{protocol.NoteOverlap, protocol.NotePaused, reasonMisfire, reasonTooOld, reasonTooMany, reasonForgotten}
)

// AgeOfSets makes the last look at the store's sets that much older.
func AgeOfSets(s *JobSets, d time.Duration) { s.kept = s.kept.Add(-d) }
