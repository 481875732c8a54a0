package redislease

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/solotick/solotick/lease/driver"
)

// opsPerScript is how many operations one script carries out: more would save nothing, and hold up
// the other clients of the server.
const opsPerScript = 64

// renewalsPerScript is the same for renewals, which take Redis half as long as other operations.
const renewalsPerScript = 128

// opCall is one operation on a value, and its result.
type opCall struct {
	ctx    context.Context
	op     driver.Op
	exists bool // it only asks whether there is a value
	// confirm makes it fail when too few replicas have confirmed the present value, whatever the
	// result.
	confirm bool
	key     string
	tag     int // keys of one tag are in one slot
	result  driver.Result
	group   *opGroup // nil: nobody waits for it
}

// opGroup are the operations of one call.
type opGroup struct {
	remaining atomic.Int32
	done      chan struct{} // closed when all are answered
}

// groupOf makes a group of operations.
func groupOf(calls []*opCall) *opGroup {
	g := &opGroup{done: make(chan struct{})}
	g.remaining.Store(int32(len(calls)))
	for _, c := range calls {
		c.group = g
	}
	return g
}

func (c *opCall) answer(r driver.Result) {
	c.result = r
	if c.group != nil && c.group.remaining.Add(-1) == 0 {
		close(c.group.done)
	}
}

func (c *opCall) fail(err error) { c.answer(driver.Result{Err: err}) }

// kind is which script carries an operation out.
func (c *opCall) kind() opKind {
	op := c.op
	switch {
	case op.Renew != nil:
		return renewalOp
	case op.Change != nil && op.Change.Essential:
		return essentialOp
	case op.Change != nil, op.Append != nil:
		return growingOp
	}
	return readOp
}

type opKind int

const (
	renewalOp   opKind = iota // works when the server is out of memory
	essentialOp               // works so, too
	readOp
	growingOp
	opKinds
)

// perScript is how many operations of that kind one script carries out.
func (k opKind) perScript() int {
	if k == renewalOp {
		return renewalsPerScript
	}
	return opsPerScript
}

// opScripts make commands of operations.
type opScripts struct {
	scripts [opKinds]*script
	channel string // on which notifications are published
	// With a grace, growingOp has one more key and one more argument: see lua/grace.lua.
	graceKey string
	grace    time.Duration
}

// sentScript is a command and the operations that it carries out.
type sentScript struct {
	cmd *redis.Cmd
	ops []*opCall
}

// pack makes commands of operations: of those of one kind and, on Cluster, of one tag together.
func (s *opScripts) pack(ctx context.Context, ops []*opCall, byTag bool) []sentScript {
	type group struct {
		kind opKind
		tag  int
	}
	groupOf := func(c *opCall) group {
		if byTag {
			return group{c.kind(), c.tag}
		}
		return group{kind: c.kind()}
	}
	mixed := slices.ContainsFunc(ops, func(c *opCall) bool { return groupOf(c) != groupOf(ops[0]) })
	if mixed {
		slices.SortStableFunc(ops, func(a, b *opCall) int {
			x, y := groupOf(a), groupOf(b)
			if x.kind != y.kind {
				return int(x.kind - y.kind)
			}
			return x.tag - y.tag
		})
	}
	var packed []sentScript
	for len(ops) > 0 {
		n, first := 1, groupOf(ops[0])
		for n < len(ops) && n < first.kind.perScript() && groupOf(ops[n]) == first {
			n++
		}
		packed = append(packed, sentScript{s.command(ctx, ops[:n]), ops[:n]})
		ops = ops[n:]
	}
	return packed
}

// command makes one command of operations of one kind.
func (s *opScripts) command(ctx context.Context, ops []*opCall) *redis.Cmd {
	kind := ops[0].kind()
	graced := kind == growingOp && s.grace > 0
	keys := len(ops)
	if graced {
		keys++
	}
	list := argumentsPool.Get().(*arguments)
	defer argumentsPool.Put(list)
	list.text, list.list = list.text[:0], list.list[:0]
	for _, c := range ops {
		s.addOp(list, c)
	}
	if graced {
		list.number(s.grace.Microseconds())
	}
	args := make([]any, 0, firstKey+keys+len(list.list))
	args = append(args, "evalsha", s.scripts[kind].hash, keys)
	for _, c := range ops {
		args = append(args, c.key)
	}
	if graced {
		args = append(args, s.graceKey)
	}
	return newCommand(ctx, list.appendTo(args))
}

