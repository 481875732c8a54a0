// Package jobs says what a job is: a name, a schedule, its policies and the handler that does the
// work.
//
// A [Job] is made once, with [New] or [FromSpec], which report every fault of its [Spec] together.
// It has no state and starts nothing: package scheduler decides when and where it runs. For each
// tick that a replica is granted, the scheduler calls the job's [Handler] with a context that ends
// when the tick's lease can no longer be proved held, and with a [Run], which says which tick this
// is, which attempt, and under which fencing token.
//
// # What a handler must know
//
//   - It runs under a lease. When ctx ends, stop: another replica may be granted the tick a moment
//     later. [context.Cause] of ctx says why.
//   - It may run again for the same tick, after a crash, with a higher Token and Attempt (unless
//     Delivery is [AtMostOnce]). [Run.TickID] is the same for every attempt: use it as an
//     idempotency key.
//   - Returning nil settles the tick as succeeded, even when ctx has ended meanwhile. A handler
//     that stopped early because of ctx must return an error, such as ctx.Err().
//   - A panic is a failure with the panic's value and stack; it does not end the process. See
//     [Recover].
//   - An error that another attempt would not change is best returned as [Permanent]: it is not
//     tried again.
//   - Pass Run.Token to what the job writes to, and refuse lower tokens there: no lease can stop a
//     frozen process from writing one last time when it thaws.
//
// The kinds of handler that the worker daemon offers are packages of their own beside this one:
// jobs/exec, jobs/http, jobs/log and jobs/redisstream.
package jobs
