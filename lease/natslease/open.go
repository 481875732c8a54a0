package natslease

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
)

// Open makes a store of the namespace on the servers of a URL, with a connection of its own, such as
// nats://user:password@host:4222,host2:4222/bucket?replicas=3. The scheme tls asks for TLS. The
// bucket, and these options, may be missing:
//
//	replicas   as WithReplicas
//	max_bytes  as WithMaxBytes
//	domain     as WithDomain
//	creds      a file with the credentials of a user
//	ca         a file with the certificates of the authorities that the servers' are checked with
//	cert, key  files with a certificate of the client and its key
//
// The first call connects. An error shows no part of the URL but the names of its options.
func Open(text, namespace string, opts ...Option) (*Store, error) {
	own, settings, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("natslease: URL: %w", err)
	}
	s, err := New(nil, namespace, append(append(settings, opts...), func(o *options) { o.connection = own })...)
	if err != nil {
		return nil, err
	}
	own.dial = append(own.dial, nats.Name("solotick "+namespace), nats.Timeout(s.medium.timeout))
	return s, nil
}

// parse returns the connection that a URL asks for, and the options.
func parse(text string) (*connection, []Option, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "nats" && u.Scheme != "tls" || u.Host == "" || u.Fragment != "" {
		return nil, nil, errors.New("must be one such as nats://user:password@host:4222,host2:4222/bucket, with / and # in a password as %2F and %23")
	}
	var opts []Option
	if bucket := strings.Trim(u.Path, "/"); bucket != "" {
		opts = append(opts, WithBucket(bucket))
	}
	c := &connection{ready: make(chan struct{}), noted: make(chan struct{}), dial: []nats.Option{
		nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1), nats.ReconnectWait(100 * time.Millisecond), nats.IgnoreAuthErrorAbort(),
		nats.PingInterval(time.Second), nats.MaxPingsOutstanding(2), nats.ReconnectBufSize(-1),
	}}
	for host := range strings.SplitSeq(u.Host, ",") {
		c.servers = append(c.servers, (&url.URL{Scheme: u.Scheme, User: u.User, Host: host}).String())
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, nil, errors.New("its options cannot be read")
	}
	var faults []error
	number := func(key, value string, with func(n int64) Option) {
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			faults = append(faults, fmt.Errorf("%s must be a number", key))
			return
		}
		opts = append(opts, with(n))
	}
	for key, values := range query {
		switch value := values[0]; key {
		case "replicas":
			number(key, value, func(n int64) Option { return WithReplicas(int(n)) })
		case "max_bytes":
			number(key, value, WithMaxBytes)
		case "domain":
			opts = append(opts, WithDomain(value))
		case "creds":
			c.dial = append(c.dial, nats.UserCredentials(value))
		case "ca":
			c.dial = append(c.dial, nats.RootCAs(value))
		case "cert":
			c.dial = append(c.dial, nats.ClientCert(value, query.Get("key")))
		case "key":
		default:
			faults = append(faults, fmt.Errorf("has the option %q, must be replicas, max_bytes, domain, creds, ca, cert or key", key))
		}
	}
	return c, opts, errors.Join(faults...)
}

// connection is one to the servers: the caller's, or a store's own, which is made when it is needed
// first.
type connection struct {
	dial    []nats.Option
	servers []string

	begin sync.Once
	ready chan struct{} // nc or err is there
	nc    *nats.Conn
	err   error

	refused atomic.Pointer[error] // why there is none, as far as it is known
	noted   chan struct{}         // closed when it is for the first time
}

// theirs is a connection of the caller.
func theirs(nc *nats.Conn) *connection {
	c := &connection{ready: make(chan struct{}), nc: nc}
	c.begin.Do(func() { close(c.ready) })
	return c
}

func (c *connection) connect() {
	defer close(c.ready)
	note := func(_ *nats.Conn, err error) {
		if c.refused.Swap(&err) == nil {
			close(c.noted)
		}
	}
	c.nc, c.err = nats.Connect(strings.Join(c.servers, ","), append(c.dial, nats.ReconnectErrHandler(note),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))...)
}

// get returns the connection, once it is up.
func (c *connection) get(ctx context.Context) (*nats.Conn, error) {
	c.begin.Do(func() { go c.connect() })
	select {
	case <-c.ready:
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: %w", errDisconnected, context.Cause(ctx))
	}
	if c.err == nil && c.servers != nil && !c.nc.IsConnected() && c.nc.Stats().Reconnects == 0 {
		select { // the client keeps why the first try failed to itself, and tries again at once
		case <-c.noted:
		case <-ctx.Done():
		}
	}
	switch {
	case c.err != nil:
		return nil, c.err
	case c.nc.IsConnected():
		return c.nc, nil
	}
	return nil, c.lost()
}

// lost says why there is no connection.
func (c *connection) lost() error {
	refused := c.refused.Load()
	switch err := c.nc.LastError(); {
	case c.nc.IsClosed():
		return nats.ErrConnectionClosed
	case refused != nil:
		return fmt.Errorf("%w: %w", errDisconnected, *refused)
	case err != nil:
		return fmt.Errorf("%w: %w", errDisconnected, err)
	}
	return errDisconnected
}

// close ends a connection of the store's own.
func (c *connection) close() {
	if c.servers == nil {
		return
	}
	c.begin.Do(func() { close(c.ready) })
	if <-c.ready; c.nc != nil {
		closed := c.nc.StatusChanged(nats.CLOSED)
		c.nc.Close()
		<-closed
	}
}
