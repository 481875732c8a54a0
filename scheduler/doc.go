// Package scheduler decides when and where a job runs: it claims each tick in the store, runs it under a lease, and
// settles it.
//
// Every replica of a fleet runs a [Scheduler] with the same jobs over one store. There is no leader: each job has a
// preferred owner among the live replicas that serve it, which claims its ticks first, and the store grants a tick to
// the replica that claims it. A replica that knows other jobs, or another release of them, may share the namespace.
//
// # A tick's way
//
//	           due, by fleet time
//	(waiting) ───────────────────▶ claim ──▶ granted ──▶ run ──▶ settle: succeeded, failed, replaced
//	    ▲                            │                    │ lease lost ──▶ left open ─┐
//	    │                            │                    │ stopped    ──▶ released ──┤
//	    │                            ├─▶ held by another: look again when its lease has run out
//	    │                            ├─▶ decided: nothing to do                       │
//	    │                            ├─▶ refused by a policy: skipped                 │
//	    │                            ├─▶ queued behind another: claimed when that ends│
//	    │                            └─▶ too late: the misfire policy decides         │
//	    └──────── next tick ◀────────────────────────────── claimed again, attempt + 1 ◀┘
//
// Ticks are taken in order, each from the one before: never from the clock. So replicas agree on them without talking,
// and a gap (the fleet was down, the store was away, the process slept) shows as ticks between the store's watermark and now,
// for which the job's misfire policy is asked. A tick that somebody triggers is in no such order: it waits in the store
// until a replica claims it, as one that is queued does.
//
// # States of a job
//
// What a replica does about a job at one moment is its state. It follows from a few values: where the replica stands in the
// job's ticks (the cursor), the request that is pending, and until when it rests and why. One goroutine at a time takes the
// steps of a job: it decides with the mutex locked, asks the store with the mutex unlocked, and takes in the answer.
//
//	        record read           due            nobody before it has claimed it
//	unread ────────────▶ resting ─────▶ deferring ─────▶ claiming ──▶ (the store) ──▶ resting: granted, decided, skipped
//	   ▲                    ▲                              │   ▲            │
//	   └─ forgot, doubt     └── notified, freed, ended ────┤   └────────────┤ no reply: retrying
//	                                                       │                │
//	                              blocked, crowded ◀───────┴────────────────┤ an earlier tick runs, no room
//	                                                                        │
//	                                        watching ◀──────────────────────┘ another replica holds it
//	                                            └── its lease has run out ──▶ taking over
//
//	state        what it does                                       it ends when
//	removed      nothing: the job was removed, the replica stops    never
//	untrusted    claims nothing: the store's clock is in doubt      the clock is trusted
//	unread       waits for its record, claims nothing               the record is read
//	doubting     claims nothing: the record has lost something      those that may know more have written it back
//	idle         has no further tick                                something happens, or the job is redefined
//	resting      waits for the next tick                            it is due
//	deferring    leaves the tick to those that claim before it      k · 250 ms have passed, or it learns of the decision
//	settling     leaves the tick to those that know more, after an   a moment has passed
//	             edit or a loss of records
//	claiming     decides about due ticks, claims or skips them      the store has answered
//	retrying     sends the pending request again, nothing else      it is answered
//	blocked      waits for an earlier tick that runs                that ends, or its lease has run out
//	crowded      waits for room                                     there is some, or the tick is a misfire
//	watching     waits for another replica's run                    it is settled, or its lease has run out
//	taking over  claims a tick whose lease has run out, or that     the store has answered
//	             was waiting
//	confirming   has the record read, see below                     it is asked for
//
// What happens outside (a notification, a report, room that is freed, the end of a run, another definition, a store that
// answers again) changes these values under the mutex, and the next step follows from them. What happens while a request is
// under way makes its answer one that may be old: then the replica does not rest on it.
//
// A leader task has no ticks. It is a plain lock of the job's name, held as long as its handler runs or is to run again.
//
// # Who claims first
//
// The live members that can claim, and have the job defined as this replica has it, are ranked by a hash of member and
// job, weighted by capacity. Rank 0, the preferred owner, claims a tick when it is due. Rank k claims it k · 250 ms later,
// the last within 2 s and within three quarters of the misfire grace, unless it has learned meanwhile that the tick is
// decided. While rank 0 reports to have run other ticks of that instant, it works off a backlog: the others count from its
// last report, but for no longer than 3 s and a quarter of the grace. A tick whose lease has run out, rank k leaves to those
// before it for k · 100 ms, 500 ms at most. A replica that is alone, or does not know the members, claims at once.
// Skips are ranked like claims. The ranks never decide which replica is granted a tick: the record does.
//
//	      due                 + 250 ms           + 500 ms            … + 2 s
//	       │                     │                  │                   │
//	rank 0 ├─ claim ─ granted    │                  │                   │
//	       │            └─ report after 50 ms: “granted until t”        │
//	rank 1 │                  ✕  (learned)       ✕ (learned)            │
//	rank 1 │       no report:    ├─ claim ─ granted, held or decided ─ report
//	rank 2 │                     │                  ├─ claim …
//
// Replicas learn by reports: each publishes the ticks that it was granted, settled or skipped in one message, 50 ms after
// the first of them, and 150 ms after the message before (see [protocol.Publisher]). A report is a hint. It can be lost, late, repeated, forged, or about a
// record that has lost a write since. So a receiver takes from it when to look at the record, never what the record
// says:
//
//	reported                 what the receiver does
//	granted until t          looks at the tick at t, but after its own TTL at the latest
//	settled, skipped         plans the next tick; before it claims that, it reads the record
//	busy until t             claims after t, but after its own TTL at the latest
//	more than 1 s ahead,     nothing
//	or from another memory
//	of the store
//
// Rank 0 acts on its own knowledge, whatever was reported, and rank 1 reads the record every 30 s while reports are
// ahead of what it knows: so a report that is wrong is found out, and more than one replica knows each watermark.
//
// What each replica knows of a job, confirmed by an answer of the store or by reports only:
//
//	rank 0      confirmed: it claims every tick
//	rank 1      confirmed at most 30 s ago, and reports
//	the others  confirmed when they started, or claimed last, and reports
//
// # A store that has lost something
//
// A record can be gone while the rest of the store remembers: it was evicted or deleted, or one master of a Cluster came
// back empty. Or the store goes back to what it was: to a snapshot, or by a failover that lost writes. A replica notices
//
//	a record that is missing, or older     by the answer to a claim or a read
//	than this replica has seen it
//	a watermark that is older, or a tick   when it reads the record, which it does before it claims what follows a
//	that is open, than was reported        report, and when connections to the store were lost
//
// and then asks all live members for what they know of the job. Each renews what it runs, writes back what it has seen of
// the record, and answers. Until all have, nobody whom the question has reached claims, skips or takes over a tick of the
// job: usually for a tenth of a second, at most for half a TTL, from 2 s to 5 s. A member that does not answer is asked
// again each 500 ms, and counts as long as its heartbeats last. Then the record is read again, and counts. What others
// have only reported counts as decided if the record was missing, or older than somebody had seen it. If there is nothing
// but a report that says so, the job's delivery decides: with at least once the record is right, so that a wrong report
// loses no tick; with at most once the report is, so that no tick runs twice.
//
// When its connection to the store was lost, a replica that has rank 0 or 1 for a job, or decided its newest tick, reads
// the record as soon as it is connected again, and nobody takes anything over for 1.5 s: so a snapshot gets back the
// known writes before anything is due.
//
// # Fleet time
//
// Schedules are evaluated on the store's clock, which each replica estimates from the answers it gets: half of the best
// round trip, on top of its own monotonic clock. A replica whose wall clock is wrong fires with the others. The estimate
// only has to be good for punctuality: that no tick is granted early is checked by the store, on its own clock.
//
// # Trust in the store's clock
//
// Each replica holds the store's clock against its own monotonic one. A step of more than the limit, which is the greater of
// the TTL and 5 s, is not believed: nothing is claimed until the clock is back where it was, or has been steady for the
// limit, for this replica and all live ones that may hold leases. Renewals, settlements and releases go on. What changes a
// record carries the latest time of the store at which it may, so that a step does no harm before it is noticed.
//
//	the store's clock                      what follows
//	is wrong, and soon right again         ticks that came due meanwhile are late; nothing ran early, nothing is skipped for it
//	steps for good                         nothing is claimed for the limit; then ticks follow it: forward, misfires; backward,
//	                                       nothing until it is past the watermark
//	steps forward by more than a third of  nothing is taken over for a TTL, or until the clock is trusted and for a TTL after
//	the TTL                                that, so that holders that live renew first
//	disagrees with this machine's, at the  trusted if a live member trusts it, else when it has been steady for the limit
//	start of a replica
//
// # What happens when
//
//	event                               what follows
//	two replicas claim a tick           one is granted it; the other learns which one holds it, or that it is decided
//	the reply to a claim is lost        the same request is sent again until it is answered, before anything else
//	a run ends at once                  it is settled; a replica that comes later learns so
//	a run takes longer than the TTL     its lease is renewed
//	the preferred owner dies, freezes   the next rank claims: the tick starts 250 ms late, with half of the fleet gone 2 s late
//	or is cut off before it claims      at most; until its heartbeats end, and from then on in time
//	the preferred owner stops           it says so, and the next rank takes its place at once
//	the members that a replica knows    ticks start up to 2 s late, or are claimed in vain
//	are wrong
//	reports are lost                    each replica looks at the tick itself, by its rank
//	reports are wrong                   a tick starts a moment late; see above
//	a record is gone, the others stay   it is made again with the newest watermark that a live member knows, and the tick that
//	                                    is due runs once: 0.1 s late, 5 s when a member does not answer. What waited in it is
//	                                    missed; a tick whose holder is gone, too, is not taken over
//	the store goes back in time         a replica that has seen more writes it back before any claim: as late as above.
//	                                    Settled ticks are not run again
//	and all that had seen it are gone   a tick that the others know by reports: at least once runs it again, at most
//	                                    once does not. One that nobody knows of runs again
//	the holder dies or freezes          the lease runs out; the first to look takes the tick over, attempt + 1
//	nobody takes it over within the     the tick is missed: see jobs.Spec.CatchUpWindow. A fleet that lives has two TTLs and 10 s
//	catch-up window                     in any case; what its replica has released is run however old it is
//	the lease cannot be renewed         the run's context ends before the store could grant the tick again
//	the run ends while the store is     its outcome is sent until it arrives; once the store answers again, others wait
//	away                                a moment before they take anything over, so that it can
//	the store was away when a tick      it is late when the store answers again: on time within the grace, a misfire
//	came due                            after that
//	the store has lost everything       the records are made again from what the replicas know; ticks from before the
//	                                    loss are never granted again, even those that nobody ran. A replica that
//	                                    runs something says so at once, and others wait a moment for that
//	a newer tick replaces the run       its context ends; it is settled, or its lease runs out, before the newer one starts
//	the store is slow or saturated      fewer claims are under way at a time, and the others wait: ticks start late, and are
//	                                    misfires after their grace. Renewals and outcomes do not wait with them
//	the replica runs as much as it may  it claims and takes over nothing until a run ends; others do. What nobody has room for
//	                                    waits, and is a misfire after its grace: see WithMaxRuns
//	the job is paused                   claims settle its ticks as skipped; what runs goes on
//	the job is defined again            runs go on; of the ticks from before, those that both schedules have are decided
//	                                    as if nothing had changed, and the others that the new one has are missed
//	the wall clock steps                nothing
//	the store's clock steps             see above
//	a handler panics                    its run fails
//	a handler's error is hostile        its run fails
//	an observer blocks or panics        it loses events, which are counted; nothing else notices
//	a run cannot begin                  its lease is not renewed after a TTL, and another replica takes the tick over
//	a handler ignores its context       Run waits for it on shutdown for a while, then names it in its error
//	the replica is stopped              it claims nothing more, begins no attempt, lets runs finish within the grace,
//	                                    cancels the others, and releases their ticks, so that another replica goes on
//	                                    at once; those with at most once are settled as lost
//
// # Capacity
//
// A claim needs room for the run: see [WithMaxRuns]. One that finds none waits in a queue, the oldest due first, and
// none overtakes a heavy tick that waits. A takeover needs room, too: a tick that was left open is taken over, at
// most a TTL and 1 s after its last renewal, by a replica that has room then; otherwise as soon as one of those that
// serve the job has. A replica holds the room of a claim whose answer was lost until it is answered. Two such claims
// of one job, if both were granted, run beside each other, above the limit by one weight.
//
// # Caveats
//
// Read those of package lease. A handler that goes on after its context has ended runs beside the next holder; the
// fencing token of its [jobs.Run] keeps it from doing harm.
package scheduler
