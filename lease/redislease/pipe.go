package redislease

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/solotick/solotick/internal/contact"
	"github.com/solotick/solotick/internal/sleep"
	"github.com/solotick/solotick/internal/steady"
)

// pipe sends commands to one server. At most lanes round trips are under way at once; commands that
// come meanwhile wait and leave together, in one pipeline.
type pipe struct {
	client  redis.UniversalClient // of one server
	cluster *redis.ClusterClient  // that the server belongs to; nil when there is none
	aside   chan struct{}         // holds an element for each round trip beside the lanes
	timeout time.Duration
	limits  *sleep.Timeout // of round trips: at least the timeout

	// confirmed has everything sent in pipelines, where replicas are asked to confirm it: see
	// [waiter].
	confirmed bool

	// scripts make one command of many operations on values.
	scripts *opScripts
	contact *contact.Contact

	mu      sync.Mutex
	traffic traffic
	overdue *time.Timer // sends what waits for a round trip that hangs; nil before the first
	armed   bool        // overdue is set
	waiting []*call
	urgent  []*opCall // operations that go first: they end or keep something
	ops     []*opCall
}

// batch has the commands of one round trip.
type batch struct {
	calls []*call
	ops   []*opCall
}

func (b *batch) size() int { return len(b.calls) + len(b.ops) }

// clear empties the batch.
func (b *batch) clear() {
	clear(b.calls)
	clear(b.ops)
	b.calls, b.ops = b.calls[:0], b.ops[:0]
}

// batches are those that are not in use.
var batches = sync.Pool{New: func() any { return new(batch) }}

// call is one command that waits to be sent.
type call struct {
	ctx  context.Context
	cmd  *redis.Cmd
	done chan *redis.Cmd // of size 1; gets the command that was answered
}

// most bounds a pipeline, so that one slow batch does not hold up all others for long.
const most = 256

func newPipe(client redis.UniversalClient, cluster *redis.ClusterClient, timeout time.Duration, confirmed bool, scripts *opScripts) *pipe {
	return &pipe{
		client: client, cluster: cluster, aside: make(chan struct{}, aside),
		timeout: timeout, limits: sleep.NewTimeout(timeout * 8 / 7), confirmed: confirmed, scripts: scripts, contact: contact.New(mostGap),
	}
}

// do sends cmd and returns it, or what replaced it, when it is answered, has failed, or ctx has
// ended. The error is also the command's.
func (p *pipe) do(ctx context.Context, cmd *redis.Cmd) (*redis.Cmd, error) {
	if err := context.Cause(ctx); err != nil {
		return cmd, err
	}
	p.mu.Lock()
	if lane, ok := p.enterLocked(ctx, 1); ok {
		p.mu.Unlock()
		cmds := []*redis.Cmd{cmd}
		p.send(p.bound(ctx), cmds)
		p.leave(lane)
		return cmds[0], cmds[0].Err()
	}
	c := &call{ctx: ctx, cmd: cmd, done: make(chan *redis.Cmd, 1)}
	p.waiting = append(p.waiting, c)
	p.startLocked()
	p.mu.Unlock()
	select {
	case cmd = <-c.done:
		return cmd, cmd.Err()
	case <-ctx.Done():
		return cmd, context.Cause(ctx)
	}
}

// bound returns the context of a round trip that is made on the caller's goroutine.
func (p *pipe) bound(ctx context.Context) context.Context {
	limit := p.limits.Context(time.Now())
	if end, ok := ctx.Deadline(); ok {
		if latest, _ := limit.Deadline(); end.Before(latest) {
			return ctx
		}
	}
	return bounded{limit, ctx}
}

// bounded ends at a limit, and has the values of the caller's context, which hooks may look for.
type bounded struct {
	context.Context
	caller context.Context
}

func (b bounded) Value(key any) any { return b.caller.Value(key) }

// cancelLatency is for how long a call may fail to see that it is cancelled.
const cancelLatency = time.Second

// soon reports whether a call under ctx returns soon even if it is cancelled, which go-redis,
// unlike a deadline, does not see. Then it is made on the caller's goroutine: to hand it to another
// costs as much as the call.
func (p *pipe) soon(ctx context.Context) bool {
	if p.timeout <= cancelLatency || ctx.Done() == nil {
		return true
	}
	deadline, ok := ctx.Deadline()
	return ok && time.Until(deadline) <= cancelLatency
}

// enterLocked takes a lane for a caller that may send so much at once, by itself: nothing waits
// before it.
func (p *pipe) enterLocked(ctx context.Context, size int) (lane int, ok bool) {
	now := time.Now()
	if p.waitingLocked() > 0 || p.traffic.share(size, now) < size || !p.soon(ctx) {
		return 0, false
	}
	lane, _ = p.traffic.free()
	p.traffic.flights[lane] = flight{size: size, began: now}
	return lane, true
}

func (p *pipe) waitingLocked() int { return len(p.waiting) + len(p.urgent) + len(p.ops) }

// startLocked has what waits sent if it is to leave now. What stays leaves with the next, or before
// long.
func (p *pipe) startLocked() {
	for {
		b := batches.Get().(*batch)
		lane, ok := p.boardLocked(b)
		if !ok {
			batches.Put(b)
			return
		}
		go p.run(lane, b)
	}
}

