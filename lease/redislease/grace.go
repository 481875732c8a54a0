package redislease

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
)

// WithFailoverGrace has new grants refused for so long after a failover, a restart or a loss of
// data of Redis, by the server's clock. The server may not know of grants that another had made
// before. All those are over when a TTL has passed. Leases that are held can still be renewed,
// settled and released, and claims of decided ticks are answered. Any other claim fails with an
// error that matches [ErrFailover], decides nothing, and can be made again. The default, 0, is no
// grace. Otherwise it must be at least the longest TTL in use, at most 25 h, and the same on every
// replica.
//
// Each claim compares the id of the server's replication with the one that the namespace remembers.
// The id is another after a promotion or a restart, when the first Redis replica is attached, and
// an hour after the last one has gone. So there is no grant between a failover and the moment at
// which somebody notices. A namespace that is used for the first time begins with a grace, since it
// looks like one that was lost. It does not help against a master that was replaced and goes on
// granting leases to those that can reach it. For that set min-replicas-to-write on the server, or
// use [WithReplicas]. It cannot be used on Cluster.
func WithFailoverGrace(d time.Duration) Option { return func(o *options) { o.grace = d } }

// maxFailoverGrace is the longest grace of [WithFailoverGrace].
const maxFailoverGrace = 25 * time.Hour

// ErrFailover is matched by the error of a claim that is refused because of [WithFailoverGrace],
// and says for how long.
var ErrFailover = errors.New("redislease: no new grants so soon after a failover")

// failoverError says for how long claims are refused.
type failoverError struct {
	Remaining time.Duration // above 0
}

func (e *failoverError) Error() string {
	return fmt.Sprintf("redislease: Redis has failed over, was restarted or has lost data: no new grants for another %s; try again then", e.Remaining)
}

// Is makes errors.Is(err, ErrFailover) true.
func (e *failoverError) Is(target error) bool { return target == ErrFailover }

// refusal returns what a claim was refused with because of the grace, nil when it was not.
func refusal(cmd *redis.Cmd) error {
	r, ok := cmd.Val().([]any)
	if !ok || len(r) != 1 {
		return nil
	}
	return &failoverError{Remaining: time.Duration(number(r[0])) * time.Microsecond}
}

var (
	//go:embed lua/grace.lua
	graceSource string
	//go:embed lua/grace_lock.lua
	graceLockSource string

	guardedLockClaimScript = newScript("#!lua", graceSource, graceLockSource, lockClaimFastSource, clockSource, lockSource, publishedSource, lockWakeSource, lockClaimSource)
)

// guard makes the claim of a lock one that the grace may refuse.
func (s *store) guard(ctx context.Context, cmd *redis.Cmd) *redis.Cmd {
	if s.grace == 0 {
		return cmd
	}
	args := cmd.Args()
	keys := []string{args[firstKey].(string), s.fleetKey(":server")}
	return guardedLockClaimScript.command(ctx, keys, append(slices.Clone(args[firstKey+1:]), s.grace.Microseconds())...)
}
