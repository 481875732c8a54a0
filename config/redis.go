package config

import (
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

var redisKeys = []key[Redis]{
	field("url", secret(redisURL), func(r *Redis) *Secret { return &r.URL },
		"one server; may have user, password and database").hidden(),
	field("addrs", redisAddrs, func(r *Redis) *[]string { return &r.Addrs },
		"at least one server that answers, of a Redis Cluster with cluster, or of Sentinels with master").hidden(),
	field("cluster", boolean, func(r *Redis) *bool { return &r.Cluster }, "addrs are servers of a Redis Cluster"),
	field("master", word, func(r *Redis) *string { return &r.Master },
		"the name by which the Sentinels in addrs know the primary"),
	field("quorum", redisQuorum, func(r *Redis) *[]Secret { return &r.Quorum },
		"independent servers, better an odd number: no Cluster, no replicas of each other").hidden(),
	field("username", word, func(r *Redis) *string { return &r.Username },
		"for every server, with password, where no URL has one").defaultsTo("the default user"),
	field("password", secret(filled), func(r *Redis) *Secret { return &r.Password },
		"for every server, where no URL has one").hidden(),
	field("database", number(0, 0, "must be at least 0"), func(r *Redis) *int { return &r.Database },
		"where no URL has one; 0 with cluster"),
	field("sentinel_username", word, func(r *Redis) *string { return &r.SentinelUsername },
		"for the Sentinels themselves, with sentinel_password").defaultsTo("the default user"),
	field("sentinel_password", secret(filled), func(r *Redis) *Secret { return &r.SentinelPassword },
		"for the Sentinels themselves").hidden(),
	field("tls", optional(mapping(tlsKeys, checkPair)), func(r *Redis) **TLS { return &r.TLS },
		"with addrs, or rediss:// in every URL; {} trusts what the system trusts").neverEmpty(),
	field("wait_replicas", number(0, maxWaitReplicas, fmt.Sprintf("must be from 0 to %d", maxWaitReplicas)),
		func(r *Redis) *int { return &r.WaitReplicas },
		"how many Redis replicas must have each write; 1 or more needs a lease.ttl of at least 2s; 0 with quorum"),
	field("failover_grace", durationWithin(0, maxFailoverGrace), func(r *Redis) *time.Duration { return &r.FailoverGrace },
		"for how long nothing new is granted after a failover: 0s, or at least lease.ttl; 0s with cluster and quorum"),
}

var tlsKeys = []key[TLS]{
	field("ca_file", word, func(t *TLS) *string { return &t.CAFile },
		"PEM: the authorities to trust instead").defaultsTo("the system's"),
	field("cert_file", word, func(t *TLS) *string { return &t.CertFile },
		"PEM: a certificate to show to the servers, with key_file"),
	field("key_file", word, func(t *TLS) *string { return &t.KeyFile }, "PEM, with cert_file"),
	field("server_name", word, func(t *TLS) *string { return &t.ServerName },
		"the name in the servers' certificates").defaultsTo("the host"),
}

// redisURL is always hidden in errors: even a URL that makes no sense may hold a password.
var redisURL = checked("a URL such as redis://localhost:6379/0", "redis://host, rediss://host (TLS) or unix:///path",
	"^(redis|rediss|unix)://", redisURLRule)

func redisURLRule(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return "must be a URL such as redis://localhost:6379/0; characters such as / and # in a password are written %2F and %23"
	}
	switch u.Scheme {
	case "redis", "rediss":
		if u.Hostname() == "" {
			return "must name a host, such as redis://localhost:6379/0"
		}
		if !validPort(u.Port(), true) {
			return "must have a port from 1 to 65535"
		}
		if db := strings.Trim(u.Path, "/"); db != "" {
			if n, err := strconv.Atoi(db); err != nil || n < 0 {
				return "must end in the number of a database, such as /0"
			}
		}
	case "unix":
		if u.Path == "" {
			return "must name a socket by its absolute path, such as unix:///run/redis.sock"
		}
	default:
		return "must start with redis://, rediss:// (TLS) or unix://"
	}
	return ""
}

// validPort accepts 1 to 65535, and no port at all if that is optional.
func validPort(port string, optional bool) bool {
	if port == "" {
		return optional
	}
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && n > 0
}

var redisAddrs = list[string]{
	want: "a list of addresses such as [a:6379, b:6379]", values: "host:port, one or more", open: true,
	size: notEmpty("must name at least one server, as host:port"),
	item: redisAddr,
	repeat: func(addr string, earlier []string) string {
		if containsFold(earlier, addr) {
			return "is listed already; remove one of the two"
		}
		return ""
	},
}.kind()

// redisAddr takes host:port. One that may hold a password, because somebody wrote a URL, is not
// shown in errors.
func redisAddr(i int) kind[string] {
	return kind[string]{schema: textSchema(":"), read: func(r *reader, v value, to *string) bool {
		t, ok := r.text(v, "an address such as redis-1:6379")
		if !ok {
			return false
		}
		v.secret = strings.ContainsAny(t.string, "@/")
		host, port, err := net.SplitHostPort(t.string)
		switch {
		case strings.Contains(t.string, "://"):
			r.fault(v, "must be host:port, without redis://; user name, password and tls are keys of redis here")
		case err != nil || host == "" || v.secret || strings.ContainsFunc(host, unicode.IsSpace):
			r.fault(v, "must be host:port, such as redis-%d:6379", i+1)
		case !validPort(port, false):
			r.fault(v, "must have a port from 1 to 65535")
		default:
			*to = t.string
			return true
		}
		return false
	}}
}

func containsFold(list []string, s string) bool {
	return slices.ContainsFunc(list, func(e string) bool { return strings.EqualFold(e, s) })
}

// redisQuorum takes the URLs of independent servers.
var redisQuorum = list[Secret]{
	want:   "a list of URLs such as [redis://a:6379, redis://b:6379, redis://c:6379]",
	values: fmt.Sprintf("%d to %d URLs", minQuorum, maxQuorum),
	size: func(n int) string {
		if n < minQuorum || n > maxQuorum {
			return fmt.Sprintf("must list %d to %d URLs of independent servers, better an odd number; this is %d", minQuorum, maxQuorum, n)
		}
		return ""
	},
	item: func(int) kind[Secret] { return secret(redisURL) },
	repeat: func(u Secret, earlier []Secret) string {
		for _, e := range earlier {
			if strings.EqualFold(serverOf(e.Reveal()), serverOf(u.Reveal())) {
				return "names a server that is listed already; each URL must name another server"
			}
		}
		return ""
	},
}.kind()

// serverOf returns the same for two URLs of one server.
func serverOf(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return text
	}
	if u.Scheme == "unix" {
		return u.Path
	}
	port := u.Port()
	if port == "" {
		port = "6379"
	}
	return net.JoinHostPort(u.Hostname(), port)
}
