package config

import (
	"log/slog"
	"time"

	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/jobs/exec"
	"github.com/solotick/solotick/jobs/http"
)

// Config is the configuration of a daemon. [Parse] and [Default] make a complete one, in
// which every field is set and checked. It is plain data: treat it as immutable once it is shared
// between goroutines.
//
// Printing it with fmt, log/slog or encoding/json shows none of its secrets.
type Config struct {
	Namespace string   // of the fleet; valid by naming.Valid
	Replica   string   // this replica's id, valid by naming.Valid; "" means that the worker makes one up
	Groups    []string // what this replica serves, besides jobs that name no group; may be empty
	MaxRuns   int      // the weight of jobs that run here at a time; 0: no limit; at most limits.MaxWeight

	Store Store // where Redis is not configured; see Locate
	Redis Redis
	Lease Lease
	HTTP  Server

	ShutdownGrace time.Duration // how long runs may take to finish at shutdown; 0 cancels them at once
	Log           Logging
	Tracing       Tracing

	Notifications Notifications

	SecretVariables []string // of the environment: those that the file takes a secret from; sorted

	Jobs []Job // in the file's order, with names that differ; never empty when it comes from a file
}

// defaultAddr is where a daemon listens that is not configured otherwise.
const defaultAddr = "127.0.0.1:8080"

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

	defaultLookInterval = 5 * time.Second
	defaultConfirm      = 30 * time.Second
	defaultPostTimeout  = 10 * time.Second
	maxPostTimeout      = time.Minute
)

// Default is the configuration of a daemon that has no file at all: every default, no Redis, no
// store and no jobs.
func Default() *Config {
	return &Config{
		Namespace:     defaultNamespace,
		Lease:         Lease{TTL: defaultLeaseTTL},
		HTTP:          Server{Addr: Address{HostPort: defaultAddr}},
		ShutdownGrace: defaultShutdownGrace,
		Log:           Logging{Level: slog.LevelInfo, Format: "text"},
		Notifications: Notifications{Interval: defaultLookInterval, Confirm: defaultConfirm},
	}
}

// Job is one entry of the file's jobs: a complete, valid spec and exactly one kind of work.
type Job struct {
	Spec jobs.Spec // its Definition is a digest of the kind of work as the file has it, see the package comment
	Line int       // where the entry starts, from 1

	// Exactly one of these is set.
	Exec        Private[exec.Command]
	HTTP        Private[http.Call]
	RedisStream Private[RedisStream]
	Log         Private[Log]

	Notify Notify // the zero value for none
}
