package redislease

import (
	"context"
	"fmt"
	"net"
	"reflect"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// aside is how many round trips are under way beside the lanes: renewals must not wait for anything
// else.
const aside = 2

// connections is how many that makes, to each server; Watch has one more.
const connections = lanes + aside

// poolSize does not bound the connections. It is after how many failures to connect go-redis pauses
// for a second: an outage must not last a second longer for that.
const poolSize = 4096

type dialer = func(ctx context.Context, network, addr string) (net.Conn, error)

// within bounds a dial, which may know no bound of its own, by the timeout and by the life of the
// store.
func within(life context.Context, timeout time.Duration, dial dialer) dialer {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		defer context.AfterFunc(life, cancel)()
		return dial(ctx, network, addr)
	}
}

// ownClient makes the store's client from the options of another. It differs in what the leases
// depend on.
func ownClient(life context.Context, client redis.UniversalClient, timeout time.Duration) (redis.UniversalClient, error) {
	if v := reflect.ValueOf(client); v.Kind() == reflect.Pointer && v.IsNil() {
		return nil, fmt.Errorf("redislease: client is a nil %T, must be a *redis.Client or *redis.ClusterClient", client)
	}
	switch client := client.(type) {
	case *redis.Client:
		o := *client.Options()
		o.MaxRetries = -1 // a second run of a script is ours to decide
		o.ContextTimeoutEnabled = true
		o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = timeout, timeout, timeout, timeout
		o.PoolSize, o.MaxConcurrentDials, o.MinIdleConns, o.MaxIdleConns, o.MaxActiveConns = poolSize, connections, 1, connections, 0
		o.PipelinePoolSize, o.PipelineReadBufferSize, o.PipelineWriteBufferSize = 0, 0, 0
		o.DialerRetries = 1
		if usesSentinel(&o) {
			f := newMasterFollower(within(life, timeout, withinLife(life, o.Dialer)))
			o.Dialer = f.connect
			go f.follow(life)
		} else {
			o.Dialer = within(life, timeout, o.Dialer)
		}
		o.Dialer = quietly(o.Dialer)
		o.PoolFIFO = false
		o.Limiter = nil
		o.ClientSideCache, o.ClientSideCacheConfig = nil, nil
		o.DisableIdentity = true
		o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
		return redis.NewClient(&o), nil
	case *redis.ClusterClient:
		o := *client.Options()
		o.MaxRetries, o.MaxRedirects = -1, max(o.MaxRedirects, 3)
		o.ContextTimeoutEnabled = true
		o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = timeout, timeout, timeout, timeout
		o.PoolSize, o.MaxConcurrentDials, o.MinIdleConns, o.MaxIdleConns, o.MaxActiveConns = poolSize, connections, 1, connections, 0
		o.PipelinePoolSize, o.PipelineReadBufferSize, o.PipelineWriteBufferSize = 0, 0, 0
		o.DialerRetries = 1
		if o.Dialer == nil {
			o.Dialer = redis.NewDialer(&redis.Options{DialTimeout: timeout, TLSConfig: o.TLSConfig})
		}
		o.Dialer = quietly(within(life, timeout, o.Dialer))
		o.PoolFIFO = false
		o.ReadOnly, o.RouteByLatency, o.RouteRandomly = false, false, false // a replica's answer is an old one
		o.DisableRoutingPolicies = true
		o.DisableIdentity = true
		o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
		return redis.NewClusterClient(&o), nil
	default:
		return nil, fmt.Errorf("redislease: client is a %T, must be a *redis.Client or *redis.ClusterClient", client)
	}
}

// addHook lets h see the commands where they are sent: by the clients of a Cluster's servers.
func addHook(client redis.UniversalClient, h redis.Hook) {
	if c, ok := client.(*redis.ClusterClient); ok {
		c.OnNewNode(func(node *redis.Client) { node.AddHook(h) })
		return
	}
	client.AddHook(h)
}

// quietly makes a dial that fails look like a connection that fails at once. go-redis writes each
// failed dial to a log which all clients of the process share, many times a second while Redis is
// away. That log is the application's, so it is left alone. The error itself reaches the caller
// either way.
func quietly(dial dialer) dialer {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return deadConn{&dialError{err}}, nil //nolint:nilerr // every call on it returns the error
		}
		return conn, nil
	}
}

// deadConn is a connection on which every call fails with the error of its dial.
type deadConn struct{ err error }

func (c deadConn) Read([]byte) (int, error)         { return 0, c.err }
func (c deadConn) Write([]byte) (int, error)        { return 0, c.err }
func (c deadConn) Close() error                     { return nil }
func (c deadConn) LocalAddr() net.Addr              { return deadAddr{} }
func (c deadConn) RemoteAddr() net.Addr             { return deadAddr{} }
func (c deadConn) SetDeadline(time.Time) error      { return nil }
func (c deadConn) SetReadDeadline(time.Time) error  { return nil }
func (c deadConn) SetWriteDeadline(time.Time) error { return nil }

type deadAddr struct{}

// SyscallConn reports to go-redis, which calls it before it uses an idle connection, that this one
// is dead.
func (c deadConn) SyscallConn() (syscall.RawConn, error) { return nil, c.err }

// dialError is one more layer, since go-redis removes one.
type dialError struct{ err error }

func (e *dialError) Error() string { return e.err.Error() }
func (e *dialError) Unwrap() error { return e.err }

func (deadAddr) Network() string { return "none" }
func (deadAddr) String() string  { return "not connected" }
