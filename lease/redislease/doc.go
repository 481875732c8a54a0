// Package redislease keeps leases on Redis: it is the lease.Store that a fleet shares.
//
// # Keys
//
//	solotick:{NAMESPACE/N}:NAME         the record of a name and its history, a hash; see lua/values.lua. N, from 0 to 15,
//	                                    follows from the name
//	solotick:{NAMESPACE/N}:JOB/KEY      the record of a schedule of a job
//	solotick:{NAMESPACE/N}due:JOB/SHARE which of them are due when, a sorted set; see lua/due.lua. SHARE, from 0 to 255,
//	                                    follows from JOB/KEY, and N is SHARE modulo 16
//	solotick:{NAMESPACE/N}keys:JOB      their keys, a sorted set of texts with many each; see lua/values.lua
//	solotick:{NAMESPACE/N}:journal:NAME notes about it for people, a hash; those about the namespace without a NAME
//	solotick:{NAMESPACE/N}:checkpoint:NAME where the runs of its ticks are, a hash; see lua/values.lua
//	solotick:{NAMESPACE/N}:limit:NAME   the units taken of a limit, a hash; see lua/take.lua
//	solotick:{NAMESPACE}                the format of the keys, and since when this server remembers the namespace, a hash
//	solotick:{NAMESPACE}:triggered      the triggers, pauses and resumptions of the last minute
//	solotick:{NAMESPACE}:members        what each member says about itself,
//	solotick:{NAMESPACE}:heard          when each sent its last heartbeat,
//	solotick:{NAMESPACE}:alive          when the life of each ends,
//	solotick:{NAMESPACE}:changed        when one came, went, or said something else last, and
//	solotick:{NAMESPACE}:former         what former members of the last day said about themselves
//	solotick:{NAMESPACE/N}:set:DIGEST   what many replicas have in common, such as the names of their jobs
//	solotick:{NAMESPACE}:server         with WithFailoverGrace: which server it was, and since when
//	solotick:NAMESPACE:wake             the channel on which waiting replicas are woken
//	solotick:NAMESPACE:progress         the channel of messages from one member to all; to one, behind a colon and its id
//	solotick:{NAMESPACE/N}:lock:NAME    the lock of a name, its holds and its queue, a hash; see lua/lock.lua
//	solotick:NAMESPACE:line             the channel on which the next waiters are notified. On Cluster instead:
//	solotick:{NAMESPACE/N}:line         the sharded channel for the locks of one N
//
// On Cluster a script touches keys of one hash tag, and only those that it declares. A record is one
// key, and a lock is one, and so each moves with its slot as a whole. A schedule is three, its record
// and two indexes: while some of them have moved and others have not, its changes fail with TRYAGAIN.
// So the store works on Redis Cluster. It needs Redis 7.0 or Valkey 7.2, and these rights of its user:
//
//	ACL rules: ~solotick:* &solotick:* +eval +evalsha +scan +time +ping +select +publish +subscribe +unsubscribe
//	           +get +set +hget +hset +hmget +hgetall +hdel +hexists +hlen +zadd +zrem +zscore +zrange +zrangebyscore
//	           +zremrangebyscore +pexpire +persist +unlink
//	On Cluster also: +cluster|slots +asking +spublish +ssubscribe +sunsubscribe
//	With WithReplicas also: +wait
//	With WithFailoverGrace also: +info
//	For a Node also: +info
//
// None of them reaches beyond the keys of the store: no FLUSHALL, KEYS or CONFIG. Without
// +subscribe, or a channel, Watch notifies only of triggers, pauses and resumptions, within two
// seconds. Listen fails, and waiters for a lock then poll.
//
// # Who is notified on Cluster
//
// Redis Cluster sends a message to all servers, unless its channel belongs to a slot. So the locks of
// each N have a channel in their slot, which only the server that keeps them knows. A process that
// listens has one connection to each server for these sixteen channels. Channels that move, or whose
// server fails, are subscribed to again. Then all waiters in the process ask once more, as messages
// may have been missed.
//
// # What it does about Redis
//
//   - The store has a client of its own, made from the options of the caller's. It has few
//     connections, which no burst of the application can occupy. It does not retry, since go-redis
//     would run a script a second time after a lost reply, and it obeys a context's deadline.
//   - Concurrent calls travel in one pipeline. A call whose caller gives up before the pipeline
//     leaves is not sent.
//   - Scripts are called by their hash. A server that does not know one (a restart, a failover,
//     SCRIPT FLUSH) gets its source, for each failed command of a pipeline by itself.
//   - When Redis is out of memory claims fail, but leases that are held can still be renewed and
//     settled.
//   - Operations on records that wait for the same server travel in scripts of up to 64, renewals
//     in scripts of up to 128. Operations that end or keep something go first. On Cluster a script
//     has one hash tag, of which a namespace has 16. One record that cannot be read fails no other.
//     Of a slot that moves each record is asked for by itself.
//   - Renewals of many locks are one script for up to 128 of them; on Cluster, of one N, and in one
//     pipeline to each server. What one server keeps does not wait for another, and a slot that has
//     moved is followed.
//   - A client of Sentinel is asked for the master once a second, beside each new connection. When
//     that is another server, the connections to the one before are closed, whatever that one
//     answers. Sentinel takes ten seconds to make a replica of it. Keep such a client open for as
//     long as the store, which uses its dialer. Give it a ReadTimeout of well below a TTL. For so
//     long, and for each of its MaxRetries, the store waits for a Sentinel that hangs.
//
// # Failover
//
// Redis replicates asynchronously, so a failover may forget the newest writes. Processes that know
// of a settlement or a renewal then write it again, and the next grant has a higher token all the
// same. The fate of a grant that only its holder knows of is a choice:
//
//	by default           another may be granted the same, and for one TTL two hold it
//	WithReplicas(n)      a grant counts when n replicas have it. With n = all of them, none is ever lost, but while one is
//	                     away nothing is granted or renewed; with fewer, a replica may be promoted that has not got it
//	WithFailoverGrace    after a failover nothing new is granted until forgotten leases end. One server, or Sentinel.
//	                     A master that was replaced but lives on may still grant and renew for those that reach it; bound
//	                     that with min-replicas-to-write and min-replicas-max-lag
//
// A restart of Redis without its newest data is a failover in this sense; WithReplicas does not
// help against that. Configure maxmemory-policy noeviction: an evicted record is a forgotten one.
package redislease
