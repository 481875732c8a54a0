package config

import (
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/solotick/solotick/internal/limits"
)

// topKeys are the keys at the top level of the file. A new key needs a line in one of these tables,
// and a field that it fills: of Config, or of one of its sections.
var topKeys = []key[Config]{
	field("namespace", name, func(c *Config) *string { return &c.Namespace },
		"replicas that share a Redis and a namespace are a fleet"),
	field("replica", nameOrEmpty, func(c *Config) *string { return &c.Replica },
		"this replica's id").defaultsTo("the host's name and 8 characters"),
	field("groups", groupNames, func(c *Config) *[]string { return &c.Groups },
		"what this replica serves, besides jobs that name no group"),
	field("max_runs", number(0, limits.MaxWeight, fmt.Sprintf("must be from 0, which is no limit, to %d", limits.MaxWeight)),
		func(c *Config) *int { return &c.MaxRuns },
		"the weight of jobs that this replica runs at a time; 0 is no limit"),
	field("store", mapping(storeKeys, nil), func(c *Config) *Store { return &c.Store },
		"where the fleet meets, in one URL; instead of redis").hidden().neverEmpty(),
	field("redis", mapping(redisKeys, checkRedis), func(c *Config) *Redis { return &c.Redis },
		"where the fleet meets, when it has several machines").hidden().neverEmpty(),
	field("lease", mapping(leaseKeys, nil), func(c *Config) *Lease { return &c.Lease }, "how long a tick is held"),
	field("http", mapping(serverKeys, checkServer), func(c *Config) *Server { return &c.HTTP }, "the page, the API, metrics and health"),
	field("shutdown_grace", durationWithin(0, 0), func(c *Config) *time.Duration { return &c.ShutdownGrace },
		"how long runs may take to finish after SIGTERM"),
	field("log", mapping(loggingKeys, nil), func(c *Config) *Logging { return &c.Log }, "what the worker logs"),
	field("tracing", mapping(tracingKeys, nil), func(c *Config) *Tracing { return &c.Tracing }, "where the worker exports the spans of its runs"),
	field("notifications", mapping(notificationKeys, nil), func(c *Config) *Notifications { return &c.Notifications },
		"who is notified when the condition of a job changes: see notifications.md"),
	later("defaults", mapping(defaultKeys, nil), "policies of every job that does not say otherwise"),
	later("jobs", jobList, "what runs, and when").neverEmpty().
		needed("add a list of jobs, each with a name, a schedule and one of " + kindList),
}

var leaseKeys = []key[Lease]{
	field("ttl", durationWithin(minLeaseTTL, maxLeaseTTL), func(l *Lease) *time.Duration { return &l.TTL },
		"how long a run outlives the last renewal by its replica"),
}

var serverKeys = []key[Server]{
	field("addr", listenAddress, func(s *Server) *Address { return &s.Addr },
		"where the worker serves HTTP; the default gives way to a free port when it is taken").defaultsTo(defaultAddr),
	field("tokens", tokenList, func(s *Server) *[]Token { return &s.Tokens },
		"who may see the page and the API, and who may change what runs; without any these only read, and only on this machine"),
	field("read_only", boolean, func(s *Server) *bool { return &s.ReadOnly },
		"nothing can be changed by the page or the API, with any token"),
	field("metrics", mapping(metricsKeys, nil), func(s *Server) *Metrics { return &s.Metrics }, "what /metrics has, and for whom"),
	refusedKey[Server]("token", "is no key; write tokens: [{name: ops, role: operate, token_file: FILE}]"),
}

var metricsKeys = []key[Metrics]{
	field("job_histograms", boolean, func(m *Metrics) *bool { return &m.JobHistograms },
		"durations and lateness of runs for each job: 28 series more for each"),
	field("needs_token", boolean, func(m *Metrics) *bool { return &m.NeedsToken },
		"/metrics answers only those who have one of http.tokens"),
}

