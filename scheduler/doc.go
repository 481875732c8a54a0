// Package scheduler decides when and where a job runs: it claims each tick in the store, runs it
// under a lease, and settles it.
//
// Every replica of a fleet runs a [Scheduler] with the same jobs over one store. There is no leader:
// the store grants a tick to one of the replicas that claim it. Schedules follow the store's clock.
// Ticks are taken in order; after a gap, the misfire policy of the job decides about those that came
// due meanwhile.
//
// If a lease cannot be renewed, the context of its run is cancelled before the store can grant the
// tick again. A handler that goes on runs beside the next holder, and the fencing token of its
// [jobs.Run] keeps it from doing harm. See docs/scheduler.md.
package scheduler
