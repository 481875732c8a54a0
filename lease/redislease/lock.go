package redislease

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/solotick/solotick/internal/protocol"
)

var (
	//go:embed lua/lock.lua
	lockSource string
	//go:embed lua/lock_wake.lua
	lockWakeSource string
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

	lockRenewScript = newScript("#!lua flags=allow-oom", clockSource, lockSource, lockRenewSource)
	lockViewScript  = newScript("#!lua flags=no-writes,allow-oom", clockSource, lockSource, lockViewSource)

	published = newLockScripts(publishedSource)
	sharded   = newLockScripts(shardedSource) // on Cluster
)

const (
	publishedSource = "local SHARDED = false\n"
	shardedSource   = "local SHARDED = true\n"
)

// lockScripts are the scripts that notify the next waiters.
type lockScripts struct {
	claim, release, force *script
}

func newLockScripts(wake string) lockScripts {
	return lockScripts{
		claim:   newScript("#!lua", lockClaimFastSource, clockSource, lockSource, wake, lockWakeSource, lockClaimSource),
		release: newScript("#!lua flags=allow-oom", lockReleaseFastSource, clockSource, lockSource, wake, lockWakeSource, lockReleaseSource),
		force:   newScript("#!lua flags=allow-oom", clockSource, lockSource, wake, lockWakeSource, lockForceSource),
	}
}

func (s *store) lockScripts() *lockScripts {
	if s.router.cluster != nil {
		return &sharded
	}
	return &published
}

const lockPrefix = "lock:"

func (s *store) lockKey(name string) string { return Key(s.namespace, lockPrefix+name) }

// lockID is the field by which a lock knows a hold or a waiter.
func lockID(holder, request string) string { return holder + " " + request }

func (s *store) lockClaimCmd(ctx context.Context, c *protocol.LockClaim) *redis.Cmd {
	return s.lockScripts().claim.command(ctx, []string{s.lockKey(c.Name)}, lockID(c.Holder, c.Request),
		c.Permits, c.Limit, c.TTL.Microseconds(), int(c.Order), c.WaiterTTL.Microseconds(), digit(c.Notify), c.Known)
}

// ClaimLock implements [protocol.Store].
func (s *store) ClaimLock(ctx context.Context, c protocol.LockClaim) (protocol.LockAnswer, error) {
	if err := c.Validate(); err != nil {
		return protocol.LockAnswer{}, err
	}
	a, err := s.claimLock(ctx, &c)
	if err != nil {
		return protocol.LockAnswer{}, fmt.Errorf("claim %q: %w", c.Name, err)
	}
	return a, nil
}

func (s *store) claimLock(ctx context.Context, c *protocol.LockClaim) (a protocol.LockAnswer, err error) {
	id := claimID{name: c.Name, lock: true, holder: c.Holder, request: c.Request}
	if s.abandonedClaims != nil {
		if err := s.abandonedClaims.await(ctx, id); err != nil {
			return a, err
		}
	}
	if err := s.values.check(ctx); err != nil {
		return a, err
	}
	cmd, err := s.router.do(ctx, s.guard(ctx, s.lockClaimCmd(ctx, c)))
	few := short(cmd, err)
	if err != nil && !few {
		return a, err
	}
	if refused := refusal(cmd); refused != nil {
		return a, refused
	}
	a, fault := readLockAnswer(cmd, c)
	switch {
	case fault != nil:
		return a, fault
	case !few || a.Status == protocol.Held: // which wrote nothing
		return a, nil
	case a.Status == protocol.Granted:
		g := c.Grant(a)
		s.abandonedClaims.add(id, c.TTL, func(ctx context.Context) error { return s.ReleaseLock(ctx, g) })
	}
	return a, err
}

// locksPerScript is how many holds one script renews: more would hold up the other clients of the
// server.
const locksPerScript = 128

// RenewLocks implements [protocol.Store].
func (s *store) RenewLocks(ctx context.Context, grants []protocol.LockGrant) []error {
	answers := make([]error, len(grants))
	var valid []int // indices
	for i, g := range grants {
		if answers[i] = g.Validate(); answers[i] == nil {
			valid = append(valid, i)
		}
	}
	parts := s.lockParts(grants, valid)
	cmds := make([]*redis.Cmd, len(parts))
	for i, part := range parts {
		cmds[i] = s.lockRenewal(ctx, grants, part)
	}
	cmds, ended := s.router.all(ctx, cmds)
	for i, part := range parts {
		var kept []any
		var few error // of replicas
		err := ended
		if err == nil && len(part) > 1 && failsAsOne(cmds[i].Err()) {
			s.renewHalves(ctx, grants, part, answers)
			continue
		}
		if err == nil {
			if failed := cmds[i].Err(); short(cmds[i], failed) {
				few = failed
			}
			kept, err = cmds[i].Slice()
		}
		if err == nil && len(kept) != len(part) {
			err = fmt.Errorf("%w: %d answers for %d leases", errReply, len(kept), len(part))
		}
		for j, n := range part {
			switch {
			case err != nil:
				answers[n] = fmt.Errorf("renew %q: %w", grants[n].Name, err)
			case kept[j] == int64(0):
				answers[n] = protocol.ErrFenced
			case few != nil:
				answers[n] = fmt.Errorf("renew %q: %w", grants[n].Name, few)
			}
		}
	}
	return answers
}

