package redislease

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/sleep"
)

const (
	// replicaCheckInterval is more than the time between two checks by Redis for clients that have
	// waited for too long.
	replicaCheckInterval = 150 * time.Millisecond

	// minWaitingTimeout is the shortest timeout in which a question about replicas is answered
	// whatever the answer is.
	minWaitingTimeout = 2 * replicaCheckInterval
)

// maxReplicas is the greatest number of replicas that [WithReplicas] waits for.
const maxReplicas = 16

// WithReplicas makes whatever changes a record wait until n replicas of the server have it, 0 to
// 16. The default, 0, is asynchronous replication: a failover may forget the newest grants, and for
// one TTL two may then hold the same. On Cluster each server has to have so many replicas.
//
// The question (WAIT) travels behind the commands, in their pipeline, and waits for at most half of
// [WithTimeout], which must be at least 300 ms then. When fewer replicas answer in time the call
// fails with an error that matches [ErrReplicas]. A claim that was granted is released, and a
// renewal or settlement can be tried again. So a replica that is away stops grants, and in the end
// runs: have more replicas than n, or prefer that.
//
// Only n = all replicas keeps every grant through every failover, for only then has the replica
// that is promoted every confirmed write. With fewer, the one that is promoted may be one that did
// not answer.
func WithReplicas(n int) Option { return func(o *options) { o.replicas = n } }

// ErrReplicas is matched by the error of a call that fewer replicas have confirmed than
// [WithReplicas] asks for. It says how many have.
var ErrReplicas = errors.New("redislease: too few Redis replicas have confirmed the change")

// replicasError says that a server has carried out the call, and how many of its replicas have
// confirmed it.
type replicasError struct {
	Confirmed, Wanted int
	Err               error // why it is not known how many have; nil when it is
}

// unconfirmedError is the error of a change that was made, with its stamp, and that too few
// replicas have confirmed.
type unconfirmedError struct {
	error
	stamp int64
}

func (e *unconfirmedError) Unwrap() error { return e.error }

func (e *replicasError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("redislease: whether %d replicas have confirmed the write is unknown: %v", e.Wanted, e.Err)
	}
	return fmt.Sprintf("redislease: %d replicas have confirmed the write in time, %d must: look at the replicas of the server, or ask for fewer",
		e.Confirmed, e.Wanted)
}

// Is makes errors.Is(err, ErrReplicas) true.
func (e *replicasError) Is(target error) bool { return target == ErrReplicas }

// Unwrap returns why it is not known how many have confirmed the write.
func (e *replicasError) Unwrap() error { return e.Err }

// short reports whether a command was done and too few Redis replicas have confirmed it. It then
// removes that error from the command, so that its answer can be read.
func short(cmd *redis.Cmd, err error) bool {
	if !errors.Is(err, ErrReplicas) {
		return false
	}
	cmd.SetErr(nil)
	return true
}

// waiter is a hook that has the replicas confirm what a pipeline wrote. It belongs to the client of
// one server: a question on another connection would be about other writes.
type waiter struct {
	replicas int
	most     time.Duration
}

// DialHook implements [redis.Hook].
func (waiter) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook implements [redis.Hook]. What changes a record is always sent in a pipeline: see
// [pipe.exec].
func (waiter) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

// ProcessPipelineHook implements [redis.Hook].
func (w waiter) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		var writing []redis.Cmder
		for _, cmd := range cmds {
			if changesRecord(cmd) {
				writing = append(writing, cmd)
			}
		}
		if writing == nil {
			return next(ctx, cmds)
		}
		// It counts the replicas that have everything which the server had written when the command
		// before was done. That includes writes of other connections, which a repeated request only
		// finds.
		wait := redis.NewIntCmd(ctx, "wait", w.replicas, w.limit(ctx).Milliseconds())
		all := make([]redis.Cmder, 0, len(cmds)+1)
		err := next(ctx, append(append(all, cmds...), wait))
		confirmed, fault := wait.Result()
		if fault == nil && confirmed >= int64(w.replicas) {
			return err
		}
		for _, cmd := range writing {
			if cmd.Err() == nil {
				cmd.SetErr(&replicasError{Confirmed: int(confirmed), Wanted: w.replicas, Err: fault})
			}
		}
		return err
	}
}

