package redislease

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/solotick/solotick/internal/steady"
)

// router finds the pipe to the server that keeps a record: there is one pipe, or, on Cluster, one
// to each server. What goes to one server waits for no other, so that a server that hangs harms the
// leases that it keeps and no more.
type router struct {
	timeout   time.Duration
	confirmed bool                 // see [pipe]
	scripts   *opScripts           // see [pipe]
	only      *pipe                // nil on Cluster
	cluster   *redis.ClusterClient // nil but on Cluster
	found     atomic.Bool          // the servers of the Cluster are known

	mu    sync.Mutex
	pipes map[*redis.Client]*pipe
}

func newRouter(client redis.UniversalClient, timeout time.Duration, confirmed bool, scripts *opScripts) *router {
	r := &router{timeout: timeout, confirmed: confirmed, scripts: scripts, pipes: make(map[*redis.Client]*pipe)}
	if c, ok := client.(*redis.ClusterClient); ok {
		r.cluster = c
	} else {
		r.only = newPipe(client, nil, timeout, confirmed, scripts)
	}
	return r
}

// do sends cmd to where it belongs. See [pipe.do].
func (r *router) do(ctx context.Context, cmd *redis.Cmd) (*redis.Cmd, error) {
	p, err := r.pipe(ctx, cmd)
	if err != nil {
		return cmd, classified(err)
	}
	cmd, err = p.do(ctx, cmd)
	r.refresh(err)
	return cmd, err
}

// all sends commands that belong together, in as few pipelines as possible and beside the lanes. It
// returns the commands that were answered in their place, each with its own error, or the reason
// why ctx has ended.
func (r *router) all(ctx context.Context, cmds []*redis.Cmd) ([]*redis.Cmd, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	return await(ctx, func() ([]*redis.Cmd, error) {
		r.sendAll(ctx, cmds)
		return cmds, nil
	})
}

// await returns what f returns, or the reason why ctx has ended if that comes first.
func await[T any](ctx context.Context, f func() (T, error)) (result T, err error) {
	if ctx.Done() == nil {
		return f()
	}
	type answer struct {
		result T
		err    error
	}
	answers := make(chan answer, 1)
	go func() {
		result, err := f()
		answers <- answer{result, err}
	}()
	select {
	case a := <-answers:
		return a.result, a.err
	case <-ctx.Done():
		return result, context.Cause(ctx)
	}
}

func (r *router) sendAll(ctx context.Context, cmds []*redis.Cmd) {
	if r.only != nil {
		r.only.sendAll(ctx, cmds)
		return
	}
	parts := make(map[*pipe][]int)
	for i, cmd := range cmds {
		p, err := r.pipe(ctx, cmd)
		if err != nil {
			cmd.SetErr(err)
			continue
		}
		parts[p] = append(parts[p], i)
	}
	var sent sync.WaitGroup
	for p, indices := range parts {
		sent.Go(func() {
			part := make([]*redis.Cmd, len(indices))
			for i, n := range indices {
				part[i] = cmds[n]
			}
			p.sendAll(ctx, part)
			for i, n := range indices {
				cmds[n] = part[i]
				r.refresh(part[i].Err())
			}
		})
	}
	sent.Wait()
}

// pipe finds the pipe for the record that cmd is about.
func (r *router) pipe(ctx context.Context, cmd *redis.Cmd) (*pipe, error) {
	if r.only != nil {
		return r.only, nil
	}
	node, err := r.node(ctx, cmd.Args()[firstKey].(string))
	if err != nil {
		return nil, err
	}
	return r.pipeTo(node), nil
}

// pipeTo is the pipe to a server of the Cluster.
func (r *router) pipeTo(node *redis.Client) *pipe {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.pipes[node]
	if p == nil {
		p = newPipe(node, r.cluster, r.timeout, r.confirmed, r.scripts)
		r.pipes[node] = p
	}
	return p
}

func (r *router) node(ctx context.Context, key string) (*redis.Client, error) {
	if r.found.Load() {
		return r.cluster.MasterForKey(ctx, key)
	}
	return await(ctx, func() (*redis.Client, error) { // only at first it has to ask, and then it would not see that ctx is cancelled
		ctx, cancel := context.WithTimeout(ctx, r.timeout)
		defer cancel()
		node, err := r.cluster.MasterForKey(ctx, key)
		r.found.CompareAndSwap(false, err == nil)
		return node, err
	})
}

// refresh looks again for the servers of a Cluster when one of them has failed: another may have
// taken its place.
func (r *router) refresh(err error) {
	if r.cluster != nil && err != nil {
		r.cluster.ReloadState(context.Background()) // in the background, and no more than five times a second
	}
}

// doOps carries operations out, each where its key belongs, and returns when all are answered; or,
// when ctx ends before, why it has.
func (r *router) doOps(ctx context.Context, calls []*opCall) error {
	if r.only != nil {
		return r.only.doOps(ctx, calls)
	}
	group := groupOf(calls)
	parts := make(map[*pipe][]*opCall)
	for _, c := range calls {
		node, err := r.node(ctx, c.key())
		if err != nil {
			c.fail(classified(err))
			continue
		}
		p := r.pipeTo(node)
		parts[p] = append(parts[p], c)
	}
	for p, part := range parts {
		p.queue(part)
	}
	if err := group.await(ctx); err != nil {
		return err
	}
	for _, c := range calls {
		r.refresh(c.result.Err)
	}
	return nil
}

// mostGap is the longest gap between answers of a server of a Cluster that its users allow.
const mostGap = time.Minute

// answered reports whether a server has answered a command, be it with an error.
func answered(cmd *redis.Cmd) bool {
	err := cmd.Err()
	var of redis.Error
	return err == nil || errors.As(err, &of)
}

// ReachedSince implements [protocol.Store]. A store that is no Cluster answers as a whole.
func (s *store) ReachedSince(name string, gap time.Duration) (since, until steady.Instant, ok bool) {
	if s.router.cluster == nil {
		return 0, 0, true
	}
	if !s.router.found.Load() {
		return 0, 0, false
	}
	node, err := s.router.cluster.MasterForKey(context.Background(), Key(s.namespace, name))
	if err != nil {
		return 0, 0, false
	}
	p := s.router.pipeTo(node)
	p.contact.Limit(gap)
	return p.contact.Since(steady.Now())
}

// probe asks the servers of a Cluster that have not answered for a while, so that a gap in their
// answers shows that they were away. It waits for none.
func (r *router) probe() {
	if r.cluster == nil {
		return
	}
	r.mu.Lock()
	pipes := slices.Collect(maps.Values(r.pipes))
	r.mu.Unlock()
	for _, p := range pipes {
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), r.timeout)
			defer cancel()
			_, _ = p.do(ctx, redis.NewCmd(ctx, "ping"))
		}()
	}
}