// lockParts divides grants, by their indices, into those that one script renews: on Cluster they
// have one tag.
func (s *store) lockParts(grants []protocol.LockGrant, indices []int) (parts [][]int) {
	if s.router.cluster == nil {
		return slices.Collect(slices.Chunk(indices, locksPerScript))
	}
	var byTag [tags][]int
	for _, i := range indices {
		tag := tagOf(lockPrefix + grants[i].Name)
		byTag[tag] = append(byTag[tag], i)
	}
	for _, list := range byTag {
		parts = slices.AppendSeq(parts, slices.Chunk(list, locksPerScript))
	}
	return parts
}

// failsAsOne reports whether one lock may have failed the script of several: one that cannot be
// read, or one of a slot that moves.
func failsAsOne(err error) bool {
	return err != nil && (errors.Is(err, protocol.ErrRecord) || isRedirect(err))
}

// renewHalves renews those of the grants that part lists by two scripts: see failsAsOne.
func (s *store) renewHalves(ctx context.Context, grants []protocol.LockGrant, part []int, answers []error) {
	for half := range slices.Chunk(part, (len(part)+1)/2) {
		some := make([]protocol.LockGrant, len(half))
		for i, n := range half {
			some[i] = grants[n]
		}
		for i, err := range s.RenewLocks(ctx, some) {
			answers[half[i]] = err
		}
	}
}

// ReleaseLock implements [protocol.Store].
func (s *store) ReleaseLock(ctx context.Context, g protocol.LockGrant) error {
	if err := g.ValidateRelease(); err != nil {
		return err
	}
	cmd, few := s.router.do(ctx, s.lockReleaseCmd(ctx, g))
	err := few
	if short(cmd, few) {
		err = nil
	}
	var done int64
	if err == nil {
		done, err = cmd.Int64()
	}
	if err == nil && done == 0 {
		return protocol.ErrFenced
	}
	if err = cmp.Or(err, few); err != nil {
		return fmt.Errorf("release %q: %w", g.Name, err)
	}
	return nil
}

// lockRenewal renews those of the grants that part lists.
func (s *store) lockRenewal(ctx context.Context, grants []protocol.LockGrant, part []int) *redis.Cmd {
	keys := make([]string, len(part))
	args := make([]any, 0, 6*len(part))
	for i, n := range part {
		g := &grants[n]
		keys[i] = s.lockKey(g.Name)
		args = append(args, lockID(g.Holder, g.Request), g.Token, g.Permits, g.Limit, g.TTL.Microseconds(), digit(g.Notify))
	}
	return lockRenewScript.command(ctx, keys, args...)
}

func (s *store) lockReleaseCmd(ctx context.Context, g protocol.LockGrant) *redis.Cmd {
	return s.lockScripts().release.command(ctx, []string{s.lockKey(g.Name)}, lockID(g.Holder, g.Request), g.Token, g.Permits, g.Limit, digit(g.Pending))
}

func checkName(name string) error {
	if !protocol.ValidName(name) {
		return fmt.Errorf("redislease: name %q %s", name, protocol.NameRule)
	}
	return nil
}

func digit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// ForceRelease implements [protocol.Store].
func (s *store) ForceRelease(ctx context.Context, name string, token int64) (bool, error) {
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

// Lock implements [protocol.Store].
func (s *store) Lock(ctx context.Context, name string) (protocol.Lock, error) {
	if err := checkName(name); err != nil {
		return protocol.Lock{}, err
	}
	cmd, err := s.router.do(ctx, s.lockViewCmd(ctx, s.lockKey(name)))
	var l protocol.Lock
	if err == nil {
		l, err = readLock(name, cmd)
	}
	if err != nil {
		return protocol.Lock{}, fmt.Errorf("lock %q: %w", name, err)
	}
	return l, nil
}

func (s *store) lockViewCmd(ctx context.Context, key string) *redis.Cmd {
	return lockViewScript.command(ctx, []string{key}, protocol.MaxQueue)
}
