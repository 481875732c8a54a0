package job

// awaited is what decides whether a job is overdue: its first undecided tick, and its open ones.
// All times are Unix ms of fleet time, and 0 is none.
type awaited struct {
	now   int64
	grace int64 // the misfire grace

	due     int64 // when the first tick that is not decided is to start, jitter included
	edited  int64 // since when the job has its schedule
	blocked int64 // until when an earlier tick is in its way
	paused  bool  // the job is, by its definition or by an operator

	// free has, for each open tick that no known holder runs, since when a replica could have begun
	// it: its lease ran out, or the tick before it ended.
	free []int64
}

// overdue returns for how long a job has been overdue, in ms. That is the time since the latest
// moment at which a tick had to have begun that neither runs nor is settled. It is 0 while there is
// no such tick.
//
//	the tick                               has to begin by
//	is next by the schedule                its time and jitter + the grace
//	is older than the job's schedule       the edit + the grace: until then others may run it
//	waits for an earlier one               the end of that one + the grace
//	was granted, and its lease has run out the end of the lease + the grace
//	was triggered, or waits in the queue   the moment at which it could begin + the grace
//	is next, and the job is paused         never: it is skipped
//
// A tick without room, one whose store is away, and one whose store's clock is in doubt has to
// begin none the less.
func overdue(a awaited) int64 {
	since := int64(0)
	if a.due != 0 && !a.paused {
		since = max(a.due, a.edited, a.blocked)
	}
	for _, free := range a.free {
		if since == 0 || free < since {
			since = free
		}
	}
	if since == 0 {
		return 0
	}
	return max(a.now-since-a.grace, 0)
}