// checkServer refuses to need a token where there is none.
func checkServer(r *reader, v value, to *Server) {
	s := section[Server]{r, v, serverKeys, to}
	s.refuseIf(to.Metrics.NeedsToken && !s.has("tokens"), "metrics.needs_token", "needs http.tokens, of which there are none: add one, or remove this key")
}

var loggingKeys = []key[Logging]{
	field("level", level, func(l *Logging) *slog.Level { return &l.Level }, "the least level that is logged").changesLive(),
	field("format", oneOf("text", "json"), func(l *Logging) *string { return &l.Format }, "how lines are written"),
}

var tracingKeys = []key[Tracing]{
	field("endpoint", endpointURL, func(t *Tracing) *string { return &t.Endpoint },
		"the base URL of an OTLP receiver over HTTP; without it OTEL_EXPORTER_OTLP_ENDPOINT").defaultsTo("none: nothing is traced"),
}

// endpointURL is a URL to which /v1/traces is added.
var endpointURL = func() kind[string] {
	k := checked("a URL such as http://collector:4318", "absolute, http or https, without user, password and query", "^[Hh][Tt][Tt][Pp][Ss]?://", func(s string) string {
		if rule := requestURLRule(s); rule != "" {
			return rule
		}
		if u, err := url.Parse(s); err != nil || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
			return "must have no user, password, query or fragment: set OTEL_EXPORTER_OTLP_HEADERS for what authenticates the worker"
		}
		return ""
	})
	read := k.read
	k.read = func(r *reader, v value, to *string) bool {
		v.secret = strings.ContainsAny(v.node.Value, "@?#") // what may come with these may be a password
		return read(r, v, to)
	}
	return k
}()

// later makes a key whose value is read after all others: every job builds on the defaults, which
// may stand below them. A running worker applies its changes.
func later[T any](name string, k kind[T], about string) key[Config] {
	f := field(name, k, func(*Config) *T { return new(T) }, about).changesLive()
	f.read = func(*reader, value, *Config) bool { return true }
	f.rows = func(string, *Config) []row { return nil }
	return f
}

// refusedKey makes a key that nobody can use, which may hold a secret.
func refusedKey[S any](name, rule string) key[S] {
	return key[S]{name: name, secret: true, refused: true,
		read: func(r *reader, v value, _ *S) bool { r.fault(v, "%s", rule); return false },
	}
}

var listenAddress = single("an address such as "+defaultAddr, "host:port; port 0 picks a free one", textSchema(":"),
	func(t text) (Address, string) {
		host, port, err := net.SplitHostPort(t.string)
		if err != nil || strings.ContainsAny(host, " \t\r\n/@") {
			return Address{}, fmt.Sprintf("must be host:port, such as %s; :8080 listens on every interface", defaultAddr)
		}
		if port != "0" && !validPort(port, false) {
			return Address{}, "must have a port from 0 to 65535, in digits; 0 picks a free one"
		}
		return Address{HostPort: t.string, Given: true}, ""
	})

var level = func() kind[slog.Level] {
	names := oneOf("debug", "info", "warn", "error")
	return kind[slog.Level]{values: names.values, schema: names.schema, read: func(r *reader, v value, to *slog.Level) bool {
		var name string
		return names.read(r, v, &name) && to.UnmarshalText([]byte(name)) == nil // it knows these four
	}}
}()

// readSettings reads everything but defaults and jobs from root into c, and reports whether root is
// a mapping.
func (r *reader) readSettings(root value, c *Config) bool {
	ok := readKeys(r, root, topKeys, c)
	r.checkStore(c)
	r.checkFailover(c)
	return ok
}

// NeedsRestart returns the keys of the settings in which two configurations differ and which a
// running worker does not change. It applies the others: jobs, defaults and log.level.
func NeedsRestart(a, b *Config) (keys []string) {
	others := rowsOf(topKeys, "", b)
	for i, r := range rowsOf(topKeys, "", a) {
		if !r.live && !r.same(others[i]) {
			keys = append(keys, r.path)
		}
	}
	return keys
}
