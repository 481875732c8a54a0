package config

import (
	"net"
	"net/url"
	"strconv"
	"strings"
	"unicode"
)

// section is the mapping redis while it is read: what stands in it, and what that comes to.
type section struct {
	*reader
	whole value
	given map[string]value
	to    *Redis
}

func (r *reader) redis(v value, to *Redis) (f failover) {
	v.secret = true
	s := &section{reader: r, whole: v, given: map[string]value{}, to: to}
	hide := map[string]bool{"url": true, "addrs": true, "quorum": true, "password": true, "sentinel_password": true}
	known := keys{
		"url":               func(v value) { r.redisURL(v, &to.URL) },
		"addrs":             s.addresses,
		"cluster":           s.cluster,
		"master":            func(v value) { r.word(v, &to.Master) },
		"quorum":            s.quorum,
		"username":          func(v value) { r.word(v, &to.Username) },
		"password":          func(v value) { r.secretText(v, &to.Password) },
		"database":          s.database,
		"sentinel_username": func(v value) { r.word(v, &to.SentinelUsername) },
		"sentinel_password": func(v value) { r.secretText(v, &to.SentinelPassword) },
		"tls":               s.tls,
		"wait_replicas":     func(v value) { f.replicas = r.waitReplicas(v, &to.WaitReplicas) },
		"failover_grace":    func(v value) { f.grace = r.failoverGrace(v, &to.FailoverGrace) },
	}
	for key, read := range known {
		known[key] = func(v value) {
			v.secret = hide[key]
			s.given[key] = v
			read(v)
		}
	}
	if r.fields(v, known, "tls") {
		s.check()
	}
	return f
}

// cluster reads a boolean; false is as good as absent.
func (s *section) cluster(v value) {
	if s.boolean(v, &s.to.Cluster) && !s.to.Cluster {
		delete(s.given, "cluster")
	}
}

// redisURL shows nothing of the URL in errors: even one that makes no sense may hold a password.
func (r *reader) redisURL(v value, to *Secret) bool {
	t, ok := r.text(v, "a URL such as redis://localhost:6379/0")
	if !ok {
		return false
	}
	if rule := redisURLRule(t.string); rule != "" {
		r.fault(v, "%s", rule)
		return false
	}
	*to = NewSecret(t.string)
	return true
}

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

// addresses reads host:port of servers. One that may hold a password, because somebody wrote a URL, is not shown.
func (s *section) addresses(v value) {
	items, ok := s.list(v, "a list of addresses such as [a:6379, b:6379]")
	if !ok {
		return
	}
	if len(items) == 0 {
		s.fault(v, "must name at least one server, as host:port")
		return
	}
	var addrs []string
	for i, item := range items {
		t, ok := s.text(item, "an address such as redis-1:6379")
		if !ok {
			continue
		}
		item.secret = strings.ContainsAny(t.string, "@/")
		host, port, err := net.SplitHostPort(t.string)
		switch {
		case strings.Contains(t.string, "://"):
			s.fault(item, "must be host:port, without redis://; user name, password and tls are keys of redis here")
		case err != nil || host == "" || item.secret || strings.ContainsFunc(host, unicode.IsSpace):
			s.fault(item, "must be host:port, such as redis-%d:6379", i+1)
		case !validPort(port, false):
			s.fault(item, "must have a port from 1 to 65535")
		case contains(addrs, t.string):
			s.fault(item, "is listed already; remove one of the two")
		}
		addrs = append(addrs, t.string)
	}
	s.to.Addrs = addrs
}

func contains(list []string, s string) bool {
	for _, e := range list {
		if strings.EqualFold(e, s) {
			return true
		}
	}
	return false
}

// quorum reads the URLs of independent servers.
func (s *section) quorum(v value) {
	items, ok := s.list(v, "a list of URLs such as [redis://a:6379, redis://b:6379, redis://c:6379]")
	if !ok {
		return
	}
	if len(items) < MinQuorum || len(items) > MaxQuorum {
		s.fault(v, "must list %d to %d URLs of independent servers, better an odd number; this is %d", MinQuorum, MaxQuorum, len(items))
	}
	var urls []Secret
	var servers []string
	for _, item := range items {
		var u Secret
		if !s.redisURL(item, &u) {
			continue
		}
		server := serverOf(u.Reveal())
		if contains(servers, server) {
			s.fault(item, "names a server that is listed already: each must be a server of its own")
		}
		urls, servers = append(urls, u), append(servers, server)
	}
	s.to.Quorum = urls
}

// serverOf is what makes two URLs name one server.
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

func (s *section) database(v value) {
	var n int
	switch ok := s.integer(v, &n); {
	case !ok:
	case n < 0:
		s.fault(v, "must be at least 0")
	default:
		s.to.Database = n
	}
}

func (s *section) tls(v value) {
	t := &TLS{}
	given := map[string]value{}
	known := keys{
		"ca_file":     func(v value) { s.word(v, &t.CAFile) },
		"cert_file":   func(v value) { s.word(v, &t.CertFile) },
		"key_file":    func(v value) { s.word(v, &t.KeyFile) },
		"server_name": func(v value) { s.word(v, &t.ServerName) },
	}
	for key, read := range known {
		known[key] = func(v value) { given[key] = v; read(v) }
	}
	if !s.fields(v, known) {
		return
	}
	for _, pair := range [][2]string{{"cert_file", "key_file"}, {"key_file", "cert_file"}} {
		if one, ok := given[pair[0]]; ok {
			if _, both := given[pair[1]]; !both {
				s.fault(one, "needs %s beside it", pair[1])
			}
		}
	}
	s.to.TLS = t
}

// word reads text that is not empty and holds no control characters.
func (r *reader) word(v value, to *string) {
	t, ok := r.text(v, "a string")
	switch {
	case !ok:
	case t.string == "":
		r.fault(v, "must not be empty")
	case strings.ContainsFunc(t.string, unicode.IsControl):
		r.fault(v, "must not hold control characters")
	default:
		*to = t.string
	}
}

// secretText reads what errors and logs must not show. An empty one is most likely a variable that is set to nothing.
func (r *reader) secretText(v value, to *Secret) {
	t, ok := r.text(v, "a string")
	switch {
	case !ok:
	case t.string == "":
		r.fault(v, "must not be empty; remove the key when there is none")
	default:
		*to = NewSecret(t.string)
	}
}
