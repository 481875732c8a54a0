package scheduler

// Loaded returns how many stored schedules a replica has in memory.
func Loaded(s *Scheduler) int { return len(s.loader.all()) }
