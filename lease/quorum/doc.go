// Package quorum keeps leases on a majority of independent servers. It is the lease.Store of a
// fleet that must not depend on one server, nor on the memory of a failover.
//
// A server that replicates asynchronously forgets its last writes when it fails over, and for one
// TTL two may then hold a tick. Here every value is kept by N nodes that know nothing of each
// other, and a majority of them decides. One of three, or two of five, may be gone, hang, be slow
// or come back empty, and nobody notices.
//
//	node := func(addr string) quorum.Node { … redislease.NewNode(redis.NewClient(…), "billing") … }
//	nodes := []quorum.Node{node("a:6379"), node("b:6379"), node("c:6379")}
//	store, err := quorum.New(nodes, "billing", quorum.WithTTL(15*time.Second))
//
// # Layers
//
//	engine.Session     the verbs of ticks, locks, control, journal and summaries, as in every store
//	values             a driver.Store: an item for each key, with its value, its leases and its list
//	registers          a replicated register for each key: CASPaxos
//	nodes              calls all nodes, waits for a majority of those that count, and knows their clocks
//	Node               a server: package redislease has one
//
// Members, sets and messages need no agreement. Every node keeps or passes on its own, and a
// majority of them has to.
//
// # A register
//
// A register has one value, which CASPaxos changes (D. Rystsov, "CASPaxos: Replicated State
// Machines without logs", 2018). Operations on its item are carried out by [driver.Item] while
// nobody else can change it.
//
//	               promised by a majority              accepted by a majority
//	read ────────▶ at a ballot: nobody can change ───▶ chosen: every later majority shows it;
//	  │            the read value unnoticed            the answer may be given
//	  │                     │                              ▲
//	  │ nothing to change   │ a higher ballot was          │ by another proposer, when this one
//	  ▼                     ▼ promised meanwhile           │ is gone
//	answered           read again, after a           accepted by fewer: the outcome
//	                   random while                  is unknown
//
// What changes nothing is answered after one round trip, a change after two; a node that is slower
// than a majority is never waited for. A change that finds another version than it was made for has
// the present value after one round trip. It also has a promise left over, so the next try takes
// one more. So a claim, a renewal, a settlement and a release take two, also when others have
// changed the record since this process saw it. A lost claim takes one. The first look at a name
// takes one more. The token of a grant is the version that a majority has accepted before the grant
// returns, and every later grant's is higher.
//
// An item has the newest entries of its list, at most 16 or a few more. The others are in a
// register of their own, to which they are copied 16 at a time.
//
// Keys are listed from so many nodes that every majority has one of them: any two of three.
//
// # Time
//
// No client's clock reaches a node. Each store keeps the offset of every node's clock from the
// local monotonic clock, on Linux with the time for which the machine was suspended. The quorum's
// clock is the median of the offsets of all nodes that have answered within an hour, not of the
// first to answer. Of an even number, it is the lower of the two in the middle. So one wrong clock
// of three, or two of five, moves no schedule, however far it is off and whichever node is away
// meanwhile. After an hour without one node of three, the lower of the two clocks that are left
// counts. A store that begins while a node does not answer knows only the others until it does.
//
// An offset is wrong by a round trip to the node at most. It is too low rather than too high, so
// that no tick is early for a slow network. A node whose clock steps is believed at its next
// answer.
//
// The median decides which time a tick is due, and makes watermarks and tokens. It also decides
// when a pause, a place in a queue or a limit of triggers ends. A lease does not depend on it. Each
// node measures on its own clock alone how long the lease has lasted, from its promise on, and the
// shortest of these times counts. So nodes whose clocks are apart, and stores that see other
// medians, neither shorten nor stretch a lease. One holder at a time does not depend on the median.
// Tokens rise because each is above the last, which a majority knows.
//
// A lease is kept for its TTL + 1 % + 2 ms. Answers and lists count its remaining time to that end.
// The holder counts its TTL from when it sent the claim, less a margin of its own.
//
// # Nodes that forget
//
// Paxos relies on nodes that forget nothing, and these do when they are restarted or emptied. So a
// node says since when it has been the same. Its promises, acceptances and answers do not count
// until that is a little longer than the longest TTL ([WithTTL]). It gets every change meanwhile,
// and what it has missed when somebody looks. Every lease is renewed within its TTL, or ends, so
// that no lease is unknown to a node that counts again. A promise that a node has forgotten is void
// even after that, however late its proposal comes.
//
// # What happens when
//
//	event                              callers see                         lost
//	a minority is gone, hangs, is      nothing                             nothing
//	slow, or cannot be reached
//	a majority is                      a MajorityError, which says how     nothing: pending changes may have
//	                                   many answered, within the timeout   happened, and may be made again
//	a node comes back empty            nothing, while a majority counts    nothing
//	                                   without it; else ErrRestarted
//	a majority comes back empty        ErrRestarted for a TTL              what only they knew: as with any store
//	                                                                       that forgets, holders write themselves
//	                                                                       back, claims bring the newest watermark,
//	                                                                       and tokens rise by the clock
//	one node after another comes       nothing                             what nobody has looked at or changed
//	back empty, each after a TTL                                           between the first and the last of them;
//	                                                                       never a lease
//	replies are lost, or come twice    nothing, or an error: unknown       nothing
//	a proposer dies half way           nothing                             nothing: the next one completes its
//	                                                                       change, or it never happened
//	a notification is lost at one      nothing: the other nodes pass it    nothing
//	node                               on
//	others change the same name all    an error, after the timeout         nothing
//	the time
//	a minority's clocks are wrong,     nothing, while a majority has       nothing
//	behind or ahead, by any time       answered within an hour
//	a majority's clocks are wrong      schedules follow the median         as with any store whose clock is wrong
//	a node's clock jumps               nothing, of a minority              a jump forward may end a lease early if
//	                                                                       no other node with the same value answers,
//	                                                                       and a quarantine
//	nodes are out of memory            claims fail; renewals and           nothing: the history is archived later
//	                                   settlements work
//
// # Caveats
//
// A new namespace can be used after a TTL, since its nodes look like nodes that have forgotten it:
// see [WithFreshStart]. TTLs longer than [WithTTL] are refused. What a holder does after its lease
// has run out, only the token fences: see package lease. Each change of a lock carries all its
// holders and waiters: a queue of hundreds costs every one of them. An item that is removed leaves
// an empty register on every node.
package quorum
