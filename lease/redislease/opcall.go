package redislease

import (
	"cmp"
	"context"
	"slices"
	"sync"
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
	prefix  string // of the key
	tag     int    // keys of one tag are in one slot
	index   int    // the number, among the keys of the script, of the first of its indexes
	result  driver.Result
	group   *opGroup // nil: nobody waits for it
}

// key returns the key of Redis.
func (c *opCall) key() string { return c.prefix + c.op.Key }

// indexed returns the two names of the key of a change that has a place in an index.
func (c *opCall) indexed() (job, member string, ok bool) {
	if c.op.Change == nil {
		return "", "", false
	}
	return driver.CutKey(c.op.Key)
}

// listed reports whether the key of a change that has a place in an index comes or goes.
func (c *opCall) listed() bool {
	return c.op.Change.Data == nil || c.op.Change.From == driver.Version{}
}

// keys returns the keys of Redis that an operation may change.
func (c *opCall) keys() []string { return c.appendIndexes([]string{c.key()}) }

// appendIndexes appends those of them that are sorted sets.
func (c *opCall) appendIndexes(list []string) []string {
	if job, _, ok := c.indexed(); ok {
		if list = append(list, indexKey(c.prefix, job, driver.ShareOf(c.op.Key))); c.listed() {
			list = append(list, namesKey(c.prefix, job))
		}
	}
	return list
}

// opGroup are the operations of one call.
type opGroup struct {
	remaining atomic.Int32
	done      chan struct{} // of size 1; gets an element when all are answered
}

// opGroups are those for which nobody waits any more.
var opGroups = sync.Pool{New: func() any { return &opGroup{done: make(chan struct{}, 1)} }}

// groupOf makes a group of operations. Call await once.
func groupOf(calls []*opCall) *opGroup {
	g := opGroups.Get().(*opGroup)
	g.remaining.Store(int32(len(calls)))
	for _, c := range calls {
		c.group = g
	}
	return g
}

// await returns when all operations are answered, or why ctx has ended.
func (g *opGroup) await(ctx context.Context) error {
	select {
	case <-g.done:
		opGroups.Put(g)
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// answer sets the result. Its caller does not look at c after that: c may be in use again.
func (c *opCall) answer(r driver.Result) {
	c.result = r
	if g := c.group; g != nil && g.remaining.Add(-1) == 0 {
		g.done <- struct{}{}
	}
}

func (c *opCall) fail(err error) { c.answer(driver.Result{Err: err}) }

// kind is which script carries an operation out.
func (c *opCall) kind() opKind {
	op := &c.op
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

// sentScript is a command, the operations that it carries out, and its arguments.
type sentScript struct {
	cmd  *redis.Cmd
	ops  []*opCall
	args *arguments
}

// opGrouping is what operations of one script have in common.
type opGrouping struct {
	kind opKind
	tag  int // 0 but on Cluster
}

func groupingOf(c *opCall, byTag bool) opGrouping {
	if byTag {
		return opGrouping{c.kind(), c.tag}
	}
	return opGrouping{kind: c.kind()}
}

// pack makes commands of operations: of those of one kind and, on Cluster, of one tag together. It
// appends them to packed.
func (s *opScripts) pack(ctx context.Context, packed []sentScript, ops []*opCall, byTag bool) []sentScript {
	mixed := slices.ContainsFunc(ops, func(c *opCall) bool { return groupingOf(c, byTag) != groupingOf(ops[0], byTag) })
	if mixed {
		slices.SortStableFunc(ops, func(a, b *opCall) int {
			x, y := groupingOf(a, byTag), groupingOf(b, byTag)
			return cmp.Or(cmp.Compare(x.kind, y.kind), cmp.Compare(x.tag, y.tag))
		})
	}
	for len(ops) > 0 {
		n, first := 1, groupingOf(ops[0], byTag)
		for n < len(ops) && n < first.kind.perScript() && groupingOf(ops[n], byTag) == first {
			n++
		}
		packed = append(packed, s.script(ctx, ops[:n]))
		ops = ops[n:]
	}
	return packed
}

// script makes one command of operations of one kind.
func (s *opScripts) script(ctx context.Context, ops []*opCall) sentScript {
	kind := ops[0].kind()
	graced := kind == growingOp && s.grace > 0
	list := argumentsPool.Get().(*arguments)
	for _, c := range ops {
		list.join(c.prefix, c.op.Key)
	}
	var indexes [2]string
	for _, c := range ops {
		c.index = len(list.list) + 1
		for _, index := range c.appendIndexes(indexes[:0]) {
			list.add(index)
		}
	}
	if graced {
		list.add(s.graceKey)
	}
	keys := len(list.list)
	for _, c := range ops {
		s.addOp(list, c)
	}
	if graced {
		list.number(s.grace.Microseconds())
	}
	return sentScript{newCommand(ctx, list.command(s.scripts[kind], keys)), ops, list}
}

// answer gives each operation its result, and takes the arguments back.
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
	s.args.free()
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
			r.Err = ofKeys(c.keys(), r.Err)
		case few && c.confirm:
			r = driver.Result{Err: err}
		case few && r.Status == driver.Done && c.kind() != readOp:
			r = driver.Result{Err: &unconfirmedError{err, r.Version.Stamp}}
		}
		c.answer(r)
	}
}

// sendOps sends operations, and commands beside them, in one pipeline.
func (p *pipe) sendOps(ctx context.Context, ops []*opCall, calls []*call) {
	var fewSent [2]sentScript
	sent := p.scripts.pack(ctx, fewSent[:0], ops, p.cluster != nil)
	var fewCmds [4]*redis.Cmd
	cmds := fewCmds[:0]
	for _, s := range sent {
		cmds = append(cmds, s.cmd)
	}
	for _, c := range calls {
		cmds = append(cmds, c.cmd)
	}
	p.exec(ctx, p.client, cmds)
	p.repeat(ctx, p.client, cmds, isNoScript, withSource)
	for i, c := range calls {
		if p.cluster != nil {
			p.redirect(ctx, cmds[len(sent)+i:len(sent)+i+1])
		}
		c.done <- cmds[len(sent)+i]
	}
	for i, s := range sent {
		s.cmd = cmds[i]
		if err := s.cmd.Err(); p.cluster != nil && err != nil && isRedirect(err) {
			s.args.free()
			p.sendApart(ctx, s.ops)
			continue
		}
		s.answer()
	}
}

// sendApart sends operations of a slot that moves, each by itself. While it moves, a server answers
// none that name keys of which some are here and some are there.
func (p *pipe) sendApart(ctx context.Context, ops []*opCall) {
	sent, cmds := make([]sentScript, len(ops)), make([]*redis.Cmd, len(ops))
	for i := range ops {
		sent[i] = p.scripts.script(ctx, ops[i:i+1])
		cmds[i] = sent[i].cmd
	}
	p.exec(ctx, p.cluster, cmds)
	p.repeat(ctx, p.cluster, cmds, isNoScript, withSource)
	for i, s := range sent {
		s.cmd = cmds[i]
		s.answer()
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
	p.sendOps(p.bound(ctx), calls, nil)
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
			p.sendOps(ctx, part, nil)
			<-p.aside
		case <-ctx.Done():
			for _, c := range part {
				c.fail(context.Cause(ctx))
			}
		}
		cancel()
	}
}
