// Package guard is for the place that a job writes to: it refuses a write whose fencing token is lower than one that was
// seen there before.
//
// # Why
//
// A process that is frozen between looking at its lease and writing writes when it thaws, however long its lease has been
// another's by then. No lease can prevent that, for the write does not ask the lease. So let the write carry the lease's
// token ([github.com/solotick/solotick/jobs.Run], [github.com/solotick/solotick/lease.Lease]), which rises with every grant,
// and let the place that is written to remember the newest one:
//
//	token lower than the newest   refused with a [*StaleError]; nothing is written
//	token equal to the newest     written: the same grant, which may write as often as it likes
//	token higher than the newest  remembered, and written
//
// (The guard that the worker starts beside itself, for its commands, is another: it keeps their deadlines.)
//
// The comparison, the remembering and the write have to be one step. How that is done depends on the place:
//
//   - guard/sqlguard: in the transaction of the write, with a table of tokens or a column beside the data.
//   - guard/redisguard: in the script that writes.
//   - guard/httpguard: in the header of a request. The server compares before its handler runs, and again, for the one
//     step, where the handler writes.
//   - [Memory]: under a lock, for what is in this process.
//
// # Rules
//
//   - One resource, one name. The tokens of one job, or of one lease's name, rise; those of two have no order between them.
//     Where two jobs write to one place, give each a resource of its own there ("account-7/interest", "account-7/fees").
//   - Each write carries the token of its run. A write without one is not guarded, and not seen by the guard.
//   - The door closes with the first write, or check, of the newer holder. Until then an older one is still let in: nobody
//     has told the place of the newer one. Begin a run with a check where that matters.
//   - Runs of one job that are meant to overlap (overlap: allow) are newer and older for the guard, and the older are
//     refused. Guard such a job by tick ([github.com/solotick/solotick/jobs.Run.TickID] as the resource), or not at all.
//   - A StaleError is final: the same token will never be let in again. Do not try again; end the run, and let it fail with
//     [github.com/solotick/solotick/jobs.Permanent] where it would be retried.
//
// # What it cannot do
//
//   - It does not tell the writes of one grant apart: the retries of a run share its token, and a write whose answer was
//     lost is written again by the retry. Make those writes idempotent, by the tick's identity.
//   - It does not undo what the older holder wrote before the newer came.
//   - It guards one place. A run that writes to two of them may be refused by one and not by the other.
//   - It knows no more than the place remembers. A backup that is put back, or a replica that was behind and took over,
//     has an older newest token, with older data.
//   - It is no authentication. Whoever may send a token can send a high one, and lock all others out.
//   - A source of tokens that went back (another Redis whose clock is behind) is refused until its tokens are higher
//     again, or somebody removes what the place remembers.
//
// # Where it comes from
//
// The idea is older than this package: the sequencers of the Chubby lock service (OSDI 2006), and the generation numbers
// before them. The article "How to do distributed locking" (2016) made it known, under the name of fencing token.
package guard
