// Package fence refuses writes whose fencing token is lower than one that the written resource has
// seen before.
//
// # Why
//
// A process can freeze after it has checked its lease and before it writes. When it continues, it
// writes, although another process may hold the lease by then. No lease prevents that, because the
// write does not ask the lease. So the write carries the token of its lease
// ([github.com/solotick/solotick/jobs.Run], [github.com/solotick/solotick/lease.Lease]). Tokens
// rise with every grant, and the resource remembers the newest one:
//
//	token lower than the newest   refused with a [*StaleError]; nothing is written
//	token equal to the newest     written: the same grant, which may write any number of times
//	token higher than the newest  remembered, and written
//
// The resource must compare, remember and write in one step. How it does so depends on the
// resource:
//
//   - fence/sqlfence: in the transaction of the write, with a table of tokens or a column beside
//     the data.
//   - fence/redisfence: in the script that writes.
//   - fence/httpfence: in the header of a request. The server compares before its handler runs, and
//     again where the handler writes, for the one step.
//   - [Memory]: under a mutex, for data of this process.
//
// # Rules
//
//   - One resource, one name. The tokens of one job, or of one lease's name, rise. Tokens of
//     different names have no order. Where two jobs write to one place, each needs a resource of
//     its own there ("account-7/interest", "account-7/fees").
//   - Each write carries the token of its run. The fence neither checks nor sees a write without a
//     token.
//   - The first write or check of the newer holder closes the fence for the older one. Until then
//     the older holder can write, because the resource does not know of the newer one. Where that
//     matters, begin a run with a check.
//   - Runs of one job that may overlap (overlap: allow) have different tokens, and the fence
//     refuses the older runs. Fence such a job by tick
//     ([github.com/solotick/solotick/jobs.Run.TickID] as the resource), or not at all.
//   - A StaleError is final: the resource refuses this token for ever. Do not retry; end the run,
//     and return [github.com/solotick/solotick/jobs.Permanent] where the run would be retried.
//
// # What it cannot do
//
//   - It does not separate the writes of one grant. The retries of a run share its token, and a
//     retry repeats a write whose answer was lost. Make those writes idempotent, by the tick's
//     identity.
//   - It does not undo what the older holder wrote before the newer one came.
//   - It protects one resource. Of a run that writes to two of them, one can refuse and the other
//     accept.
//   - It knows no more than the resource remembers. A restored backup, or a database replica that
//     lagged before it was promoted, has an older newest token, together with older data.
//   - It is no authentication. A client that may send tokens can send a high one, and lock all
//     others out.
//   - It refuses a source of tokens that went back, such as another Redis whose clock is behind. It
//     does so until the tokens are higher again, or somebody removes the remembered token.
//
// # Where it comes from
//
// The idea is older than this package: the sequencers of the Chubby lock service (OSDI 2006), and
// the generation numbers before them. The article "How to do distributed locking" (2016) made it
// known as the fencing token.
package fence
