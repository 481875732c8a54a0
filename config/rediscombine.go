package config

import (
	"net/url"
	"reflect"
	"slices"
	"strings"

	"github.com/solotick/solotick/internal/durations"
)

// section is a mapping of the file that has been read, for checks of what goes together.
type section[S any] struct {
	*reader
	whole value
	keys  []key[S]
	to    *S
}

// has reports whether a key says something, in the file or before it in what Set changes. One that
// has a fault of its own counts, so that no fault follows from another.
func (s section[S]) has(name string) bool {
	i := slices.IndexFunc(s.keys, func(k key[S]) bool { return k.name == name })
	return s.bad[join(s.whole.path, name)] || !reflect.ValueOf(s.keys[i].value(s.to)).Elem().IsZero()
}

// refuse reports a fault of a key where it is written.
func (s section[S]) refuse(name, rule string, args ...any) {
	if v, ok := s.at[join(s.whole.path, name)]; ok {
		s.fault(v, rule, args...)
	}
}

// checkPair wants a certificate and its key together.
func checkPair(r *reader, v value, to *TLS) {
	s := section[TLS]{r, v, tlsKeys, to}
	for one, other := range map[string]string{"cert_file": "key_file", "key_file": "cert_file"} {
		if _, ok := r.at[join(v.path, other)]; !ok {
			s.refuse(one, "needs %s beside it", other)
		}
	}
}

// checkRedis refuses what does not go together.
func checkRedis(r *reader, v value, to *Redis) {
	s := section[Redis]{r, v, redisKeys, to}
	checkServers(s)
	checkUser(s)
	checkTLS(s)
}

// checkServers wants exactly one way to name the servers.
func checkServers(s section[Redis]) {
	ways := []string{}
	for _, key := range []string{"url", "addrs", "quorum"} {
		if s.has(key) {
			ways = append(ways, key)
		}
	}
	addrs, cluster, master := s.has("addrs"), s.has("cluster"), s.has("master")
	switch {
	case len(ways) == 0 && (cluster || master):
		s.missing(s.whole, "addrs", "list some servers of the Cluster, or the Sentinels, such as [a:6379, b:6379]")
	case len(ways) == 0:
		s.missing(s.whole, "url", "write one such as redis://localhost:6379/0, or addrs with cluster: true or master: NAME, "+
			"or quorum; or remove redis to run without one")
	case len(ways) > 1:
		for _, key := range ways[1:] {
			s.refuse(key, "cannot be combined with %s; keep one of url, addrs and quorum", ways[0])
		}
		return
	case addrs && cluster && master:
		s.refuse("master", "cannot be combined with cluster: a Redis Cluster does without Sentinel; keep one")
	case addrs && !cluster && !master:
		s.refuse("addrs", "needs cluster: true (Redis Cluster) or master: NAME (Sentinel) beside it; a single server is written as url")
	case !addrs:
		s.refuseIf(cluster, "cluster", "needs addrs instead of %s: some servers of the Cluster, such as [a:6379, b:6379]", ways[0])
		s.refuseIf(master, "master", "needs addrs instead of %s: the Sentinels, such as [a:26379, b:26379]", ways[0])
	}
	s.refuseIf(cluster && s.to.Database != 0, "database", "must be 0 with cluster: a Redis Cluster has one database")
}

func (s section[S]) refuseIf(wrong bool, name, rule string, args ...any) {
	if wrong {
		s.refuse(name, rule, args...)
	}
}

// checkUser wants each name and password at one place, and a password with each user name.
func checkUser(s section[Redis]) {
	s.refuseIf(!s.has("password"), "username", "needs a password beside it")
	for _, key := range []string{"sentinel_username", "sentinel_password"} {
		s.refuseIf(!s.has("master"), key, "needs master: it is for the Sentinels")
	}
	s.refuseIf(!s.has("sentinel_password"), "sentinel_username", "needs a sentinel_password beside it")
	for _, key := range []string{"username", "password", "database"} {
		inURL := slices.ContainsFunc(urls(s.to), func(u *url.URL) bool { return brings(u, key) })
		s.refuseIf(inURL, key, "is in the URL as well; keep it at one place")
	}
}

// checkTLS wants rediss:// in every URL beside tls.
func checkTLS(s section[Redis]) {
	for _, u := range urls(s.to) {
		if u.Scheme != "rediss" {
			s.refuse("tls", "needs rediss:// in every URL: %s:// is without TLS", u.Scheme)
			return
		}
	}
}

// urls are those of url and quorum, parsed.
func urls(r *Redis) (list []*url.URL) {
	for _, text := range append([]Secret{r.URL}, r.Quorum...) {
		if u, err := url.Parse(text.Reveal()); err == nil && text.Reveal() != "" {
			list = append(list, u)
		}
	}
	return list
}

// brings reports whether a URL says what key would.
func brings(u *url.URL, key string) bool {
	password, hasPassword := u.User.Password()
	switch key {
	case "username":
		return u.User.Username() != ""
	case "password":
		return hasPassword && password != ""
	default:
		return u.Scheme != "unix" && strings.Trim(u.Path, "/") != "" || u.Query().Has("db")
	}
}

// checkFailover checks what depends on the lease's TTL, which may stand below redis in the file.
func (r *reader) checkFailover(c *Config) {
	refuse := func(wrong bool, path, rule string, args ...any) {
		if v, ok := r.at[path]; ok && wrong {
			r.fault(v, rule, args...)
		}
	}
	replicas, grace := c.Redis.WaitReplicas > 0 && !r.bad["redis.wait_replicas"], c.Redis.FailoverGrace
	if r.bad["redis.failover_grace"] {
		grace = 0
	}
	refuse(replicas && c.Lease.TTL < minWaitingTTL, "redis.wait_replicas", "needs a lease.ttl of at least %s: Redis replicas need time to answer", durations.Short(minWaitingTTL))
	refuse(grace > 0 && grace < c.Lease.TTL, "redis.failover_grace", "must be 0s or at least lease.ttl, %s: a lease that a failover forgets lasts as long", durations.Short(c.Lease.TTL))
	refuse(replicas && len(c.Redis.Quorum) > 0, "redis.wait_replicas", "must be 0 with quorum: a majority of its servers has each write")
	refuse(grace > 0 && len(c.Redis.Quorum) > 0, "redis.failover_grace", "must be 0s with quorum: its servers do not fail over")
	refuse(grace > 0 && c.Redis.Cluster, "redis.failover_grace", "must be 0s with cluster: its servers fail over one by one; use wait_replicas")
}
