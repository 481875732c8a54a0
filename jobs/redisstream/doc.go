// Package redisstream is the kind of job that adds one entry to a Redis stream for each tick.
//
// The entry has these fields, in this order, and then the fields of [Stream] by name:
//
//	namespace       the fleet's namespace
//	job             the job's name
//	tick            the scheduled time, RFC 3339 with milliseconds, UTC
//	tick_unix_ms    the same in Unix milliseconds
//	tick_id         the tick's identity, the same for every attempt
//	fencing_token   of the grant under which the entry was added
//	attempt         of the run that added it, from 1
//	replica         the id of the replica that added it
//	key             the key of the stored schedule, if there is one, in place of a field of that name in [Stream]
//	payload         what the tick was triggered with, or its stored schedule carries, if anything, likewise
//	traceparent     the attempt's span, of a run that is traced: see jobs.Run
//
// # Once per tick
//
// A tick's entry is added once: also when the run is tried again, the reply is lost, or another
// replica takes the tick over. A holder that was taken over and adds late adds nothing. For that, a
// script adds the entry and remembers the tick in the same step. Each job has a key for it beside
// the stream (see Keys). Of two runs of one tick the first to come adds the entry. The other,
// whatever its token, finds it there, adds nothing and has succeeded as well. The order of ticks
// does not matter.
//
// The memory has two limits:
//
//   - The script remembers the 1,000 newest ticks of a job. It refuses a tick that is older than
//     all of these, which may have been added or not: its run fails for good. So no tick is added
//     twice, but no more ticks than that may overtake one. Keep a job's max_catch_up at 1000 or
//     less where its overlap is allow.
//   - It remembers them for 30 days from the newest entry of the job.
//
// The memory lasts as long as the Redis that holds it. A failover or a restart forgets both keys
// together, the entry and the tick, so that a tick which runs again is added again. An entry that
// is deleted or trimmed is not added again.
//
// # Keys
//
// The second key of a stream events is {events}:solotick:NAMESPACE:JOB, and of a stream
// events:{eu}, which has a hash tag already, events:{eu}:solotick:NAMESPACE:JOB. Both are in the
// stream's slot of a Redis Cluster. Each stored schedule has a second key of its own, which ends
// with JOB/KEY. The second takes about 120 KB when full. An ACL has to let the
// user have both keys, EVALSHA and EVAL, and within the script TYPE, ZRANGE, ZCARD, XADD, ZADD,
// ZREMRANGEBYRANK and PEXPIRE.
//
// # The client
//
// The caller owns the client and closes it when the runs have ended. Set its ContextTimeoutEnabled:
// go-redis ignores the deadlines of contexts without it. A cancelled context never ends a read
// under way, so ReadTimeout bounds how long a run goes on after that. An entry that it adds then is
// added once all the same. MaxRetries may stay as it is, since the script may run any number of
// times.
package redisstream
