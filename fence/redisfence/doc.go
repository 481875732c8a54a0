// Package redisfence refuses stale fencing tokens in Redis. It wraps a script, or some commands, so
// that the token is compared and remembered in the same step as they write. Package fence explains
// fencing and its rules.
//
//	var deposit, err = redisfence.NewScript(`return redis.call('INCRBY', KEYS[1], ARGV[1])`)
//	// …
//	balance, err := deposit.Run(ctx, client, run.Token, []string{"account:7"}, 50).Int64()
//	if errors.Is(err, fence.ErrStale) { … }
//
// # Keys
//
// The resource is the first key. Its newest token is in a key beside it, in the same slot of a
// Redis Cluster. That of account:7 is in {account:7}:solotick:token. That of {eu}:7, which has a
// hash tag already, is in {eu}:7:solotick:token. A key that has a } outside of a hash tag cannot be
// fenced, because no other key can be in its slot. Two scripts that write the same thing must have
// the same first key.
//
// The token's key is removed after a time without writes, by default 30 days: after that, a
// stale write is accepted. Configure Redis to evict no keys (maxmemory-policy noeviction): it could
// evict the token before the data. A failover or a restart can lose both. Deleting the key forgets
// the token.
//
// # Retries
//
// go-redis sends a script again when its answer is lost, unless its MaxRetries is -1. A script that
// fails halfway keeps what it has written, its token included. A token does not prevent that,
// because the second write has the same one. Make writes idempotent.
//
// An ACL must allow the user both keys, EVALSHA, EVAL, GET, SET, and the commands of the script.
package redisfence
