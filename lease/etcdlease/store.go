// Package etcdlease keeps leases in etcd, version 3.5 or later.
//
// Each value is a key, which is changed by a transaction that compares its ModRevision. Leases are
// not etcd's: see [github.com/solotick/solotick/internal/casstore] for how they end, and what that
// means for a process that has just started. One watch of the namespace brings what others change.
//
// etcd has no clock that a client can compare with. The time of the fleet is the median of its
// members' clocks, by the Date of their HTTP answers at /version: to the second at first, and to
// about 10 ms within some seconds. Until then it is late by at most a second.
package etcdlease

import (
	"errors"
	"fmt"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/solotick/solotick/internal/casstore"
	"github.com/solotick/solotick/internal/storekit"
)

// Store is a lease.Store on etcd. It is safe for concurrent use. Close it when it is no longer used.
type Store struct {
	*store
	medium *medium
}

// store has the verbs.
type store = casstore.Store

// ErrClosed is matched by the error of calls of a store that was closed.
var ErrClosed = casstore.ErrClosed

type options struct {
	timeout time.Duration
	prefix  string
}

// Option changes a default of [New].
type Option func(*options)

// WithTimeout bounds each call. The default is 2 s; at least 10 ms. Choose it well below the
// shortest TTL. A member that does not answer within a third of it is left for another one.
func WithTimeout(d time.Duration) Option { return func(o *options) { o.timeout = d } }

// WithPrefix is what all keys begin with, before a slash and the namespace. The default is
// "solotick". A user of etcd needs the right to read and write below PREFIX/NAMESPACE/.
func WithPrefix(prefix string) Option { return func(o *options) { o.prefix = prefix } }

// New makes a store of the namespace on the etcd that config reaches: its Endpoints, TLS, Username
// and Password count, and what it says of timeouts does not. The first call connects. The namespace
// names the fleet, and matches the pattern of a name.
func New(config clientv3.Config, namespace string, opts ...Option) (*Store, error) {
	o := options{timeout: 2 * time.Second, prefix: "solotick"}
	faults := storekit.Apply("etcdlease", &o, opts)
	if strings.Trim(o.prefix, "/") == "" {
		faults = append(faults, fmt.Errorf("etcdlease: prefix %q must have more than slashes", o.prefix))
	}
	if len(config.Endpoints) == 0 {
		faults = append(faults, errors.New("etcdlease: config.Endpoints: must name a member"))
	}
	m, err := newMedium(config, strings.Trim(o.prefix, "/")+"/"+namespace+"/", o.timeout)
	if err != nil {
		faults = append(faults, err)
	}
	s, err := casstore.New("etcdlease", m, namespace, o.timeout, advice)
	if err := errors.Join(append(faults, err)...); err != nil {
		return nil, err
	}
	return &Store{s, m}, nil
}

// Close ends what goes on in the background, and the connections. Calls fail with [ErrClosed] from
// then on.
func (s *Store) Close() error {
	err := s.store.Close()
	s.medium.close()
	return err
}
