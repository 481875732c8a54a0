package config

import (
	"log/slog"
	"time"

	"github.com/solotick/solotick/notify"
)

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
	// FailoverGrace is for how long nothing new is granted after a failover: 0, or Lease.TTL to 25h,
	// and 0 with Cluster and Quorum.
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
	Addr     Address
	Tokens   []Token // without any the page and the API only read, and only on this machine
	ReadOnly bool    // nothing can be changed by the page or the API

	Metrics Metrics
}

// Address is where the daemon listens.
type Address struct {
	HostPort string // port 0 means any free one, an empty host every interface
	Given    bool   // it was asked for; a default one may give way to a free port when it is taken
}

// Metrics says what the daemon exports at /metrics, and to whom.
type Metrics struct {
	JobHistograms bool // the histograms of runs have the label job
	NeedsToken    bool // /metrics answers only those who have one of the tokens
}

// Tracing says where the daemon exports the spans of its runs.
type Tracing struct {
	Endpoint string // the base URL of an OTLP receiver over HTTP, without a user or password; "" leaves it to the environment
}

// Logging says which lines the daemon logs, and how.
type Logging struct {
	Level  slog.Level
	Format string // "text" or "json"
}

// Notify says which monitors are notified of a job's runs, by URLs that hold a credential, and when
// receivers are notified of its condition.
type Notify struct {
	Healthchecks Secret // of a check of Healthchecks; empty for none
	Sentry       Secret // of a cron monitor of Sentry; empty for none
	After        int    // ticks that go wrong in a row before receivers are notified: 1 to 1000; 0 is 1
}

// Notifications says who is notified when the condition of a job changes.
type Notifications struct {
	Interval  time.Duration // between two looks at the fleet
	Confirm   time.Duration // for how long a job must be overdue or unserved
	Receivers []notify.Receiver
}

// Token lets its bearer read or operate the worker's page and API.
type Token struct {
	Name  string // of its bearer; valid by jobs.ValidName, and of no other token
	Role  string // "read" or "operate"
	Value Secret // 16 to 512 characters of printable ASCII without spaces; or else File
	File  string // holds the value, and is read again when it changes; may be missing while the file is checked
}
