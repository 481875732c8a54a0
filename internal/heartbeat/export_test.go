package heartbeat

import "time"

// AgeOfSets makes the last look at the store's sets that much older.
func AgeOfSets(s *JobSets, d time.Duration) { s.kept = s.kept.Add(-d) }
