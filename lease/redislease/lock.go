package redislease

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/solotick/solotick/lease"
)

var (
	//go:embed lua/lock.lua
	lockSource string
	//go:embed lua/lock_wake.lua
	lockWakeSource string
	//go:embed lua/lock_wake_sharded.lua
	lockShardedWakeSource string
	//go:embed lua/lock_claim_fast.lua
	lockClaimFastSource string
	//go:embed lua/lock_claim.lua
	lockClaimSource string
	//go:embed lua/lock_renew.lua
	lockRenewSource string
	//go:embed lua/lock_release_fast.lua
	lockReleaseFastSource string
	//go:embed lua/lock_release.lua
	lockReleaseSource string
	//go:embed lua/lock_force.lua
	lockForceSource string
	//go:embed lua/lock_view.lua
	lockViewSource string

	lockRenewScript = newScript("#!lua flags=allow-oom", lockSource, lockRenewSource)
	lockViewScript  = newScript("#!lua flags=no-writes,allow-oom", lockSource, lockViewSource)

	published = newLockScripts(lockWakeSource)
	sharded   = newLockScripts(lockShardedWakeSource) // on Cluster
)

// lockScripts are those that tell whose turn it is.
type lockScripts struct {
	claim, release, force *script
}

func newLockScripts(wake string) lockScripts {
	return lockScripts{
		claim:   newScript("#!lua", lockClaimFastSource, lockSource, wake, lockClaimSource),
		release: newScript("#!lua flags=allow-oom", lockReleaseFastSource, lockSource, wake, lockReleaseSource),
		force:   newScript("#!lua flags=allow-oom", lockSource, wake, lockForceSource),
	}
}

func (s *Store) lockScripts() *lockScripts {
	if s.router.cluster != nil {
		return &sharded
	}
	return &published
}

const lockSuffix = ":lock"

func (s *Store) lockKey(name string) string { return s.key(name) + lockSuffix }

// lockID is by what a lock knows a hold or a ticket.
func lockID(holder, request string) string { return holder + " " + request }

func (s *Store) lockClaimCmd(ctx context.Context, c *lease.Claim) *redis.Cmd {
	return s.lockScripts().claim.command(ctx, []string{s.lockKey(c.Name)}, lockID(c.Holder, c.Request),
		c.Permits, c.Limit, c.Term.Microseconds(), int(c.Turn), c.Ticket.Microseconds(), digit(c.Tell))
}

// lockRenewal renews those of the grants that part lists.
func (s *Store) lockRenewal(ctx context.Context, grants []lease.Grant, part []int) *redis.Cmd {
	keys := make([]string, len(part))
	args := make([]any, 0, 6*len(part))
	for i, n := range part {
		g := &grants[n]
		keys[i] = s.lockKey(g.Name)
		args = append(args, lockID(g.Holder, g.Request), g.Token, g.Permits, g.Limit, g.Term.Microseconds(), digit(g.Tell))
	}
	return lockRenewScript.command(ctx, keys, args...)
}

func (s *Store) lockReleaseCmd(ctx context.Context, g lease.Grant) *redis.Cmd {
	return s.lockScripts().release.command(ctx, []string{s.lockKey(g.Name)}, lockID(g.Holder, g.Request), g.Token, g.Permits, g.Limit)
}

func digit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// ForceRelease implements [lease.Locker].
func (s *Store) ForceRelease(ctx context.Context, name string, token int64) (bool, error) {
	if err := checkName(name); err != nil {
		return false, err
	}
	cmd, err := s.router.do(ctx, s.lockScripts().force.command(ctx, []string{s.lockKey(name)}, token))
	var held int64
	if err == nil {
		held, err = cmd.Int64()
	}
	if err != nil {
		return false, fmt.Errorf("force release of %q: %w", name, err)
	}
	return held == 1, nil
}

// Lock implements [lease.Locker].
func (s *Store) Lock(ctx context.Context, name string) (lease.Lock, error) {
	if err := checkName(name); err != nil {
		return lease.Lock{}, err
	}
	s.interest.note(name, lookedAt)
	cmd, err := s.router.do(ctx, s.lockViewCmd(ctx, s.lockKey(name)))
	var l lease.Lock
	if err == nil {
		l, err = readLock(name, cmd)
	}
	if err != nil {
		return lease.Lock{}, fmt.Errorf("lock %q: %w", name, err)
	}
	return l, nil
}

func (s *Store) lockViewCmd(ctx context.Context, key string) *redis.Cmd {
	return lockViewScript.command(ctx, []string{key}, lease.MaxLine)
}
