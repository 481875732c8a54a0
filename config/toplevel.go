package config

import (
	"log/slog"
	"net"
	"strings"
)

// late holds what is read last: every job builds on the defaults, which may stand below them in the file.
type late struct {
	defaults, jobs *value
	failover       failover
	limits         limits
}

// topLevel reads everything but defaults and jobs from root into c. It reports whether root is a mapping.
func (r *reader) topLevel(root value, c *Config) (l late, ok bool) {
	ok = r.fields(root, keys{
		"namespace": func(v value) { r.name(v, &c.Namespace) },
		"replica":   func(v value) { r.replica(v, &c.Replica) },
		"groups":    func(v value) { r.groups(v, &c.Groups) },
		"max_runs":  func(v value) { r.maxRuns(v, &c.MaxRuns) },
		"redis":     func(v value) { l.failover = r.redis(v, &c.Redis) },
		"lease": func(v value) {
			r.fields(v, keys{
				"ttl": func(v value) { r.durationWithin(v, &c.Lease.TTL, MinLeaseTTL, MaxLeaseTTL) },
			})
		},
		"http": func(v value) {
			r.fields(v, keys{
				"addr": func(v value) { r.listen(v, &c.HTTP) },
				"token": func(v value) {
					v.secret = true
					r.fault(v, "is not supported yet: nothing that is served changes state; remove it")
				},
			})
		},
		"shutdown_grace": func(v value) { r.durationWithin(v, &c.ShutdownGrace, 0, 0) },
		"log": func(v value) {
			r.fields(v, keys{
				"level":  func(v value) { r.level(v, &c.Log.Level) },
				"format": func(v value) { r.oneOf(v, &c.Log.Format, "text", "json") },
			})
		},
		"defaults": func(v value) { l.defaults = &v },
		"jobs":     func(v value) { l.jobs = &v },
	}, "redis", "jobs")
	r.failoverFaults(l.failover, c)
	l.limits = limits{maxRuns: c.MaxRuns, groups: c.Groups}
	return l, ok
}

// replica reads an id; the empty string leaves the choice to the worker, as the absent key does.
func (r *reader) replica(v value, to *string) {
	if t, ok := r.text(v, "a name"); ok && t.string == "" {
		*to = ""
	} else if ok {
		r.name(v, to)
	}
}

// groups reads names of groups.
func (r *reader) groups(v value, to *[]string) {
	items, ok := r.list(v, "a list of names such as [eu, us]")
	if !ok {
		return
	}
	groups := make([]string, len(items))
	for i, item := range items {
		ok = r.name(item, &groups[i]) && ok
	}
	if ok {
		*to = groups
	}
}

func (r *reader) listen(v value, to *Server) {
	t, ok := r.text(v, "an address such as "+DefaultAddr)
	if !ok {
		return
	}
	host, port, err := net.SplitHostPort(t.string)
	if err != nil || strings.ContainsAny(host, " \t\r\n/@") {
		r.fault(v, "must be host:port, such as %s; :8080 listens on every interface", DefaultAddr)
		return
	}
	if port != "0" && !validPort(port, false) {
		r.fault(v, "must have a port from 0 to 65535, in digits; 0 picks a free one")
		return
	}
	to.Addr, to.AddrSet = t.string, true
}

func (r *reader) level(v value, to *slog.Level) {
	var name string
	if r.oneOf(v, &name, "debug", "info", "warn", "error") {
		_ = to.UnmarshalText([]byte(name)) // it knows these four
	}
}
