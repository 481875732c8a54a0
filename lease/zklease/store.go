// Package zklease keeps leases in ZooKeeper, 3.6 or later.
//
// Each value is a node, changed by a transaction that compares versions. What the servers have
// confirmed is on the disks of a majority of them. A minority may fail or be cut off: clients of
// those go to another server. While there is no majority, or no leader, calls fail and are repeated
// by the caller.
//
// Leases end by elapsed time, as each process measures it: see package internal/casstore. The time
// of the fleet is the leader's.
package zklease

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/solotick/solotick/internal/casstore"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/storekit"
)

// Store is a lease.Store on ZooKeeper. It is safe for concurrent use. Close it when it is no longer
// used.
type Store struct {
	*store
	medium *medium
}

// store has the verbs.
type store = casstore.Store

type options struct {
	timeout, session time.Duration
}

// Option changes a default of [Open].
type Option func(*options)

// WithTimeout bounds each call. The default is 2 s; at least 10 ms. Choose it below the shortest
// TTL.
func WithTimeout(d time.Duration) Option { return func(o *options) { o.timeout = d } }

// WithSessionTimeout is how long the servers keep a session whose connection has broken; the default
// is 10 s, at least 100 ms. The servers have bounds of their own, mostly 4 s and 40 s. No lease
// depends on a session. A connection on which nothing comes for two thirds of it is given up.
func WithSessionTimeout(d time.Duration) Option { return func(o *options) { o.session = d } }

// Open makes a store of the namespace on the servers of the URL
// zk://user:password@host:2181,host/path. The user, the ports and the path may be left out; the
// path is /solotick then. Nodes that it makes, those of the path included, are the user's alone, or
// everybody's without one. The first call connects. The namespace names the fleet, and matches the
// pattern of a name.
func Open(url, namespace string, opts ...Option) (*Store, error) {
	o := options{timeout: 2 * time.Second, session: 10 * time.Second}
	faults := storekit.Apply("zklease", &o, opts)
	if o.session < 100*time.Millisecond {
		faults = append(faults, fmt.Errorf("zklease: session timeout %s must be at least 100ms", o.session))
	}
	where, err := parse(url)
	faults = append(faults, err)
	m := &medium{root: where.path + "/" + namespace, acl: zk.WorldACL(zk.PermAll), read: make(map[string]reading)}
	if where.user != "" {
		m.acl = zk.AuthACL(zk.PermAll)
	}
	m.link = newLink(where.addrs, where.user, o.session)
	s, err := casstore.New("zklease", m, namespace, o.timeout, advice)
	if err := errors.Join(append(faults, err)...); err != nil {
		m.link.cancel()
		return nil, err
	}
	return &Store{s, m}, nil
}

// Close ends the session. Calls fail with [ErrClosed] from then on.
func (s *Store) Close() error {
	err := s.store.Close()
	s.medium.link.close()
	return err
}

// Path returns the node that has everything of the namespace below it.
func (s *Store) Path() string { return s.medium.root }

type address struct {
	addrs []string
	user  string // user:password
	path  string
}

// parse reads a URL. Its errors show no part of it that may be a password.
func parse(text string) (a address, err error) {
	rest, ok := strings.CutPrefix(text, "zk://")
	if !ok {
		return a, errors.New("zklease: URL: must begin with zk://")
	}
	if i := strings.LastIndex(rest, "@"); i >= 0 {
		name, password, ok := strings.Cut(rest[:i], ":")
		name, nameErr := url.PathUnescape(name)
		password, passwordErr := url.PathUnescape(password)
		if !ok || name == "" || errors.Join(nameErr, passwordErr) != nil || strings.Contains(name, ":") {
			return a, errors.New("zklease: URL: before the @ must be user:password, with what is special in them written as %40")
		}
		a.user, rest = name+":"+password, rest[i+1:]
	}
	hosts, path, _ := strings.Cut(rest, "/")
	for addr := range strings.SplitSeq(hosts, ",") {
		host, port, err := net.SplitHostPort(addr)
		if err != nil {
			host, port = strings.Trim(addr, "[]"), "2181"
		}
		if host == "" || port == "" || strings.ContainsAny(host, " ?#") || strings.Trim(port, "0123456789") != "" {
			return a, fmt.Errorf("zklease: URL: server %q must be a host, or host:port", addr)
		}
		a.addrs = append(a.addrs, net.JoinHostPort(host, port))
	}
	a.path = "/solotick"
	if path = strings.TrimSuffix(path, "/"); path != "" {
		a.path = "/" + path
	}
	parts := strings.Split(a.path[1:], "/")
	if slices.ContainsFunc(parts, func(p string) bool { return !protocol.ValidName(p) }) || parts[0] == "zookeeper" {
		return a, fmt.Errorf("zklease: URL: path %q: each part %s, and the first must not be zookeeper", a.path, protocol.NameRule)
	}
	return a, nil
}
