package protocol

import (
	"context"
	"time"

	"github.com/solotick/solotick/internal/steady"
)

// Store keeps the records. Package leasetest holds a case for each of these rules, which every
// implementation obeys:
//
//   - The methods are safe for concurrent use, and each name's record changes atomically.
//   - Time is the store's own clock. Nothing a caller says about time is compared with anything but
//     that clock.
//   - Tokens of a name rise strictly. Each grant's token is at least the last one + 1, and at least
//     the store's clock in microseconds. So they rise even when the record was lost.
//   - At most one holder of a tick at any instant of the store's clock.
//   - A tick that is decided and not open is never granted.
//   - Every method is idempotent: the same request again (after a lost reply) changes nothing and
//     gets the same answer.
//   - An error means that the outcome is unknown, never that the claim was lost.
//   - Answers come from a single round trip: one to claim, one to settle.
//   - What carries an Until changes nothing when the store's clock is past it.
//   - A claim whose TakeoverUntil has passed takes no lease for ended that only ran out.
//   - The methods return when ctx ends.
type Store interface {
	Schedules

	// Claim asks for a tick. See [Status] for the answers.
	Claim(ctx context.Context, c Claim) (Answer, error)

	// Renew extends the leases of grants by their TTL, counted from now, and records their Attempt.
	// Its answer for each grant is nil when the lease is extended. [ErrFenced] says that another
	// holds the tick, or that it is settled. [ErrReplaced] and a [*CancelledError] say that the
	// lease is not extended, since the tick has to make room for a newer one, or was cancelled.
	// After any other error the outcome is unknown. A grant that the store has forgotten is written
	// back.
	Renew(ctx context.Context, grants []Grant) []error

	// Settle records the outcome of the tick, finally, and keeps the grant's Note with it. It
	// returns [ErrFenced] when the grant is not current; an expired lease that nobody else was
	// granted since is current. A grant that the store has forgotten is settled.
	Settle(ctx context.Context, g Grant, outcome Outcome) error

	// Release frees the tick at once: the next claim is granted it, with a higher token and
	// attempt, as a takeover that Claim.Takeovers does not count. Tick 0 is free as if it had never
	// been held. It returns [ErrFenced] when the grant is not current.
	Release(ctx context.Context, g Grant) error

	// Skip settles, without a grant, every tick of a name after p.From up to p.To, provided that
	// the watermark is p.From. It returns the watermark, and whether this request is the one that
	// moved it. A watermark below p.From means what Unknown means of a claim.
	Skip(ctx context.Context, p Skip) (watermark int64, passed bool, err error)

	// Checkpoint writes where the runs of ticks are, each in place of the tick's checkpoint before,
	// and answers for each. It changes no record, so that it is in the way of no claim and no
	// renewal. It returns [ErrFenced] if the tick has a checkpoint with a higher token, a
	// [*BoundsError] when nothing remains of the lease, and [ErrCheckpoints]. The checkpoint of a
	// settled tick stays until it is cleared, until those of open ticks need its room, until the
	// record is removed, or until none of the name was written for 90 days.
	Checkpoint(ctx context.Context, list []Checkpoint) []error

	// Checkpoints returns the checkpoints of the ticks of a name, the one that was written last at
	// the end.
	Checkpoints(ctx context.Context, name string) ([]Checkpoint, error)

	// Sync returns the records of names, and makes those that do not exist. Of the settled ticks they
	// have the newest that succeeded or failed.
	Sync(ctx context.Context, syncs []Sync) ([]Record, error)

	// Time returns the store's clock, and since when the store remembers: a later since than before
	// shows that it has lost what it knew.
	Time(ctx context.Context) (now, since time.Time, err error)

	// Records are shown without being changed, and watched.

	// Inspect returns the record of name; the zero Record, but for its name, when there is none.
	Inspect(ctx context.Context, name string) (Record, error)

	// Watch calls wake with the name of each such record until ctx ends or the connection fails. It
	// also passes the tick when that was triggered, [PauseChanged] when it is about a pause,
	// [Cancelling] when a tick was cancelled, and 0 otherwise. It calls wake with the empty name
	// once it listens: earlier events may have been missed. Calls can get lost or come twice: never
	// wait for one without a limit.
	Watch(ctx context.Context, wake func(name string, tick int64)) error

	// People, and programs on their behalf, control a name that others contend for.

	// Pause makes every claim of a new tick settle it as skipped, until Resume. Open ticks go on,
	// and triggered ones are granted. A name that is paused already stays so since then; a new reason
	// takes the place of the old one, with who gave it. It returns the pause in force, or [ErrUnknown] when there is no record.
	Pause(ctx context.Context, name string, p Pause) (Pause, error)

	// Resume ends the pause, and decides every tick that was due by now: those that nobody has
	// claimed meanwhile are skipped as well. The watermark moves to now in Unix ms, less the Jitter
	// of the [Policy]: a tick after that is skipped by its claim, if NotBefore is not later than
	// the Resume. It returns the pause that it ended, or nil if there was
	// none. A repeated Resume whose first answer was lost returns nil as well.
	Resume(ctx context.Context, name string, r Resume) (*Pause, error)

	// Trigger opens a tick, now in Unix ms or a little more, that waits to be claimed, or says why
	// not. See [TriggerStatus]. The same request again gets the same answer, while the tick waits,
	// and for TriggeredFor. Who sends it again keeps the first Until, less than TriggeredFor away:
	// so it is refused before it is forgotten. The [Policy] of the record binds every trigger. It
	// returns [ErrUnknown] when there is no record, and [ErrPayloadDiffers] for a Key that came
	// with another Payload before.
	//
	// The tick may be past the watermark. A claim of it sets OnlyOpen, so that it is not granted
	// again when it is settled.
	Trigger(ctx context.Context, t Trigger) (Triggered, error)

	// Cancel ends a tick that is open. One that waits, is released, or whose lease has run out is
	// settled as cancelled at once. One that is held is marked. Its holder's next renewal returns
	// [ErrCancelled] and extends nothing, and [Store.Watch] passes it with [Cancelling]. If the
	// lease runs out first, the next claim of the name settles the tick as cancelled. It is never
	// granted again. It returns [ErrUnknown] when there is no record.
	//
	// The same cancel again, by anybody, changes nothing; while the tick is one of the last Remembered
	// that were settled, the answer stays the same too.
	Cancel(ctx context.Context, c Cancel) (Cancelled, error)

	// Repair brings a watermark that lies ahead of the store's clock back to it, in ms. Ticks past
	// the new watermark that are open stay so: their holders may renew and settle them. They, and
	// those past it that the record remembers as settled one by one, are never granted again. A
	// claim of one is Decided, and moves the watermark to it. Ticks skipped as a range are
	// undecided again. The rate of triggers starts again, and triggers and keys of the future that
	// the record remembers do not count. A pause, a revision or a schedule of the future is in
	// force since now. Tokens go on rising.
	//
	// A record of which nothing lies ahead stays as it is. It returns [ErrUnknown] when there is no
	// record. [Store.Watch] passes [PauseChanged] when something changed.
	Repair(ctx context.Context, r Repair) (Repaired, error)

	// Remove removes the record of a name with its history and its journal. It refuses while a tick
	// is open, and when the record has changed since the caller read it. A claim that comes before
	// it changes the record, so that nothing is removed; one that comes after it finds no record:
	// [Unknown]. A record that is made later is a new one, whose tokens are higher than all before.
	//
	// The same request again finds nothing to remove. The lock of the name stays. [Store.Watch]
	// passes [PauseChanged] when a record was removed.
	Remove(ctx context.Context, r Remove) (Removed, error)

	// Names lists names that have a record, about count at a time, in no order. Give an empty
	// cursor first and then the returned next, which is empty when there are no more. A name that
	// has a record throughout is listed, perhaps twice.
	Names(ctx context.Context, cursor string, count int) (names []string, next string, err error)
	// Summarize returns a summary of each of the names, in their order: at most MaxSummaries.
	Summarize(ctx context.Context, names []string) ([]Summary, error)

	// A journal has notes for people, apart from the records: acts of people about a name, and
	// observations. Each name has one, and so has the namespace: that of the empty name. It keeps its
	// newest notes: [MaxNotes] at most, and at least a quarter of that. No decision depends on one.

	// Append adds a note, with the store's time. The same request again (after a lost reply) changes
	// nothing while its note is kept, whatever the text. The request matches the pattern of a name.
	Append(ctx context.Context, name, request string, text []byte) error
	// Notes returns the newest n notes of a name, newest first; all that are kept when n is below 1.
	Notes(ctx context.Context, name string, n int) ([]JournalEntry, error)

	// The audit log has the acts of people on the namespace. It is one list for all names, and outlives
	// the records and journals that it is about. When it exceeds its budget in bytes, the oldest
	// entries are removed.

	// AppendAudit adds an entry, with the store's time. The same request again (after a lost reply)
	// changes nothing while its entry is among the newest. The request matches the pattern of a
	// name.
	AppendAudit(ctx context.Context, request string, text []byte) error

	// Audit returns n entries, or what there is, newest first: n from 1 to MaxAuditPage. The cursor
	// is "" at first, and then the Next of the page before. Entries that come meanwhile do not move
	// those of later pages.
	Audit(ctx context.Context, cursor string, n int) (AuditPage, error)

	// SetAuditBudget sets the budget of the namespace, in bytes, from MinAuditBudget to
	// MaxAuditBudget, for all who append. A smaller one than before removes the oldest entries at
	// once.
	SetAuditBudget(ctx context.Context, bytes int) error

	// Locks: permits of a name, of which several holders may have some, and a queue of waiters. A lock
	// is apart from the record of its name, and has no memory. What is said above of atomicity, time,
	// tokens and repeated requests holds for locks too; package lock makes of them what programs know.

	// ClaimLock asks for permits of a lock. Status of the answer is [Granted], [Held] or [Queued].
	ClaimLock(ctx context.Context, c LockClaim) (LockAnswer, error)

	// RenewLocks extends the leases of grants by their TTL, counted from now. It answers for each
	// grant: nil when extended, [ErrFenced] when it has ended or was taken away, any other error
	// when the outcome is unknown. A grant that the store has forgotten is written back if there is
	// room for it.
	RenewLocks(ctx context.Context, grants []LockGrant) []error

	// ReleaseLock gives back what a grant holds, and the place in the queue of its Holder and
	// Request. With Token 0 that is whatever these have: for a claim whose answer was lost. When
	// Pending is set, it refuses later claims of this Holder and Request, for [WithdrawnFor]. It
	// returns [ErrFenced] when the grant was taken away.
	ReleaseLock(ctx context.Context, g LockGrant) error

	// Lock returns the lock of that name; the zero Lock, but for its name, when nobody holds it or
	// waits for it.
	Lock(ctx context.Context, name string) (Lock, error)

	// Locks lists the locks that are held or waited for and whose names begin with prefix, about
	// count at a time, in no order. Give the cursor "" first and then the returned next, which is
	// "" when there are no more. A lock that is held throughout is listed, perhaps twice.
	Locks(ctx context.Context, prefix, cursor string, count int) (locks []Lock, next string, err error)

	// ForceRelease takes the grant with this token away from its holder and reports whether it was
	// held. The holder is notified: its next renewal is answered with [ErrFenced]. Until then it
	// works on, so that what it still writes has to be refused by its token.
	ForceRelease(ctx context.Context, name string, token int64) (held bool, err error)

	// Listen calls wake until ctx ends or the connection fails. It passes the requests that can be
	// granted now, those whose grants were taken away, and those that set Notify. It calls wake
	// with the empty name once it listens: earlier events may have been missed. Calls can get lost
	// or come twice: never wait for one without a limit. No requests means any of that name. wake
	// must not block.
	Listen(ctx context.Context, wake func(name string, requests []string)) error

	// Limits count how often something happens, by the store's clock.

	// Take takes units of a limit, all that are asked for or none. The zero state of a name is that
	// nothing was taken. Several calls for one name at one time may travel as one; each is answered
	// as if they had come one by one.
	//
	// A call whose reply got lost is asked for again with the same id while its caller waits, and
	// is answered as before. An error means that it is unknown whether the units were taken: more
	// than that are never taken.
	Take(ctx context.Context, t Take) (Taken, error)

	// Members are those who take part, and those who did a while ago.

	// SendHeartbeat says that holder lives, for the given time, and keeps info about it: at most
	// MaxInfo bytes. A life of 0 takes holder off at once.
	SendHeartbeat(ctx context.Context, holder string, info []byte, life time.Duration) error
	// Members returns those that live, sorted by holder.
	Members(ctx context.Context) ([]Member, error)

	// FormerMembers returns the members whose life ended, or that were taken off, within the last
	// FormerFor. The one with the newest last heartbeat comes first, and there are at most
	// MaxFormer. Remaining is 0. One that is announced again is not among them.
	FormerMembers(ctx context.Context) ([]Member, error)

	// MembersBut returns what Members does, but leaves Info out where its [InfoDigest] is the one
	// that known has for the member's holder. Then Known is true.
	MembersBut(ctx context.Context, known map[string]string) ([]Member, error)

	// Heartbeat does in one call what a member does every few seconds: it announces the member, asks for
	// the store's time, and reads the members when they have changed.
	Heartbeat(ctx context.Context, h Heartbeat) (Pulse, error)

	// Sets are byte strings that many clients share. Each is kept once, under its [SetDigest],
	// for as long as a client reports that it is used. It may be lost sooner (the store was emptied, or
	// had no memory left), and its users then put it again.

	// PutSet keeps a set for life from now, also where it is kept already. It has 1 to MaxSet
	// bytes; life is at least 1 ms.
	PutSet(ctx context.Context, set []byte, life time.Duration) error
	// KeepSets extends the lives of sets to life from now, and reports of each whether it is kept.
	KeepSets(ctx context.Context, digests []string, life time.Duration) (kept []bool, err error)
	// GetSets returns the sets with these digests, in their order; nil for each that is not kept.
	GetSets(ctx context.Context, digests []string) ([][]byte, error)

	// A member publishes messages to all members. They are hints: any of them may be lost, delayed, repeated or
	// reordered, and nothing may depend on one.

	// Publish sends a message to everybody who subscribes at the time, the sender included. A message
	// has 1 to MaxMessage bytes; another is refused.
	Publish(ctx context.Context, message []byte) error
	// PublishTo sends letters, each to those who subscribe with its name. A store that cannot reach one
	// subscriber without all others returns false, and sends nothing.
	PublishTo(ctx context.Context, letters []Letter) (sent bool, err error)
	// Subscribe calls receive with each message, and each letter to one of the names, until ctx ends or
	// the connection fails, and returns why it ended. receive must not block or change the message, and
	// may be called by several goroutines at once.
	Subscribe(ctx context.Context, receive func(message []byte), names ...string) error

	// Progress is how far somebody has come with a name: a small value that is changed by
	// compare-and-set. Notifications are made with it.

	// Progress returns the values of names, in their order: at most MaxSummaries. The empty name is
	// the value of the whole namespace.
	Progress(ctx context.Context, names []string) ([]Progress, error)

	// SetProgress replaces the value of p.Name by p.Data, or removes it for no Data, provided that the
	// present one is of the Version of p. It returns the present value, and whether that is the one of
	// p: also when an earlier call has set it. An error means that the outcome is unknown.
	SetProgress(ctx context.Context, p Progress) (present Progress, done bool, err error)

	// The namespace names the fleet. It is part of each tick's identity, which runs pass on to what they
	// call.

	// Namespace returns the namespace, always the same. It matches the pattern of a name.
	Namespace() string

	// ReachedSince returns since when the server that keeps the record of name has answered this
	// process with no gap above gap, until when that lasts without another answer, and whether it
	// does so now.
	ReachedSince(name string, gap time.Duration) (since, until steady.Instant, ok bool)

	// Check makes the calls that a fleet depends on, and returns nil when all of them work.
	// Otherwise the error joins a [*CheckError] for each call that fails. When the store does not
	// answer at all, it is the error of the first call. It writes one small record, the lock
	// solotick-check, which nobody waits for.
	Check(ctx context.Context) error

	// Hint says what to change when a call fails with err; "" when the store has nothing to say
	// about it.
	Hint(err error) string

	// Warnings returns what is wrong with the settings of the server, as far as that says them; none
	// when it does not answer.
	Warnings(ctx context.Context) []Warning
}
