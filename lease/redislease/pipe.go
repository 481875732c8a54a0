package redislease

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// pipe sends commands. At most lanes round trips are under way at once; what is asked meanwhile waits and leaves
// together, in one pipeline, when the next one ends.
type pipe struct {
	client  redis.UniversalClient
	lanes   int
	timeout time.Duration

	mu      sync.Mutex
	busy    int
	waiting []*call
}

// call is one command that waits for its turn.
type call struct {
	cmd  *redis.Cmd
	done chan *redis.Cmd // of size 1; gets the command that was answered
}

// most bounds a pipeline, so that one slow batch does not hold up all others for long.
const most = 256

// do sends cmd and returns it, or what replaced it, when it is answered, has failed, or ctx has ended. The error is also
// the command's.
func (p *pipe) do(ctx context.Context, cmd *redis.Cmd) (*redis.Cmd, error) {
	if err := context.Cause(ctx); err != nil {
		return cmd, err
	}
	p.mu.Lock()
	if p.busy < p.lanes && len(p.waiting) == 0 && p.bounded(ctx) {
		p.busy++
		p.mu.Unlock()
		cmd = p.sendOne(ctx, cmd)
		p.next()
		return cmd, cmd.Err()
	}
	c := &call{cmd: cmd, done: make(chan *redis.Cmd, 1)}
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

// bounded tells whether a read under ctx ends when ctx does: go-redis obeys deadlines, but no cancellation.
func (p *pipe) bounded(ctx context.Context) bool {
	if ctx.Done() == nil {
		return true
	}
	deadline, ok := ctx.Deadline()
	return ok && time.Until(deadline) <= p.timeout
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

func (p *pipe) takeLocked() []*call {
	if len(p.waiting) == 0 {
		return nil
	}
	batch := p.waiting
	if len(batch) > most {
		batch = batch[:most:most]
		p.waiting = p.waiting[most:]
	} else {
		p.waiting = nil
	}
	return batch
}

// run sends batches until none waits.
func (p *pipe) run(batch []*call) {
	for batch != nil {
		p.sendMany(batch)
		p.mu.Lock()
		batch = p.takeLocked()
		if batch == nil {
			p.busy--
		}
		p.mu.Unlock()
	}
}

func (p *pipe) sendOne(ctx context.Context, cmd *redis.Cmd) *redis.Cmd {
	if err := p.client.Process(ctx, cmd); isNoScript(err) {
		cmd = withSource(ctx, cmd)
		_ = p.client.Process(ctx, cmd) // the error is the command's
	}
	return cmd
}

func (p *pipe) sendMany(batch []*call) {
	ctx, cancel := context.WithTimeout(context.Background(), p.timeout)
	defer cancel()
	cmds := make([]*redis.Cmd, len(batch))
	for i, c := range batch {
		cmds[i] = c.cmd
	}
	p.send(ctx, cmds)
	for i, c := range batch {
		c.done <- cmds[i]
	}
}

// all sends commands that belong together, in as few pipelines as possible and beside the lanes. Commands may be
// replaced by what was answered in their place; each has its own error.
func (p *pipe) all(ctx context.Context, cmds []*redis.Cmd) {
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	for len(cmds) > 0 {
		n := min(len(cmds), most)
		p.send(ctx, cmds[:n])
		cmds = cmds[n:]
	}
}

func (p *pipe) send(ctx context.Context, cmds []*redis.Cmd) {
	if len(cmds) == 1 {
		cmds[0] = p.sendOne(ctx, cmds[0])
		return
	}
	exec(ctx, p.client, cmds)
	var unknown []*redis.Cmd
	for i, c := range cmds {
		if isNoScript(c.Err()) {
			cmds[i] = withSource(ctx, c)
			unknown = append(unknown, cmds[i])
		}
	}
	if len(unknown) > 0 {
		exec(ctx, p.client, unknown)
	}
}

// exec sends commands in one pipeline; each gets its own error.
func exec(ctx context.Context, client redis.UniversalClient, cmds []*redis.Cmd) {
	pipeline := client.Pipeline()
	for _, c := range cmds {
		_ = pipeline.Process(ctx, c)
	}
	_, _ = pipeline.Exec(ctx)
}
