// Package jobs says what a job is: a name, a schedule, its policies and the handler that does the
// work. Package scheduler decides when and where it runs. What a [Handler] must know:
//
//   - When ctx ends, stop: another replica may be granted the tick a moment later.
//   - It may run again for the same tick, after a crash, with a higher Token and Attempt.
//     [Run.TickID] is the same for every attempt: an idempotency key.
//   - Returning nil settles the tick as succeeded, even when ctx has ended meanwhile: return an
//     error after stopping early. An error that no retry would change is [Permanent]. A panic is
//     a failure.
//   - Pass Run.Token to what the job writes to: package fence refuses lower ones.
package jobs
