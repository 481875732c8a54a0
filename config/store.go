package config

import (
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
)

// Store says where a fleet meets that has no Redis section: in a file, in this process, or at the
// server of its URL.
type Store struct {
	URL Secret // sqlite:PATH, memory:, one of redis, rediss and unix, or one of Servers; empty where Redis is configured, or nothing
}

// Servers are examples of the URLs of stores on servers other than Redis, by their scheme.
var Servers = map[string]string{
	"etcd":       "etcd://user:password@host:2379,host2:2379/prefix",
	"etcds":      "etcds://user:password@host:2379,host2:2379/prefix",
	"mariadb":    "mariadb://user:password@host:3306/database",
	"mysql":      "mysql://user:password@host:3306/database",
	"nats":       "nats://user:password@host:4222,host2:4222/bucket?replicas=3",
	"postgres":   "postgres://user:password@host:5432/database",
	"postgresql": "postgresql://user:password@host:5432/database",
	"tls":        "tls://user:password@host:4222,host2:4222/bucket?replicas=3",
	"zk":         "zk://user:password@host:2181,host2:2181/path",
}

// Server returns the scheme and the URL of a store on a server other than Redis; ok is false for
// another store.
func (s Store) Server() (scheme, url string, ok bool) {
	url = s.URL.Reveal()
	scheme, _, _ = strings.Cut(url, ":")
	_, ok = Servers[scheme]
	return scheme, url, ok
}

// InMemory reports whether the store is in the memory of this process.
func (s Store) InMemory() bool { return s.URL.Reveal() == "memory:" }

// File returns the path of the SQLite file; ok is false for another store.
func (s Store) File() (path string, ok bool) {
	path, ok = strings.CutPrefix(s.URL.Reveal(), "sqlite:")
	if rest, host := strings.CutPrefix(path, "//"); host {
		path = rest // it begins with another slash
	}
	return path, ok
}

// InFile returns a store in the SQLite file at path.
func InFile(path string) Store { return Store{NewSecret("sqlite:" + path)} }

var storeKeys = []key[Store]{
	field("url", secret(storeURL), func(s *Store) *Secret { return &s.URL },
		"sqlite:PATH is a file that the workers of one machine share, found from the directory of this one; memory: forgets when the worker ends; mysql and the like are servers").
		hidden().defaultsTo("without redis, a file beside this one with the ending .db").needed("write one such as sqlite:solotick.db"),
}

// storeURL is hidden in errors, as a URL of Redis is.
var storeURL = checked("a URL such as sqlite:solotick.db", "sqlite:PATH, memory:, redis://host, rediss://host, unix:///path, "+strings.Join(servers, "://…, ")+"://…",
	"^(sqlite|memory|redis|rediss|unix|"+strings.Join(servers, "|")+"):", storeURLRule)

// servers are the schemes of stores on servers other than Redis.
var servers = slices.Sorted(maps.Keys(Servers))

func storeURLRule(s string) string {
	scheme, rest, _ := strings.Cut(s, ":")
	switch scheme {
	case "sqlite":
		path, _ := Store{URL: NewSecret(s)}.File()
		switch {
		case path == "" || strings.HasSuffix(path, "/"):
			return "must name a file, such as sqlite:solotick.db or sqlite:/var/lib/solotick/solotick.db"
		case strings.HasPrefix(rest, "//") && !strings.HasPrefix(rest, "///"):
			return "must not name a host: write sqlite:PATH, or sqlite:///PATH for a path from the root"
		case strings.ContainsAny(path, "?#\x00"):
			return "must be a path alone, without ? and #: there are no options"
		}
	case "memory":
		if rest != "" {
			return "must be memory: and nothing more"
		}
	case "redis", "rediss", "unix":
		return redisURLRule(s)
	default:
		return serverURLRule(scheme, s)
	}
	return ""
}

// serverURLRule says what the URL of a server other than Redis lacks. What its store wants besides,
// the store says.
func serverURLRule(scheme, s string) string {
	example, ok := Servers[scheme]
	if !ok {
		return "must start with sqlite:, memory:, redis://, rediss:// (TLS), unix://, " + strings.Join(servers, "://, ") + "://"
	}
	if u, err := url.Parse(s); err != nil || u.Host == "" {
		return "must be a URL such as " + example + "; characters such as / and # in a password are written %2F and %23"
	}
	return ""
}

// checkStore takes a URL of Redis for what redis.url would be, and refuses two places to meet.
func (r *reader) checkStore(c *Config) {
	store, hasStore := r.at["store"]
	redis, hasRedis := r.at["redis"]
	if hasStore && hasRedis {
		r.fault(store, "cannot be combined with redis: a fleet meets at one place; keep one of the two")
		r.fault(redis, "cannot be combined with store: a fleet meets at one place; keep one of the two")
		return
	}
	switch scheme, _, _ := strings.Cut(c.Store.URL.Reveal(), ":"); scheme {
	case "redis", "rediss", "unix":
		c.Redis.URL = c.Store.URL
	}
}

// Locate sets the file that the configuration was read from. A relative path of its store starts
// there. A store without a path is a file beside it, with the same name and the ending .db. An
// empty file means the working directory.
func (c *Config) Locate(file string) {
	if c.Store.URL.Reveal() == "" && !c.Redis.Configured() {
		name := filepath.Base(file)
		if file == "" || !filepath.IsLocal(name) || strings.HasPrefix(file, "/dev/") || strings.HasPrefix(file, "/proc/") { // nothing is beside it
			file, name = "", "solotick"
		}
		c.Store = InFile(strings.TrimSuffix(name, filepath.Ext(name)) + ".db")
	}
	if path, ok := c.Store.File(); ok && !filepath.IsAbs(path) {
		c.Store = InFile(filepath.Join(filepath.Dir(file), path))
	}
}
