package settings

import "strings"

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
