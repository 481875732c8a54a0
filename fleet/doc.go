// Package fleet shows and controls the jobs of a fleet: which replicas are alive, what became of each tick and why, pause,
// resume, trigger, cancel and repair.
//
// A [Fleet] asks the store that the replicas share. It needs no replica to answer, and works while none is alive. It reads
// the store's record of each job (open ticks, history, pause) and the heartbeats of the replicas ([Replica], sent every few
// seconds). It changes nothing but by its commands, which hold for the whole fleet and outlast it.
//
// A store may keep a journal beside the record, in which acts of people and observations of replicas are facts ([Fact]):
// see docs/adr/0015. An explanation names a cause only where a fact shows it, and says otherwise that it is not known.
//
// All times are fleet time: the store's clock. The start of a run is its replica's estimate of it.
//
// # Which jobs a replica serves
//
// A heartbeat lists a few jobs itself; of more it names the set, which [JobSets] keeps in the store once for all who have
// it. While a set cannot be read its replica counts as one whose jobs are not known: it may serve any job, and no job is
// reported as unserved for it.
//
//	what fails                                   what follows
//	the store has lost a set, or evicted it      unknown to replicas that have not read it; its own put it again
//	                                             within 30 s
//	a set cannot be put (no memory, no answer)   not known; it is tried again with each heartbeat
//	a set is not what its digest says            not known
//	two releases, or two sets of groups          two sets, which have most of their parts in common
//	a heartbeat of the older form                its list of jobs is read; above [MostJobs] it has none: not known
//	the store keeps no sets                      heartbeats list up to [MostJobs] jobs
//	more than [MaxJobs] jobs on one replica      not known
//	two halves of a fleet see different members  each counts the jobs of those that it sees
package fleet