// limit leaves the answer half of the time, and more than the 100 ms after which Redis notices that
// a limit has passed. It is never 0, which Redis takes for ever.
func (w waiter) limit(ctx context.Context) time.Duration {
	limit := w.most
	if deadline, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(deadline))
	}
	return max(min(limit/2, limit-replicaCheckInterval), time.Millisecond)
}

// changesRecord reports whether cmd calls a script that may change a record.
func changesRecord(cmd redis.Cmder) bool {
	args := cmd.Args()
	if len(args) < firstKey {
		return false
	}
	id, _ := args[1].(string)
	return recordHashes[id] || recordSources[id]
}

// Scripts are called by their hash or by their source.
var recordHashes, recordSources = func() (hashes, sources map[string]bool) {
	hashes, sources = map[string]bool{}, map[string]bool{}
	for _, s := range []*script{
		published.claim, published.release, published.force, sharded.claim, sharded.release, sharded.force,
		guardedLockClaimScript, lockRenewScript,
		growingScript, gracedScript, essentialScript,
	} {
		hashes[s.hash], sources[s.source] = true, true
	}
	return hashes, sources
}()

// abandonedClaims are the grants that nobody will hold: too few replicas have them, and the claims
// have failed. They are released in the background, since the caller may not wait any longer.
type abandonedClaims struct {
	life context.Context // of the store
	end  context.CancelFunc

	mu      sync.Mutex
	closed  bool
	pending map[claimID]chan struct{} // closed when the grant is released or has run out
	all     sync.WaitGroup
}

// claimID identifies a claim to the server.
type claimID struct {
	name            string
	lock            bool
	tick            int64
	holder, request string
}

func claimIDOf(c *protocol.Claim) claimID {
	return claimID{name: c.Name, tick: c.Tick, holder: c.Holder, request: c.Request}
}

func newAbandonedClaims() *abandonedClaims {
	u := &abandonedClaims{pending: map[claimID]chan struct{}{}}
	u.life, u.end = context.WithCancel(context.Background())
	return u
}

// add has what a claim was granted released. It is over at the latest when its TTL is.
func (u *abandonedClaims) add(id claimID, ttl time.Duration, release func(ctx context.Context) error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.closed || u.pending[id] != nil {
		return
	}
	done := make(chan struct{})
	u.pending[id] = done
	u.all.Go(func() {
		ctx, cancel := context.WithTimeout(u.life, ttl)
		defer cancel()
		giveUp(ctx, release)
		u.mu.Lock()
		delete(u.pending, id)
		u.mu.Unlock()
		close(done)
	})
}

func giveUp(ctx context.Context, release func(ctx context.Context) error) {
	const least, most = 25 * time.Millisecond, time.Second
	for failures := 0; ; failures++ {
		err := release(ctx)
		if err == nil || errors.Is(err, protocol.ErrFenced) || errors.Is(err, ErrReplicas) {
			return // released, whether or not the replicas know
		}
		if !sleep.For(ctx, sleep.Backoff(failures, least, most)) {
			return
		}
	}
}

// await waits until an earlier grant of the same claim is released. Else the same request would be
// granted a lease that is about to be released.
func (u *abandonedClaims) await(ctx context.Context, id claimID) error {
	u.mu.Lock()
	done := u.pending[id]
	u.mu.Unlock()
	if done == nil {
		return nil
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// close ends the releases that are under way and waits for them.
func (u *abandonedClaims) close() {
	u.mu.Lock()
	u.closed = true
	u.mu.Unlock()
	u.end()
	u.all.Wait()
}
