package redislease

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// lanes is how many round trips the store has under way at once. More would not be faster, since what waits travels
// together; fewer would let one hanging connection stop everything.
const lanes = 4

// poolSize leaves renewals, which travel beside the lanes, a connection each.
const poolSize = lanes + 2

type dialer func(ctx context.Context, network, addr string) (net.Conn, error)

func within(timeout time.Duration, dial dialer) dialer {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		return dial(ctx, network, addr)
	}
}

// ownClient makes the store's client from the options of another. It differs in what the leases depend on.
func ownClient(client redis.UniversalClient, timeout time.Duration) (own redis.UniversalClient, cluster bool, err error) {
	switch client := client.(type) {
	case *redis.Client:
		o := *client.Options()
		o.MaxRetries = -1 // a second run of a script is ours to decide
		o.ContextTimeoutEnabled = true
		o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = timeout, timeout, timeout, timeout
		o.PoolSize, o.MinIdleConns, o.MaxIdleConns, o.MaxActiveConns = poolSize, 1, 0, 0
		o.DialerRetries = 1
		o.Dialer = within(timeout, o.Dialer) // it knows the other client's timeout only
		o.PoolFIFO = false
		o.Limiter = nil
		o.DisableIdentity = true
		o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
		return redis.NewClient(&o), false, nil
	case *redis.ClusterClient:
		o := *client.Options()
		o.MaxRetries, o.MaxRedirects = -1, max(o.MaxRedirects, 3)
		o.ContextTimeoutEnabled = true
		o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = timeout, timeout, timeout, timeout
		o.PoolSize, o.MinIdleConns, o.MaxIdleConns, o.MaxActiveConns = poolSize, 1, 0, 0
		o.PoolFIFO = false
		o.ReadOnly, o.RouteByLatency, o.RouteRandomly = false, false, false // a replica's answer is an old one
		o.DisableIdentity = true
		o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
		return redis.NewClusterClient(&o), true, nil
	default:
		return nil, false, fmt.Errorf("redislease: client is a %T, must be a *redis.Client or *redis.ClusterClient", client)
	}
}
