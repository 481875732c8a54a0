package settings

import (
	"slices"
	"strings"
)

// Store says where a fleet meets that has no Redis section: in a file, in this process, or at the
// servers of its URL.
type Store struct {
	URL Secret // sqlite:PATH, memory:, redis://, rediss://, unix://, or that of other servers; empty where Redis is configured, or nothing
}

// File returns the path of the SQLite file; ok is false for another store.
func (s Store) File() (path string, ok bool) {
	path, ok = strings.CutPrefix(s.URL.Reveal(), "sqlite:")
	if rest, host := strings.CutPrefix(path, "//"); host {
		path = rest // it begins with another slash
	}
	return path, ok
}

// Servers reports whether the URL names servers other than Redis.
func (s Store) Servers() bool {
	scheme, _, _ := strings.Cut(s.URL.Reveal(), ":")
	return scheme != "" && !slices.Contains([]string{"sqlite", "memory", "redis", "rediss", "unix"}, scheme)
}

// InFile returns a store in the SQLite file at path.
func InFile(path string) Store { return Store{NewSecret("sqlite:" + path)} }
