package daemon

import (
	"slices"

	"github.com/solotick/solotick/config"
)

// fixed returns the keys of the settings in which two configurations differ, and which a running worker does not change.
func fixed(a, b *config.Config) (keys []string) {
	differ := func(key string, yes bool) {
		if yes {
			keys = append(keys, key)
		}
	}
	differ("namespace", a.Namespace != b.Namespace)
	differ("replica", a.Replica != b.Replica)
	differ("groups", !slices.Equal(a.Groups, b.Groups))
	differ("max_runs", a.MaxRuns != b.MaxRuns)
	secret := func(a, b config.Secret) bool { return a.Reveal() != b.Reveal() }
	differ("redis.url", secret(a.Redis.URL, b.Redis.URL))
	differ("redis.addrs", !slices.Equal(a.Redis.Addrs, b.Redis.Addrs))
	differ("redis.cluster", a.Redis.Cluster != b.Redis.Cluster)
	differ("redis.master", a.Redis.Master != b.Redis.Master)
	differ("redis.quorum", !slices.EqualFunc(a.Redis.Quorum, b.Redis.Quorum, func(a, b config.Secret) bool { return !secret(a, b) }))
	differ("redis.username", a.Redis.Username != b.Redis.Username)
	differ("redis.password", secret(a.Redis.Password, b.Redis.Password))
	differ("redis.database", a.Redis.Database != b.Redis.Database)
	differ("redis.sentinel_username", a.Redis.SentinelUsername != b.Redis.SentinelUsername)
	differ("redis.sentinel_password", secret(a.Redis.SentinelPassword, b.Redis.SentinelPassword))
	differ("redis.tls", (a.Redis.TLS == nil) != (b.Redis.TLS == nil) || a.Redis.TLS != nil && *a.Redis.TLS != *b.Redis.TLS)
	differ("redis.wait_replicas", a.Redis.WaitReplicas != b.Redis.WaitReplicas)
	differ("redis.failover_grace", a.Redis.FailoverGrace != b.Redis.FailoverGrace)
	differ("lease.ttl", a.Lease != b.Lease)
	differ("http.addr", a.HTTP != b.HTTP)
	differ("shutdown_grace", a.ShutdownGrace != b.ShutdownGrace)
	differ("log.format", a.Log.Format != b.Log.Format)
	return keys
}
