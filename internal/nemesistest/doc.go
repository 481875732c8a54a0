// Package nemesistest runs random fleets under random faults, in virtual time, and judges what
// their jobs did.
//
// The faults lie under driver.Store and around replicas, so they do not depend on how the engine
// above is built. A seed draws the jobs, the faults and their times; [Run] with that seed draws the
// same again. The scheduler draws some delays of its own, so repeat a seed a few times.
//
// # Faults
//
//	store      refuses connections, drops packets or freezes, for up to 6 TTLs, often within 50 ms
//	           of ticks that are due; a frozen store carries out later what callers gave up
//	clients    connect again after a return, each after a delay of its own
//	replies    get lost, of one replica or of all, while requests of others go on
//	replicas   are cut off, frozen, killed, stopped and started
//	clock      of the store steps
//	people     pause, resume, trigger and edit jobs
//	jobs       have jitter, weights, retries, every policy; replicas have room for a few
//
// # What is judged
//
//	settled    a tick that its holder was told is settled never runs again
//	succeeded  a run that succeeded is not repeated, nor settled as another outcome, if its replica
//	           lived and had no fault but those that the whole fleet had
//	once       a tick with delivery at most once begins once
//	early      no tick begins before its due time
//	token      tokens of a job rise with the grants that its runs had
//	decided    every tick is settled once the faults have ended
//	room       the weights of a replica's runs stay within what it has room for
//	trigger    one call runs its job once
package nemesistest
