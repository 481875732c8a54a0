// Package fleet shows and controls the jobs of a fleet. It shows which replicas are alive, and what
// became of each tick and why. It can pause, resume, trigger, cancel and repair.
//
// A [Fleet] asks the store that the replicas share. It needs no replica to answer, and works while
// none is alive. It reads the store's record of each job (open ticks, history, pause) and the
// heartbeats of the replicas ([Replica]). It changes nothing but by its commands, which hold for
// the whole fleet and outlast it.
//
// A store may keep a journal beside the record, in which acts of people and observations of
// replicas are facts ([Fact]). An explanation names a cause only where a fact shows it, and says
// otherwise that it is not known.
//
// While the list of jobs that a replica serves cannot be read, it may serve any job, and no job is
// reported as unserved.
//
// All times are fleet time: the store's clock. The start of a run is its replica's estimate of it.
package fleet
