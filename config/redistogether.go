package config

import (
	"net/url"
	"strings"
)

// check refuses what does not go together. A value that stands in the file counts as given even if it broke a rule of
// its own, so that no fault follows from another.
func (s *section) check() {
	s.checkServers()
	s.checkUser()
	s.checkTLS()
}

// has reports whether key is given, in the file or before it by what Set changes.
func (s *section) has(key string) bool {
	if _, ok := s.given[key]; ok {
		return true
	}
	switch key {
	case "url":
		return s.to.URL.Reveal() != ""
	case "addrs":
		return s.to.Addrs != nil
	case "cluster":
		return s.to.Cluster
	case "master":
		return s.to.Master != ""
	case "quorum":
		return s.to.Quorum != nil
	case "username":
		return s.to.Username != ""
	case "password":
		return s.to.Password.Reveal() != ""
	case "sentinel_password":
		return s.to.SentinelPassword.Reveal() != ""
	}
	return false
}

// refuse notes a fault of key where it is given.
func (s *section) refuse(key, rule string, args ...any) {
	if v, ok := s.given[key]; ok {
		s.fault(v, rule, args...)
	}
}

// checkServers wants exactly one way to name the servers.
func (s *section) checkServers() {
	ways := []string{}
	for _, key := range []string{"url", "addrs", "quorum"} {
		if s.has(key) {
			ways = append(ways, key)
		}
	}
	switch {
	case len(ways) == 0 && (s.has("cluster") || s.has("master")):
		s.missing(s.whole, "addrs", "list some servers of the Cluster, or the Sentinels, such as [a:6379, b:6379]")
	case len(ways) == 0:
		s.missing(s.whole, "url", "write one such as redis://localhost:6379/0, or addrs with cluster: true or master: NAME, "+
			"or quorum; or remove redis to run without one")
	case len(ways) > 1:
		for _, key := range ways[1:] {
			s.refuse(key, "cannot be combined with %s; keep one of url, addrs and quorum", ways[0])
		}
		return
	}
	addrs, cluster, master := s.has("addrs"), s.has("cluster"), s.has("master")
	switch {
	case addrs && cluster && master:
		s.refuse("master", "cannot be combined with cluster: a Redis Cluster does without Sentinel; keep one")
	case addrs && !cluster && !master:
		s.refuse("addrs", "needs cluster: true (Redis Cluster) or master: NAME (Sentinel) beside it; a single server is written as url")
	case len(ways) == 1 && !addrs && cluster:
		s.refuse("cluster", "needs addrs instead of %s: some servers of the Cluster, such as [a:6379, b:6379]", ways[0])
	}
	if len(ways) == 1 && !addrs && master {
		s.refuse("master", "needs addrs instead of %s: the Sentinels, such as [a:26379, b:26379]", ways[0])
	}
	if cluster && s.to.Database != 0 {
		s.refuse("database", "must be 0 with cluster: a Redis Cluster has one database")
	}
}

// checkUser wants each name and password at one place, and a password with each user name.
func (s *section) checkUser() {
	if s.has("username") && !s.has("password") {
		s.refuse("username", "needs a password beside it")
	}
	for _, key := range []string{"sentinel_username", "sentinel_password"} {
		if !s.has("master") {
			s.refuse(key, "needs master: it is for the Sentinels")
		}
	}
	if !s.has("sentinel_password") {
		s.refuse("sentinel_username", "needs a sentinel_password beside it")
	}
	for _, key := range []string{"username", "password", "database"} {
		for _, u := range s.urls() {
			if inURL(u, key) {
				s.refuse(key, "is in the URL as well; keep it at one place")
				break
			}
		}
	}
}

// urls are those of url and quorum, parsed.
func (s *section) urls() (list []*url.URL) {
	for _, text := range append([]Secret{s.to.URL}, s.to.Quorum...) {
		if u, err := url.Parse(text.Reveal()); err == nil && text.Reveal() != "" {
			list = append(list, u)
		}
	}
	return list
}

// inURL reports whether a URL brings what key would set.
func inURL(u *url.URL, key string) bool {
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

func (s *section) checkTLS() {
	for _, u := range s.urls() {
		if u.Scheme != "rediss" {
			s.refuse("tls", "needs rediss:// in every URL: %s:// is without TLS", u.Scheme)
			return
		}
	}
}
