// Package redislease keeps leases on Redis: it is the [lease.Store] that a fleet shares.
//
// # Keys
//
//	solotick:{NAMESPACE:NAME}           the record of a name, a hash; see lua/record.lua
//	solotick:{NAMESPACE:NAME}:key:KEY   which occasion a trigger with this key has opened
//	solotick:{NAMESPACE}                since when this server remembers the namespace
//	solotick:{NAMESPACE}:triggered      what was triggered within the last minute
//	solotick:{NAMESPACE}:members        who takes part
//	solotick:NAMESPACE:wake             the channel on which waiting replicas are woken
//
// Every script touches keys of one hash tag, but for the renewal of many leases, which on Cluster is a script for each. So
// the store works on Redis Cluster. It needs Redis 7.0 or Valkey 7.2, and these rights of its user:
//
//	ACL rules: ~solotick:* &solotick:* +@read +@write +@scripting +@pubsub +@connection +time
//	On Cluster also: +cluster|slots
//
// Without +@pubsub, or a channel, Watch tells of what was triggered, within two seconds, and of nothing else.
//
// # What it does about Redis
//
//   - Its client is its own, made from the options of the caller's: few connections, which no burst of the application
//     can occupy; no retry of its own, since go-redis would run a script a second time after a lost reply; and a
//     context's deadline is obeyed.
//   - What is asked at the same time travels in one pipeline. Whoever gives up waiting for that is not asked for.
//   - Scripts are called by their hash. A server that does not know one (a restart, a failover, SCRIPT FLUSH) gets its
//     source, for each failed command of a pipeline by itself.
//   - When Redis is out of memory claims fail, but what is held can still be renewed and settled.
//   - Renewals of many leases are one script for up to 128 of them; on Cluster, one per lease, in one pipeline to each
//     server. What one server keeps does not wait for another, and a slot that has moved is followed.
//
// What it can not do: with asynchronous replication a failover may forget the newest writes. The next grant then has a
// higher token all the same, but for one term two may hold an occasion. Configure maxmemory-policy noeviction: an
// evicted record is a forgotten one.
package redislease
