// Package engine applies the rules of leases over any [driver.Store].
//
// The rules are pure functions of a record, a request and a time (internal/record). A [Session]
// reads a value, decides, and asks the driver for a [driver.Change]. The change names the version
// that it started from, and the bounds of the store's time within which the decision holds. So the
// rules stand in one place, and a driver knows none of them.
//
// # States
//
// A session applies a rule to the value of a key. Its next step depends on what it knows:
//
//	guess     a value that it has seen before, and the store's time as it reckons it
//	truth     the present value, and the store's time of that instant
//	decided   the rule was applied to one of these, and wants a change
//	answered  the caller has the answer
//
//	guess   --rule wants no change-->        read the value        --> truth
//	guess   --rule wants a change-->         decided
//	truth   --rule wants no change-->        answered
//	truth   --rule wants a change-->         decided
//	decided --Done-->                        answered; the new value is the next guess
//	decided --Conflict, OutOfBounds-->       truth: the store's answer has the present value and the time
//	any     --error, end of the context-->   answered: the outcome is unknown
//
// So what a caller is answered was true at one instant of the store's clock between its question
// and its answer. A claim that wins from a good guess is one round trip, and so is one that loses
// against somebody who was quicker. Within a session one change of a key is under way at a time. If
// others change a value all the time, the session pauses at random, reads it again and tries again.
// The pauses grow with the conflicts and with the round trip. Only an error and the end of the
// context end the tries.
//
// A renewal asks the store to extend the lease, without looking at the value. Only when the lease
// is not there, not the holder's, or stopped, is the rule applied to the truth that came back.
//
// A session keeps records decoded, those of up to 4096 names. The next rule for the same version
// and the same bytes reuses what the last one made, and decodes nothing.
//
// # Keys and values
//
//	value of NAME          the record of its ticks, and the plain lock of that name: package record, Record
//	value of JOB/KEY       the same, with a schedule that lies in the store; the index has when somebody must look at it
//	list of NAME           its history: settled ticks, newest first, with the notes of holders
//	value of lock:NAME     the lock of that name, and its queue: package record, Lock
//	value of limit:NAME    the units taken of the limit of that name, unless the store decides by itself: package record, Limit
//	list of journal:NAME   its journal; journal: is that of the namespace
//	list of audit:N        part N of the audit log of the namespace; the value of audit: says which parts there are
//	value of member:HOLDER a member, whose lease is its life; the value of member: lists the holders
//	value of set:DIGEST    a set, whose lease is its life
//	value of checkpoint:NAME where the runs of ticks of that name are: package record, Checkpoints
//	value of message:X     nothing: its changes carry the messages of one session, where the store does not carry them itself
//	value of progress:NAME how far notifications of that name have come; progress: is that of the namespace
//
// Records have no end. Locks, which may have any number of names, are kept for five minutes after
// they were of use: held, waited for, or owed an answer to a holder that lost its hold early. A
// token is at least the store's clock in microseconds, so tokens rise unless that clock goes back
// for longer while the lock is not used. A store whose removals raise a floor has no such limit.
//
// # Checkpoints
//
// Where the runs of a name are lies in a value of its own and not beside the leases: a checkpoint is
// not in the way of a claim or a renewal, renewals stay as small as they are, reads of a record do
// not carry positions, and drivers need to know nothing of it.
//
//	none     --Put-->                            kept under the token
//	kept     --Put, the same or a higher token--> kept, newer
//	kept     --Put, a lower token-->             refused: ErrFenced
//	kept     --Clear, after a success-->         none
//	kept     --settled otherwise-->              kept, as long as no open tick needs the room
//
//	died right after it      what was written is there for the next attempt; what was not yet is at most TTL/3 old
//	frozen holder, late      the change names the end of the lease as its bound, and the next attempt writes a higher token
//	reply lost               it is written again: the same value, or a newer one of the same run
//	older copy after a loss  older, or none; never of another tick, since the tick is in it
//	memory full              the checkpoint fails; renewals are other requests, and settlements are Essential
//	record removed           the checkpoints go with it
//	cleared late, or never   a settled tick is never granted again, so nobody reads it
//
// # What can go wrong
//
//	answer lost            the caller asks again: the rules know the holder and the request, and answer the same. A store that
//	                       sends the same change again has it Done by its ID. A trigger and a taking of a limit come
//	                       again with the bound of the first time, and are refused before they are forgotten
//	change out of its time a change that a network held back for long meets the bound that it names, and changes nothing
//	holder slow or frozen  the lease ends in the store; the next change that depends on that names the token, and the store
//	                       compares the end with its clock at that instant
//	renewal and takeover   the renewal leaves the version alone, so the takeover names the token: whichever the store carries
//	                       out first wins
//	renewals collide       they do not: none changes the version
//	store's clock steps    the first change is out of bounds, or its answer has the new time: that is reckoned with from then
//	                       on. Until bounds of requests are compared by the store
//	store emptied          versions do not match. A claim is answered Unknown, and holders write themselves back: see
//	                       package lease
//	store went back        versions never repeat, so no change from a forgotten version is made. A session that has seen a newer
//	                       version than the present one writes what it saw; one that saw a grant settled which is open again
//	                       settles it again. A change that no session saw, or that others made meanwhile, is not noticed
//	two join at once       the list of members changes by its version: the second reads it again. A member that is not on it
//	                       adds itself with its next heartbeat
//	two of one name        each heartbeat names the lease that it made: it does not renew another's, and its caller is told
//	name removed           the change names the version, as any other does: a claim that came first is in its way, and one that
//	                       comes later finds no value. A session that has seen the value before makes a new one with a
//	                       higher stamp. A settle that is repeated after it writes its tick back, and so a record of it
//	put and claim at once  both name the version; and a claim names the revision of its schedule, so that no tick of an
//	                       earlier one is granted
//	index out of step      it changes with the value, in one step. Where a watermark moved without a word about the next tick (a
//	                       resumption, a repair), the index says at once, and who looks says what comes next
//	value of another       it does not decode: an error that matches driver.ErrRecord and names the key
//	memory full            what ends something is Essential, and so are renewals
package engine
