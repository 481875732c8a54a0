// Package nemesistest runs random jobs on random fleets under the nemesis of package solotest, and
// judges what the engine did with them.
//
// A seed draws the jobs, the replicas, the faults and their times; [Run] with that seed draws the
// same again. The order of goroutines at one instant, and some delays of the scheduler, are drawn
// anew: repeat a seed a few times.
//
// # Faults
//
// Those of [solotest.Kinds], of which a simulation has about half. Besides:
//
//	edits      jobs get other policies while they run
//	jobs       have jitter, weights, retries, every policy; they fail, panic and ignore their contexts
//	replicas   have room for a few
//	schedules  that lie in the store are put, changed, deleted, paused and triggered
//
// # What is judged
//
//	alone      while an attempt of a tick has its context, no other begins
//	settled    a tick that its holder was told is settled never runs again
//	succeeded  a run that succeeded is not repeated, nor settled as another outcome, if its replica
//	           lived and had no fault but those that the whole fleet had
//	once       a tick with delivery at most once begins once
//	early      no tick begins before its time, nor is decided without a run before it is due
//	token      tokens and attempts of a tick rise
//	position   a run's position is of its tick, was written, and is not older than what was synced
//	           before, unless the store forgot
//	decided    no tick is open once the faults have ended
//	kept       every tick of a schedule is decided by somebody, or came due while its job was paused
//	room       the weights of a replica's runs stay within what it has room for
//	trigger    one call runs its job once, and is decided
//
// # What was seen red
//
// Each line of the engine was broken on purpose, and seeds were tried from 1 on, of 5 minutes each.
//
//	judge      what was broken                                                       found by seed
//	kept       a loss moves the watermark past ticks that jitter makes due later     22
//	early      a pause that ends moves it past such ticks                            15
//	once       a tick with at most once may be taken over                            3
//	room       a run is admitted that is heavier than the room by 1                  4
//	room       a run that is replaced gives back the room that its heir has          15
//	succeeded  a lease that ran out may be ended without the return grace            20
//	alone      a context ends a TTL after its lease                                  2
//	settled    a settled tick is granted again within a minute                       1
//	position   an attempt after a takeover does not read it                          5
//	position   the newest of any tick of the job is taken for the tick's             4
//	trigger    a trigger whose reply was lost is not known when it is sent again     1
package nemesistest
