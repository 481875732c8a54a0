// Package quorum keeps leases on a majority of independent servers: it is the [protocol.Store] of a fleet that must not
// depend on one server, nor on what a failover may forget.
//
// A server that replicates asynchronously forgets its last writes when it fails over, and for one term two may then hold an
// occasion. Here every record is kept by N nodes that know nothing of each other, and is what a majority of them says. One
// of three, or two of five, may be gone, hang, be slow or come back empty, and nobody notices.
//
//	node := func(addr string) quorum.Node { … redislease.NewNode(redis.NewClient(…), "billing") … }
//	nodes := []quorum.Node{node("a:6379"), node("b:6379"), node("c:6379")}
//	store, err := quorum.New(nodes, "billing", quorum.WithTerm(15*time.Second))
//
// # A record
//
// A record is the value of a replicated register, which CASPaxos changes (D. Rystsov, "CASPaxos: Replicated State Machines
// without logs", 2018). What the value becomes is decided by package record, as for any other store.
//
//	               promised by a majority              accepted by a majority
//	read ────────▶ at a ballot: nobody can change ───▶ chosen: every later majority shows it;
//	  │            what was read behind our back       the answer may be given, and others woken
//	  │                     │                              ▲
//	  │ nothing to change   │ a higher ballot was          │ by whoever comes next, when the
//	  ▼                     ▼ promised meanwhile           │ proposer is gone
//	answered           read anew, after a            accepted by fewer: the outcome
//	                   random while                  is unknown
//
// An answer takes one round trip when nothing changes (who loses a claim, and looks), two for who renews, settles or
// releases, and three for who is granted a claim; a node that is slower than a majority is never waited for. The token of a grant is
// part of the value, so a majority has it before the grant returns, and every later grant's is higher.
//
// # A lock
//
// A lock is a record of its own kind, with its holds and its line, in a register of its own. A claim that waits in line changes
// something whatever the answer, so it takes two round trips, as a release and a renewal do, where occasions and
// locks travel together; one that only asks takes one, or three when it is granted. One more round trip is needed when others
// have just changed the same lock. When a change is chosen, those whose turn it is are told by way of every node.
//
// What is listed is what nodes have that together are in every majority: any two of three.
//
// # Time
//
// No client's clock reaches a node. Each store keeps the offset of every node's clock from the local monotonic clock, on Linux
// with the time for which the machine was suspended. The quorum's clock is the median of the offsets of all nodes that have answered
// within an hour, not of those that answered first; of an even number, the lower of the two in the middle. So one wrong
// clock of three, or two of five, moves no schedule, however far it is off and whichever node is away meanwhile; after an hour without
// one node of three, the lower of the two clocks that are left counts. A store that begins while a node does not answer knows
// only the others until it does.
//
// An offset is wrong by a round trip to the node at most, and too low rather than too high, so that no tick is early for a slow network.
// A node whose clock steps is believed at its next answer.
//
// Which time a tick is due, what a watermark or a token is made from, and when a pause or a limit of triggers ends, compare with the
// median. A lease does not: how long it has lasted is measured by each node on its own clock alone, from its promise on, and
// the shortest of these times counts. So nodes whose clocks are apart, and stores that see other medians, neither shorten nor
// stretch a lease, and one holder at a time does not depend on the median; tokens rise because each is above the last, which
// a majority knows.
//
// A lease is kept for its term + 1 % + 2 ms. The holder counts its term from when it sent the claim, less a margin of its
// own: validity is the term, less the time since then, less the drift of clocks. A claim that comes while the lease has
// ended by its term but not for certain waits for that, if it is soon. A claim of a lock does so only for as many permits as it
// needs, in the line if it has a ticket.
//
// # Nodes that forget
//
// Paxos relies on nodes that forget nothing, and these do when they are restarted or emptied. So a node tells since when it
// has been the same; until that is longer than the longest term ([WithTerm]), and a little more, none of its promises,
// acceptances and answers count. It is told of every change meanwhile, and of what it has missed when somebody looks. Every lease
// is renewed within its term, or ends, so that no lease is unknown to a node that counts again. A promise that a node
// has forgotten is void even after that, however late its proposal comes.
//
// # What happens when
//
//	event                              what callers see                    what is lost
//	a minority is gone, hangs, is      nothing                             nothing
//	slow, or cannot be reached
//	a majority is                      a MajorityError, which says how     nothing: what was under way may have
//	                                   many answered, within the timeout   happened, and may be asked for again
//	a node comes back empty            nothing, while a majority counts    nothing
//	                                   without it; else ErrRestarted
//	a majority comes back empty        ErrRestarted for a term             what only they knew: as with any store
//	                                                                       that forgets, holders write themselves
//	                                                                       anew, claims bring the newest mark, and
//	                                                                       tokens rise by the clock
//	one node after another comes       nothing                             what nobody has looked at or changed
//	back empty, each after a term                                          between the first and the last of them;
//	                                                                       never a lease
//	replies are lost, or come twice    nothing, or an error: unknown       nothing
//	a proposer dies half way           nothing                             nothing: the next one completes its
//	                                                                       change, or it never happened
//	the message of a turn is lost at   nothing: the other nodes tell       nothing
//	one node
//	others change the same name all    ErrContended, after the timeout     nothing
//	the time
//	a minority's clocks are wrong,     nothing, while a majority has       nothing
//	behind or ahead, by any time       answered within an hour
//	a majority's clocks are wrong      schedules follow the median         as with any store whose clock is wrong
//	a node's clock jumps               nothing, of a minority              a jump forward may end a lease early if
//	                                                                       no other node with the same value answers,
//	                                                                       and a quarantine
//
// # Caveats
//
// A new namespace can be used after a term, since its nodes cannot be told from nodes that have forgotten it:
// see [WithFreshStart]. Terms longer than [WithTerm] are refused. What a holder does after its lease has run out, only the
// token fences: see package lease. Of the last settled occasions, 32 are kept, since each change carries the whole record. So
// does each change of a lock, with all who hold it and wait: a line of hundreds costs every one of them.
package quorum
