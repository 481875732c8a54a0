package config

import (
	"log/slog"
	"time"

	"github.com/solotick/solotick/jobs"
)

// Config is the configuration of a daemon. [Parse] and [Default] make a complete one, in
// which every field is set and checked. It is plain data: treat it as immutable once it is shared
// between goroutines.
//
// Printing it with fmt, log/slog or encoding/json shows none of its secrets; see [Secret] and the
// kinds of job.
type Config struct {
	Namespace string   // of the fleet; valid by naming.Valid
	Replica   string   // this replica's id, valid by naming.Valid; "" means that the worker makes one up
	Groups    []string // what this replica serves, besides jobs that name no group; may be empty
	MaxRuns   int      // the weight of jobs that run here at a time; 0: no limit; at most limits.MaxWeight

	Redis Redis
	Lease Lease
	HTTP  Server

	ShutdownGrace time.Duration // how long runs may take to finish at shutdown; 0 cancels them at once
	Log           Logging

	Jobs []Job // in the file's order, with names that differ; never empty when it comes from a file
}

// Redis says where the fleet meets: at one of URL, Addrs and Quorum. Without any of them ticks are
// coordinated within this process only.
type Redis struct {
	URL     Secret   // of one server: the scheme is redis, rediss or unix
	Addrs   []string // host:port: of some servers of a Redis Cluster, or of the Sentinels that know Master
	Cluster bool     // Addrs are those of a Redis Cluster
	Master  string   // the name by which Sentinel knows the primary; Addrs are those of Sentinels
	Quorum  []Secret // URLs of 3 to 9 independent servers

	Username string // with Password, for every server; "" is the default user
	Password Secret
	Database int // 0 on a Redis Cluster

	SentinelUsername string // with SentinelPassword, for the Sentinels themselves
	SentinelPassword Secret

	TLS *TLS // nil: no TLS at Addrs, and what the URLs say; never with a URL that is not rediss

	// WaitReplicas is how many Redis replicas must have each write: 0 to 16, and 0 with Quorum.
	WaitReplicas int
	// FailoverGrace is for how long nothing new is granted after a failover: 0, or Lease.TTL to 25h, and
	// 0 with Cluster and Quorum.
	FailoverGrace time.Duration
}

// Configured reports whether there is a Redis at all.
func (r *Redis) Configured() bool { return r.URL.Reveal() != "" || r.Addrs != nil || r.Quorum != nil }

// TLS says how connections to Redis are secured. The zero TLS trusts the authorities that the
// system trusts.
type TLS struct {
	CAFile     string // PEM, the authorities to trust instead
	CertFile   string // PEM, to show to the server; with KeyFile
	KeyFile    string
	ServerName string // in the servers' certificates, where it is not the host that is connected to
}

// Lease says how long a tick is held.
type Lease struct {
	TTL time.Duration // how long a run outlives the last renewal by its replica; 500ms to 24h
}

// Server is where the daemon listens for HTTP, and who may see and change what there.
type Server struct {
	Addr    string // host:port; port 0 means any free one, an empty host every interface
	AddrSet bool   // Addr was asked for; a default one may give way to a free port when it is taken

	Tokens   []Token // without any the page and the API only read, and only on this machine
	ReadOnly bool    // nothing can be changed by the page or the API
}

// Logging says which lines the daemon logs, and how.
type Logging struct {
	Level  slog.Level
	Format string // "text" or "json"
}

// DefaultAddr is where a daemon listens that is not configured otherwise.
const DefaultAddr = "127.0.0.1:8080"

// The ranges and defaults of the values that package jobs does not know.
const (
	minLeaseTTL = 500 * time.Millisecond
	maxLeaseTTL = 24 * time.Hour

	maxWaitReplicas  = 16
	minWaitingTTL    = 2 * time.Second // the least Lease.TTL with replicas to wait for
	maxFailoverGrace = 25 * time.Hour

	minQuorum, maxQuorum = 3, 9 // servers of a quorum

	defaultNamespace     = "default"
	defaultLeaseTTL      = 15 * time.Second
	defaultShutdownGrace = 30 * time.Second
	defaultKillGrace     = 5 * time.Second
	defaultHTTPTimeout   = 30 * time.Second
)

// Default is the configuration of a daemon that has no file at all: every default, no Redis and no
// jobs.
func Default() *Config {
	return &Config{
		Namespace:     defaultNamespace,
		Lease:         Lease{TTL: defaultLeaseTTL},
		HTTP:          Server{Addr: DefaultAddr},
		ShutdownGrace: defaultShutdownGrace,
		Log:           Logging{Level: slog.LevelInfo, Format: "text"},
	}
}

// Job is one entry of the file's jobs: a complete, valid spec and exactly one kind of work.
type Job struct {
	Spec jobs.Spec // its Definition is a digest of the kind of work as the file has it, see the package comment
	Line int       // where the entry starts, from 1

	// Exactly one of these is not nil.
	Exec        *Exec
	HTTP        *HTTP
	RedisStream *RedisStream
	Log         *Log

	Notify Notify // the zero value for none
}

// Notify says which monitors are notified of a job's runs, by URLs that hold a credential.
type Notify struct {
	Healthchecks Secret // of a check of Healthchecks; empty for none
	Sentry       Secret // of a cron monitor of Sentry; empty for none
}

// Exec is a job that runs a program.
type Exec struct {
	Command   []string          // the program, which is not empty, and its arguments; no shell is involved
	Dir       string            // where it runs; "" means the worker's own directory
	Env       map[string]string // added to the worker's own environment; nil when there is none
	KillGrace time.Duration     // between SIGTERM and SIGKILL; 0 or more
}

// HTTP is a job that sends a request.
type HTTP struct {
	Method  string            // upper case
	URL     string            // absolute, http or https
	Headers map[string]string // names as written, no two equal but for case; nil when there is none
	Body    string
	Success []StatusRange // never empty
	Timeout time.Duration // of one request, above 0
}

// StatusRange is the HTTP status codes from From to To, both included; 100 to 599.
type StatusRange struct{ From, To int }

// RedisStream is a job that adds an entry to a stream of the Redis where the fleet meets. That one
// is configured is not checked here, since a flag may do that.
type RedisStream struct {
	Stream string            // the stream's key, which is not empty
	MaxLen int64             // about how many entries to keep; 0 keeps all
	Fields map[string]string // added to each entry, under other names than those set for each; may be nil
}

// Log is a job that writes a line to the worker's log.
type Log struct {
	Message string // not blank
}
