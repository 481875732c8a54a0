// Package fleet shows what the replicas of a fleet do, and rules their jobs: who lives, what became of each tick and why,
// pause, resume, trigger.
//
// A [Fleet] asks the store that the replicas share, so it needs no replica to answer, and tells the truth while there is
// none. What it knows is the store's record of each job: the ticks that are open, the last [lease.History] outcomes, the
// pause, and what the replicas that live say about themselves ([Replica], announced every few seconds). It changes
// nothing but by Pause, Resume and Trigger, which hold for the whole fleet and outlast it.
//
// Beside the record a store may keep a journal, in which people's acts and what replicas notice are facts ([Fact]): see
// docs/adr/0015. An explanation names a cause only where it was noted, and says otherwise that it is not known.
//
// All times are fleet time: the store's clock. That of a run's start is what its replica estimated of it.
package fleet
