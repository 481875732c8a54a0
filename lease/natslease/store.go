// Package natslease keeps leases in a key-value bucket of NATS JetStream.
//
// A value is one message of the bucket's stream, and is changed if its sequence is as named. The
// time is that of the server which leads the stream. A lease ends by elapsed time, as each replica
// sees it, for JetStream compares no clock: a replica that has just started waits for a whole TTL
// before it takes over.
//
// The servers have to be NATS 2.11 or later. Take three, and [WithReplicas] of 3, so that one may
// fail. What they have acknowledged they write to their disks a while later, unless sync_interval
// in their configuration is always.
package natslease

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/solotick/solotick/internal/casstore"
	"github.com/solotick/solotick/internal/storekit"
)

// Store is a lease.Store on a bucket. It is safe for concurrent use. Close it when it is no longer
// used.
type Store struct {
	*store
	medium *medium
}

// store has the verbs.
type store = casstore.Store

type options struct {
	connection *connection
	bucket     string
	prefix     string // of the JetStream API
	timeout    time.Duration
	replicas   int
	maxBytes   int64
	mustExist  bool
}

// Option changes a default of [New].
type Option func(*options)

// WithBucket names the bucket; the default is solotick. Several namespaces may share one.
func WithBucket(name string) Option { return func(o *options) { o.bucket = name } }

// WithReplicas is how many servers keep the bucket, 1 to 5, when it is made; the default is 1.
func WithReplicas(n int) Option { return func(o *options) { o.replicas = n } }

// WithMaxBytes bounds the bucket when it is made; 0, the default, is no bound of its own.
func WithMaxBytes(n int64) Option { return func(o *options) { o.maxBytes = n } }

// WithDomain names the domain of JetStream, where the connection is to a leaf node of another one.
func WithDomain(name string) Option {
	return func(o *options) { o.prefix = "$JS." + name + ".API" }
}

// WithTimeout bounds each call. The default is 1 s; at least 10 ms. Choose it well below the
// shortest TTL.
func WithTimeout(d time.Duration) Option { return func(o *options) { o.timeout = d } }

// WithExistingBucket keeps the store from making a bucket where there is none: calls fail until
// there is one.
func WithExistingBucket() Option { return func(o *options) { o.mustExist = true } }

var bucketName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,128}$`)

// New makes a store of the namespace in a bucket. The first call makes the bucket when there is
// none. The connection remains the caller's, who closes it after the store. Let it reconnect for
// ever, and notice within seconds that a server is frozen or cut off (nats.PingInterval): until then
// calls fail. The namespace names the fleet, and matches the pattern of a name.
func New(nc *nats.Conn, namespace string, opts ...Option) (*Store, error) {
	o := options{connection: theirs(nc), bucket: "solotick", prefix: "$JS.API", timeout: time.Second, replicas: 1}
	faults := storekit.Apply("natslease", &o, opts)
	fault := func(wrong bool, format string, args ...any) {
		if wrong {
			faults = append(faults, fmt.Errorf("natslease: "+format, args...))
		}
	}
	fault(o.connection.servers == nil && nc == nil, "connection: nil must be a connection")
	fault(!bucketName.MatchString(o.bucket), "bucket %q must be 1 to 128 letters, digits, _ and -", o.bucket)
	fault(o.replicas < 1 || o.replicas > 5, "replicas %d must be from 1 to 5", o.replicas)
	fault(o.maxBytes < 0, "max bytes %d must be at least 0", o.maxBytes)
	m := &medium{
		options: o, stream: "KV_" + o.bucket, subjects: "$KV." + o.bucket + "." + encode(namespace) + ".",
		wentBack: make(chan struct{}, 1),
	}
	s, err := casstore.New("natslease", m, namespace, o.timeout, advice)
	if err := errors.Join(append(faults, err)...); err != nil {
		return nil, err
	}
	return &Store{s, m}, nil
}

// Close ends what goes on in the background, and the connection if it is the store's own. Calls fail
// from then on.
func (s *Store) Close() error {
	err := s.store.Close()
	s.medium.connection.close()
	return err
}

// Facts are what an operator looks at.
type Facts struct {
	Server    string // the version of the server that the connection is to
	Bucket    string
	Replicas  int    // how many servers are to keep the bucket
	Current   int    // how many have everything
	Clustered bool   // the server is one of a cluster
	Memory    bool   // the servers keep the bucket in memory only
	Values    uint64 // of all namespaces, with what says that a key was removed a moment ago
	Bytes     uint64 // that they take
	MaxBytes  int64  // that they may take; 0 for no bound
}

// Facts asks for them.
func (s *Store) Facts(ctx context.Context) (Facts, error) {
	m := s.medium
	info, err := m.look(ctx)
	if err != nil {
		return Facts{}, fmt.Errorf("natslease: %w", m.failed(err))
	}
	c := info.Config
	f := Facts{
		Server: m.connection.nc.ConnectedServerVersion(), Bucket: m.bucket, Replicas: c.Replicas, Current: 1,
		Memory: c.Storage == jetstream.MemoryStorage, Values: info.State.Msgs, Bytes: info.State.Bytes, MaxBytes: max(0, c.MaxBytes),
	}
	if info.Cluster != nil {
		f.Clustered = info.Cluster.Name != ""
		for _, r := range info.Cluster.Replicas {
			if r.Current && !r.Offline {
				f.Current++
			}
		}
	}
	return f, nil
}
