// Package fleet shows what the replicas of a fleet do, and rules their jobs: who lives, what became of each tick and why,
// pause, resume, trigger.
//
// A [Fleet] asks the store that the replicas share, so it needs no replica to answer, and tells the truth while there is
// none. What it knows is the store's record of each job: the ticks that are open, the last [protocol.History] outcomes, the
// pause, and what the replicas that live say about themselves ([Replica], announced every few seconds). It changes
// nothing but by Pause, Resume and Trigger, which hold for the whole fleet and outlast it.
//
// Beside the record a store may keep a journal, in which people's acts and what replicas notice are facts ([Fact]): see
// docs/adr/0015. An explanation names a cause only where it was noted, and says otherwise that it is not known.
//
// All times are fleet time: the store's clock. That of a run's start is what its replica estimated of it.
//
// # Which jobs a replica serves
//
// A heartbeat lists a few jobs itself; of more it names the set, which [JobSets] keeps in the store once for all who have
// it. While a set cannot be read its replica counts as one whose jobs are not known: it may serve any job, and no job is
// reported as unserved for it.
//
//	what fails                                   what follows
//	the store has lost a set, or evicted it      not known to those who have not read it; its replicas put it again
//	                                             within 30 s
//	a set cannot be put (no memory, no answer)   not known; it is tried again with each heartbeat
//	a set is not what its digest says            not known
//	two releases, or two sets of groups          two sets, which have most of their parts in common
//	a heartbeat of the older form                its list of jobs is read; above [MostJobs] it has none: not known
//	the store keeps no sets                      heartbeats list up to [MostJobs] jobs
//	more than [MaxJobs] jobs on one replica      not known
//	two halves of a fleet see different members  each counts the jobs of those that it sees
package fleet
