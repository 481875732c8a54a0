package stores

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/solotick/solotick/cmd/worker/internal/exitcode"
	"github.com/solotick/solotick/config"
)

// Connection has the client options of the configured Redis. Exactly one of the four is set.
type Connection struct {
	single   *redis.Options
	Cluster  *redis.ClusterOptions
	Sentinel *redis.FailoverOptions
	Quorum   []*redis.Options
}

// Check reports whether the store of a configuration can be opened, as far as that is known without
// a connection. Errors are those of [Open].
func Check(cfg *config.Config) error {
	if scheme, url, ok := cfg.Store.Server(); ok {
		return checkServer(scheme, url, cfg.Namespace)
	}
	if !cfg.Redis.Configured() {
		return nil
	}
	_, err := newConnection(cfg)
	return err
}

// newConnection makes the client options of cfg.Redis, and reads the files that it names. It does
// not connect.
//
// The error is an *exitcode.ConfigError with every fault. It shows no part of a URL: any part can
// belong to a password that is not escaped.
func newConnection(cfg *config.Config) (*Connection, error) {
	r := &cfg.Redis
	var faults config.Errors
	secure, err := tlsConfig(r.TLS)
	if fault, ok := errors.AsType[*config.Error](err); ok {
		faults = append(faults, fault)
	}
	parse := func(field string, u config.Secret) *redis.Options {
		o, err := redis.ParseURL(u.Reveal())
		if err != nil {
			faults = append(faults, &config.Error{Field: field, Value: u.String(), Rule: "cannot be used: " +
				"what follows a ? in it must be options of go-redis, such as ?protocol=3, and a ? in a password is written %3F"})
			return nil
		}
		if r.Password.Reveal() != "" {
			o.Username, o.Password = r.Username, r.Password.Reveal()
		}
		if r.Database != 0 {
			o.DB = r.Database
		}
		if secure != nil && o.TLSConfig != nil {
			name := o.TLSConfig.ServerName // from the URL
			o.TLSConfig = secure.Clone()
			if o.TLSConfig.ServerName == "" {
				o.TLSConfig.ServerName = name
			}
		}
		return o
	}
	c := &Connection{}
	switch {
	case r.Quorum != nil:
		for i, u := range r.Quorum {
			c.Quorum = append(c.Quorum, parse(fmt.Sprintf("redis.quorum[%d]", i), u))
		}
	case r.Cluster:
		c.Cluster = &redis.ClusterOptions{Addrs: r.Addrs, Username: r.Username, Password: r.Password.Reveal(), TLSConfig: secure}
	case r.Master != "":
		c.Sentinel = &redis.FailoverOptions{
			SentinelAddrs: r.Addrs, MasterName: r.Master, Username: r.Username, Password: r.Password.Reveal(), DB: r.Database,
			SentinelUsername: r.SentinelUsername, SentinelPassword: r.SentinelPassword.Reveal(), TLSConfig: secure,
		}
	default:
		c.single = parse("redis.url", r.URL)
	}
	if len(faults) > 0 {
		return nil, &exitcode.ConfigError{Err: faults}
	}
	return c, nil
}

// tlsConfig reads the files that t names. It returns nil for nil. The error is a *config.Error.
func tlsConfig(t *config.TLS) (*tls.Config, error) {
	if t == nil {
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.ServerName}
	if t.CAFile != "" {
		text, err := os.ReadFile(t.CAFile)
		if err != nil {
			return nil, &config.Error{Field: "redis.tls.ca_file", Rule: "cannot be read: " + err.Error()}
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(text) {
			return nil, &config.Error{Field: "redis.tls.ca_file", Value: fmt.Sprintf("%q", t.CAFile), Rule: "holds no certificate in PEM"}
		}
	}
	if t.CertFile != "" {
		pair, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
		if err != nil {
			return nil, &config.Error{Field: "redis.tls.cert_file", Rule: "cannot be used with key_file: " + err.Error()}
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

// String returns the addresses, without passwords.
func (c *Connection) String() string {
	switch {
	case c.Cluster != nil:
		return "Cluster " + strings.Join(c.Cluster.Addrs, ", ")
	case c.Sentinel != nil:
		return fmt.Sprintf("%s by Sentinel %s", c.Sentinel.MasterName, strings.Join(c.Sentinel.SentinelAddrs, ", "))
	case c.Quorum != nil:
		var addrs []string
		for _, o := range c.Quorum {
			addrs = append(addrs, o.Addr)
		}
		return "quorum " + strings.Join(addrs, ", ")
	default:
		return c.single.Addr
	}
}

// failFast turns off the client's retries, so that a command fails at once.
func (c *Connection) failFast() {
	for _, o := range append([]*redis.Options{c.single}, c.Quorum...) {
		if o != nil {
			o.MaxRetries = -1
		}
	}
	if c.Cluster != nil {
		c.Cluster.MaxRetries = -1
	}
	if c.Sentinel != nil {
		c.Sentinel.MaxRetries = -1
	}
}

// setTimeouts bounds each call, dial and wait for a connection by timeout. It also turns off idle
// connections and the commands that go-redis sends by itself.
func (c *Connection) setTimeouts(timeout time.Duration) {
	for _, o := range append([]*redis.Options{c.single}, c.Quorum...) {
		if o == nil {
			continue
		}
		setServerTimeouts(o, timeout)
	}
	if o := c.Cluster; o != nil {
		o.ContextTimeoutEnabled = true
		o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = timeout, timeout, timeout, timeout
		o.DialerRetries = 1
		o.DisableIdentity = true
		o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	}
	if o := c.Sentinel; o != nil {
		o.ContextTimeoutEnabled = true
		o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = timeout, timeout, timeout, timeout
		o.DialerRetries = 1
		o.DisableIdentity = true
	}
}

func setServerTimeouts(o *redis.Options, timeout time.Duration) {
	o.ContextTimeoutEnabled = true
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = timeout, timeout, timeout, timeout
	o.DialerRetries = 1
	o.MinIdleConns = 0
	o.DisableIdentity = true
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
}

// client makes the client of a server, a Cluster or Sentinel.
func (c *Connection) client() redis.UniversalClient {
	switch {
	case c.Cluster != nil:
		return redis.NewClusterClient(c.Cluster)
	case c.Sentinel != nil:
		return redis.NewFailoverClient(c.Sentinel)
	default:
		return redis.NewClient(c.single)
	}
}

// Sentinels makes a client for each Sentinel. The caller closes them.
func (c *Connection) Sentinels() (list []*redis.SentinelClient) {
	for _, addr := range c.Sentinel.SentinelAddrs {
		f := c.Sentinel
		o := &redis.Options{Addr: addr, Username: f.SentinelUsername, Password: f.SentinelPassword, TLSConfig: f.TLSConfig, MaxRetries: -1}
		setServerTimeouts(o, f.ReadTimeout)
		list = append(list, redis.NewSentinelClient(o))
	}
	return list
}
