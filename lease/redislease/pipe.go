package redislease

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// pipe sends commands to one server. At most lanes round trips are under way at once; what is asked meanwhile waits and
// leaves together, in one pipeline, when the next one ends.
type pipe struct {
	client  redis.UniversalClient // of one server
	cluster *redis.ClusterClient  // that the server belongs to; nil when there is none
	lanes   int
	aside   chan struct{} // holds an element for each round trip beside the lanes
	timeout time.Duration

	// confirmed has everything sent in pipelines, where replicas are asked to confirm it: see [waiter].
	confirmed bool

	mu      sync.Mutex
	busy    int
	waiting []*call
}

// call is one command that waits for its turn.
type call struct {
	ctx  context.Context
	cmd  *redis.Cmd
	done chan *redis.Cmd // of size 1; gets the command that was answered
}

// most bounds a pipeline, so that one slow batch does not hold up all others for long.
const most = 256

func newPipe(client redis.UniversalClient, cluster *redis.ClusterClient, timeout time.Duration, confirmed bool) *pipe {
	return &pipe{
		client: client, cluster: cluster, lanes: lanes, aside: make(chan struct{}, aside),
		timeout: timeout, confirmed: confirmed,
	}
}

// do sends cmd and returns it, or what replaced it, when it is answered, has failed, or ctx has ended. The error is also
// the command's.
func (p *pipe) do(ctx context.Context, cmd *redis.Cmd) (*redis.Cmd, error) {
	if err := context.Cause(ctx); err != nil {
		return cmd, err
	}
	p.mu.Lock()
	if p.busy < p.lanes && len(p.waiting) == 0 && p.soon(ctx) {
		p.busy++
		p.mu.Unlock()
		cmds := []*redis.Cmd{cmd}
		ctx, cancel := context.WithTimeout(ctx, p.timeout)
		p.send(ctx, cmds)
		cancel()
		p.next()
		return cmds[0], cmds[0].Err()
	}
	c := &call{ctx: ctx, cmd: cmd, done: make(chan *redis.Cmd, 1)}
	p.waiting = append(p.waiting, c)
	if p.busy < p.lanes {
		p.busy++
		batch := p.takeLocked()
		p.mu.Unlock()
		go p.run(batch)
	} else {
		p.mu.Unlock()
	}
	select {
	case cmd = <-c.done:
		return cmd, cmd.Err()
	case <-ctx.Done():
		return cmd, context.Cause(ctx)
	}
}

// blind is for how long a call may fail to see that it is cancelled.
const blind = time.Second

// soon tells whether a call under ctx returns soon even if it is cancelled, which go-redis, unlike a deadline, does not
// see. Then it is made on the caller's goroutine: to hand it to another costs as much as the call.
func (p *pipe) soon(ctx context.Context) bool {
	if p.timeout <= blind || ctx.Done() == nil {
		return true
	}
	deadline, ok := ctx.Deadline()
	return ok && time.Until(deadline) <= blind
}

// next passes a lane on to those who wait, or gives it back.
func (p *pipe) next() {
	p.mu.Lock()
	batch := p.takeLocked()
	if batch == nil {
		p.busy--
		p.mu.Unlock()
		return
	}
	p.mu.Unlock()
	go p.run(batch)
}

// takeLocked takes those who have waited for longest. Whoever has given up is not sent any more: a claim without a
// claimer would hold its occasion for a whole term.
func (p *pipe) takeLocked() []*call {
	var batch []*call
	for len(p.waiting) > 0 && len(batch) < most {
		c := p.waiting[0]
		p.waiting[0] = nil
		p.waiting = p.waiting[1:]
		if c.ctx.Err() == nil {
			batch = append(batch, c)
		}
	}
	return batch
}

// run sends batches until none waits.
func (p *pipe) run(batch []*call) {
	for batch != nil {
		p.sendMany(batch)
		runtime.Gosched() // those who were answered may have more to ask
		p.mu.Lock()
		batch = p.takeLocked()
		if batch == nil {
			p.busy--
		}
		p.mu.Unlock()
	}
}

func (p *pipe) sendMany(batch []*call) {
	cmds := make([]*redis.Cmd, len(batch))
	for i, c := range batch {
		cmds[i] = c.cmd
	}
	ctx, cancel := context.WithTimeout(context.Background(), p.timeout)
	p.send(ctx, cmds)
	cancel()
	for i, c := range batch {
		c.done <- cmds[i]
	}
}

// sendAll sends commands beside the lanes, in as few pipelines as possible. Commands may be replaced by what was
// answered in their place; each has its own error.
func (p *pipe) sendAll(ctx context.Context, cmds []*redis.Cmd) {
	for part := range slices.Chunk(cmds, most) {
		bound, cancel := context.WithTimeout(ctx, p.timeout)
		select {
		case p.aside <- struct{}{}:
			p.send(bound, part)
			<-p.aside
		case <-bound.Done():
			for _, cmd := range part {
				cmd.SetErr(context.Cause(bound))
			}
		}
		cancel()
	}
}

// send gives a server that does not know a script its source, and takes a command to the server of the Cluster that
// keeps its key now.
func (p *pipe) send(ctx context.Context, cmds []*redis.Cmd) {
	p.exec(ctx, p.client, cmds)
	p.repeat(ctx, p.client, cmds, isNoScript, withSource)
	if p.cluster != nil && p.repeat(ctx, p.cluster, cmds, isRedirect, anew) {
		p.repeat(ctx, p.cluster, cmds, isNoScript, withSource)
	}
}

// repeat sends the commands that failed for that reason again, made anew. It reports whether there were any.
func (p *pipe) repeat(
	ctx context.Context, client redis.UniversalClient, cmds []*redis.Cmd,
	failed func(error) bool, anew func(context.Context, *redis.Cmd) *redis.Cmd,
) bool {
	var again []*redis.Cmd
	for i, c := range cmds {
		if err := c.Err(); err != nil && failed(err) {
			cmds[i] = anew(ctx, c)
			again = append(again, cmds[i])
		}
	}
	p.exec(ctx, client, again)
	return len(again) > 0
}

// exec sends commands in one pipeline; each gets its own error.
func (p *pipe) exec(ctx context.Context, client redis.UniversalClient, cmds []*redis.Cmd) {
	if len(cmds) == 0 {
		return
	}
	if len(cmds) == 1 && !p.confirmed {
		_ = client.Process(ctx, cmds[0])
	} else {
		pipeline := client.Pipeline()
		for _, c := range cmds {
			_ = pipeline.Process(ctx, c)
		}
		_, _ = pipeline.Exec(ctx)
	}
	for _, c := range cmds {
		if err := c.Err(); err != nil {
			c.SetErr(foreign(c, classified(err)))
		}
	}
}