// answer gives each operation its result.
func (s sentScript) answer() {
	err := s.cmd.Err()
	few := short(s.cmd, err)
	var answers []any
	if err == nil || few {
		var fault error
		if answers, fault = s.cmd.Slice(); fault != nil {
			err, few = fault, false
		} else if len(answers) != 1+len(s.ops) {
			err, few = errReply, false
		}
	}
	if err != nil && !few {
		for _, c := range s.ops {
			c.fail(err)
		}
		return
	}
	now := time.UnixMicro(number(answers[0])).UTC()
	for i, c := range s.ops {
		r := readResult(c, now, answers[1+i])
		switch {
		case r.Err != nil:
			r.Err = ofKey(c.key, r.Err)
		case few && c.confirm:
			r = driver.Result{Err: err}
		case few && r.Status == driver.Done && c.kind() != readOp:
			r = driver.Result{Err: &unconfirmedError{err, r.Version.Stamp}}
		}
		c.answer(r)
	}
}

// sendOps sends operations, and commands beside them, in one pipeline.
func (p *pipe) sendOps(ctx context.Context, b batch) {
	sent := p.scripts.pack(ctx, b.ops, p.cluster != nil)
	cmds := make([]*redis.Cmd, 0, len(sent)+len(b.calls))
	for _, s := range sent {
		cmds = append(cmds, s.cmd)
	}
	for _, c := range b.calls {
		cmds = append(cmds, c.cmd)
	}
	p.exec(ctx, p.client, cmds)
	p.repeat(ctx, p.client, cmds, isNoScript, withSource)
	for i, c := range b.calls {
		if p.cluster != nil {
			p.redirect(ctx, cmds[len(sent)+i:len(sent)+i+1])
		}
		c.done <- cmds[len(sent)+i]
	}
	for i, s := range sent {
		s.cmd = cmds[i]
		if err := s.cmd.Err(); p.cluster != nil && err != nil && isRedirect(err) {
			p.sendApart(ctx, s.ops)
			continue
		}
		s.answer()
	}
}

// sendApart sends operations of a slot that moves, each by itself. While it moves, a server answers
// none that name keys of which some are here and some are there.
func (p *pipe) sendApart(ctx context.Context, ops []*opCall) {
	cmds := make([]*redis.Cmd, len(ops))
	for i := range ops {
		cmds[i] = p.scripts.command(ctx, ops[i:i+1])
	}
	p.exec(ctx, p.cluster, cmds)
	p.repeat(ctx, p.cluster, cmds, isNoScript, withSource)
	for i := range ops {
		sentScript{cmds[i], ops[i : i+1]}.answer()
	}
}

// doOps carries operations out, on the caller's goroutine if that is quicker; see [router.doOps].
func (p *pipe) doOps(ctx context.Context, calls []*opCall) error {
	p.mu.Lock()
	lane, ok := p.enterLocked(ctx, len(calls))
	p.mu.Unlock()
	if !ok {
		group := groupOf(calls)
		p.queue(calls)
		return group.await(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	p.sendOps(ctx, batch{ops: calls})
	cancel()
	p.leave(lane)
	return nil
}

// queue has operations sent. Renewals go beside the lanes, as they must not wait for anything else.
// All other go by the next lane that is free, those first that end something.
func (p *pipe) queue(calls []*opCall) {
	if !slices.ContainsFunc(calls, func(c *opCall) bool { return c.op.Renew == nil }) {
		go p.beside(calls)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range calls {
		if c.kind() <= essentialOp {
			p.urgent = append(p.urgent, c)
		} else {
			p.ops = append(p.ops, c)
		}
	}
	p.startLocked()
}

// beside sends operations beside the lanes.
func (p *pipe) beside(calls []*opCall) {
	for part := range slices.Chunk(calls, most) {
		ctx, cancel := context.WithTimeout(context.Background(), p.timeout)
		select {
		case p.aside <- struct{}{}:
			p.sendOps(ctx, batch{ops: part})
			<-p.aside
		case <-ctx.Done():
			for _, c := range part {
				c.fail(context.Cause(ctx))
			}
		}
		cancel()
	}
}

func (g *opGroup) await(ctx context.Context) error {
	select {
	case <-g.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
