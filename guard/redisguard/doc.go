// Package redisguard refuses stale fencing tokens in Redis: it wraps a script, or some commands, so that the token is
// compared and remembered in the same step as they write. What fencing is, and its rules, is in package guard.
//
//	var deposit, err = redisguard.NewScript(`return redis.call('INCRBY', KEYS[1], ARGV[1])`)
//	// …
//	balance, err := deposit.Run(ctx, client, run.Token, []string{"account:7"}, 50).Int64()
//	if errors.Is(err, guard.ErrStale) { … }
//
// # Keys
//
// The resource is the first key. Its newest token is in a key beside it, in the same slot of a Redis Cluster: of account:7
// in {account:7}:solotick:token, and of {eu}:7, which has a hash tag already, in {eu}:7:solotick:token. A key that has a }
// outside of a hash tag cannot be guarded, for no other key could be put into its slot. Two scripts that write the same
// thing must have the same first key.
//
// The token's key is removed after a time without writes, [DefaultExpiry] unless [WithExpiry] says otherwise: a write that
// was frozen for longer is let in. Let Redis evict no keys (maxmemory-policy noeviction), for that one may be evicted before
// what it guards. What a failover or a restart forgets, it may forget of both. Deleting the key forgets the token.
//
// # Retries
//
// go-redis sends a script again when its answer is lost, unless its MaxRetries is -1; and a script that fails halfway keeps
// what it has written, its token included. Tokens do not help there: the second time is equal to the first. Write so that
// twice is as good as once.
//
// An ACL has to let the user have both keys, EVALSHA and EVAL, and within the script GET, SET and what the script calls.
package redisguard