// boardLocked takes a lane for those that are to leave now, if there are any.
func (p *pipe) boardLocked(b *batch) (lane int, ok bool) {
	if p.waitingLocked() == 0 {
		return 0, false
	}
	now := time.Now()
	for b.size() == 0 {
		n := p.traffic.share(p.waitingLocked(), now)
		if n == 0 {
			p.armLocked()
			return 0, false
		}
		p.takeLocked(b, n)
	}
	lane, _ = p.traffic.free()
	p.traffic.flights[lane] = flight{size: b.size(), began: now}
	return lane, true
}

// armLocked sees to it that what waits does not wait for a round trip that hangs.
func (p *pipe) armLocked() {
	if _, free := p.traffic.free(); p.armed || !free || p.waitingLocked() == 0 {
		return
	}
	p.armed = true
	if p.overdue != nil {
		p.overdue.Reset(leastHang)
		return
	}
	p.overdue = time.AfterFunc(leastHang, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.armed = false
		p.startLocked()
	})
}

// leave gives a lane back.
func (p *pipe) leave(lane int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.traffic.flights[lane] = flight{}
	p.startLocked()
}

// takeLocked takes what has waited for longest, urgent operations first. A call whose caller has
// given up is not sent any more: a claim without a claimer would hold its tick for a whole TTL.
func (p *pipe) takeLocked(b *batch, n int) {
	b.ops = takeOps(b.ops, &p.urgent, n)
	taken := 0
	for _, c := range p.waiting {
		if b.size() == n {
			break
		}
		if taken++; c.ctx.Err() == nil {
			b.calls = append(b.calls, c)
		}
	}
	p.waiting = slices.Delete(p.waiting, 0, taken)
	b.ops = takeOps(b.ops, &p.ops, n-len(b.calls))
}

func takeOps(batch []*opCall, queue *[]*opCall, n int) []*opCall {
	taken := 0
	for _, c := range *queue {
		if len(batch) >= n {
			break
		}
		if taken++; c.ctx.Err() == nil {
			batch = append(batch, c)
		} else {
			c.fail(context.Cause(c.ctx))
		}
	}
	*queue = slices.Delete(*queue, 0, taken)
	return batch
}

// run sends batches on a lane until nothing is to leave.
func (p *pipe) run(lane int, b *batch) {
	for more := true; more; {
		p.sendBatch(b)
		b.clear()
		runtime.Gosched() // those that were answered may have more to ask
		p.mu.Lock()
		p.traffic.flights[lane] = flight{}
		lane, more = p.boardLocked(b)
		p.startLocked()
		p.mu.Unlock()
	}
	batches.Put(b)
}

func (p *pipe) sendBatch(b *batch) {
	ctx := p.limits.Context(time.Now())
	if len(b.ops) > 0 {
		p.sendOps(ctx, b.ops, b.calls)
		return
	}
	cmds := make([]*redis.Cmd, len(b.calls))
	for i, c := range b.calls {
		cmds[i] = c.cmd
	}
	p.send(ctx, cmds)
	for i, c := range b.calls {
		c.done <- cmds[i]
	}
}

// sendAll sends commands beside the lanes, in as few pipelines as possible. Commands may be
// replaced by those that were answered in their place; each has its own error.
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

// send gives a server that does not know a script its source. It takes a command to the server of
// the Cluster that keeps its key now.
func (p *pipe) send(ctx context.Context, cmds []*redis.Cmd) {
	p.exec(ctx, p.client, cmds)
	p.repeat(ctx, p.client, cmds, isNoScript, withSource)
	if p.cluster != nil {
		p.redirect(ctx, cmds)
	}
}

// redirect sends what another server of the Cluster keeps now to that one.
func (p *pipe) redirect(ctx context.Context, cmds []*redis.Cmd) {
	if p.repeat(ctx, p.cluster, cmds, isRedirect, again) {
		p.repeat(ctx, p.cluster, cmds, isNoScript, withSource)
	}
}

// repeat sends the commands that failed for that reason, rebuilt. It reports whether there were
// any.
func (p *pipe) repeat(
	ctx context.Context, client redis.UniversalClient, cmds []*redis.Cmd,
	failed func(error) bool, rebuild func(context.Context, *redis.Cmd) *redis.Cmd,
) bool {
	var again []*redis.Cmd
	for i, c := range cmds {
		if err := c.Err(); err != nil && failed(err) {
			cmds[i] = rebuild(ctx, c)
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
	sent := steady.Now()
	if len(cmds) == 1 && !p.confirmed {
		_ = client.Process(ctx, cmds[0])
	} else {
		pipeline := client.Pipeline()
		for _, c := range cmds {
			_ = pipeline.Process(ctx, c)
		}
		_, _ = pipeline.Exec(ctx)
	}
	if p.cluster != nil && client == p.client && slices.ContainsFunc(cmds, answered) {
		p.contact.Answered(sent, steady.Now())
	}
	for _, c := range cmds {
		if err := c.Err(); err != nil {
			c.SetErr(foreign(c, classified(err)))
		}
	}
}
