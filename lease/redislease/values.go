package redislease

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/solotick/solotick/internal/naming"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/lease/driver"
)

// tags is over how many hash tags the keys of a namespace are spread. Operations on keys of one tag
// travel in one script on Cluster too, and its servers share a namespace by its tags.
const tags = 16

// format is the version of the layout of a namespace's keys; a release that finds another one
// touches nothing.
const format = "4"

// formatError is the error of calls on a namespace whose keys are of another release. It matches
// lease.ErrPermanent.
type formatError struct {
	Namespace, Format string
}

func (e *formatError) Error() string {
	return fmt.Sprintf("redislease: namespace %[1]q has keys of format %[2]q, and this release writes format %[3]s: "+
		"use another namespace, or stop all replicas and delete the keys that match solotick:{%[1]s}*, solotick:{%[1]s:* and solotick:{%[1]s/*",
		e.Namespace, e.Format, format)
}

// Is makes errors.Is(err, lease.ErrPermanent) true.
func (e *formatError) Is(target error) bool { return target == protocol.ErrPermanent }

// values is a [driver.Store] on Redis.
type values struct {
	store   *store
	prefix  [tags]string // of the keys of each tag
	checked atomic.Bool  // the format is the one of this release
}

func newValues(s *store) *values {
	v := &values{store: s}
	for tag := range v.prefix {
		v.prefix[tag] = prefixOf(s.namespace, tag)
	}
	return v
}

// Key is the key of Redis that keeps the record of a name, for those that look into Redis: a hash;
// see lua/values.lua. The journal of a name is the record of the name "journal:" and that.
func Key(namespace, name string) string { return prefixOf(namespace, tagOf(name)) + name }

func prefixOf(namespace string, tag int) string {
	return "solotick:{" + namespace + "/" + strconv.Itoa(tag) + "}:"
}

// tagOf returns the tag of a key. A share of an index has the tag of its keys.
func tagOf(key string) int { return driver.ShareOf(key) % tags }

// Time implements [driver.Store].
func (v *values) Time(ctx context.Context) (now, since time.Time, err error) {
	if now, since, err = v.look(ctx); err != nil {
		return now, since, fmt.Errorf("time: %w", err)
	}
	return now, since, nil
}

// look asks the server for its clock, and with that for the format of its keys.
func (v *values) look(ctx context.Context) (now, since time.Time, err error) {
	s := v.store
	s.router.probe()
	after := s.notes.after()
	cmd, err := s.router.do(ctx, sinceScript.command(ctx, []string{s.fleetKey(""), s.fleetKey(":triggered")}, format, after))
	if err != nil {
		return now, since, err
	}
	r, err := cmd.Slice()
	if err != nil {
		return now, since, err
	}
	return v.readTime(r, after)
}

// readTime reads what lua/since.lua answers, and lua/heartbeat.lua first.
func (v *values) readTime(r []any, after string) (now, since time.Time, err error) {
	if len(r) < 3 {
		return now, since, fmt.Errorf("%w: %v", errReply, r)
	}
	if other, is := r[1].(string); is {
		return now, since, &formatError{Namespace: v.store.namespace, Format: other}
	}
	v.checked.Store(true)
	v.store.notes.read(number(r[0]), after, r[2])
	return time.UnixMicro(number(r[0])).UTC(), time.UnixMicro(number(r[1])).UTC(), nil
}

// check returns an error unless the format is known to be the one of this release; it asks the
// server once.
func (v *values) check(ctx context.Context) error {
	err := context.Cause(ctx)
	if err == nil && !v.checked.Load() {
		_, _, err = v.look(ctx)
	}
	return err
}

// Do implements [driver.Store].
func (v *values) Do(ctx context.Context, ops []driver.Op) []driver.Result {
	results := make([]driver.Result, len(ops))
	if len(ops) == 0 {
		return results
	}
	err := v.check(ctx)
	if err != nil {
		for i := range results {
			results[i].Err = err
		}
		return results
	}
	if len(ops) == 1 && len(ops[0].Append) < 2 {
		v.doOne(ctx, &ops[0], &results[0])
		return results
	}
	calls := make([]opCall, 0, len(ops))
	last := make([]int, len(ops)) // of each operation's calls
	for i, op := range ops {
		tag := tagOf(op.Key)
		call := opCall{ctx: ctx, op: op, prefix: v.prefix[tag], tag: tag}
		for len(op.Append) > 1 { // one by one
			call.op.Append = op.Append[:1]
			calls = append(calls, call)
			op.Append = op.Append[1:]
			call.op.Append = op.Append
		}
		last[i] = len(calls)
		calls = append(calls, call)
	}
	waiting := make([]*opCall, len(calls))
	for i := range calls {
		waiting[i] = &calls[i]
	}
	for err == nil && len(waiting) > 0 {
		var now []*opCall
		now, waiting = inOrder(waiting)
		err = v.store.router.doOps(ctx, now)
	}
	for i, n := range last {
		if results[i].Err = err; err == nil {
			results[i] = calls[n].result
		}
	}
	return results
}

// single is the only operation of a call.
type single struct {
	call opCall
	list [1]*opCall
}

var singles = sync.Pool{New: func() any {
	one := new(single)
	one.list[0] = &one.call
	return one
}}

// doOne carries out the only operation of a call.
func (v *values) doOne(ctx context.Context, op *driver.Op, result *driver.Result) {
	tag := tagOf(op.Key)
	one := singles.Get().(*single)
	one.call = opCall{ctx: ctx, op: *op, prefix: v.prefix[tag], tag: tag}
	if result.Err = v.store.router.doOps(ctx, one.list[:]); result.Err != nil {
		return // others may look at it still
	}
	*result = one.call.result
	one.call = opCall{}
	singles.Put(one)
}

// confirm fails when too few replicas have the value of a key as it is.
func (v *values) confirm(ctx context.Context, key string) error {
	tag := tagOf(key)
	none := driver.Op{Key: key, Renew: &driver.Renewal{}} // of no lease, by the script that replicas confirm
	call := &opCall{ctx: ctx, op: none, confirm: true, prefix: v.prefix[tag], tag: tag}
	if err := v.store.router.doOps(ctx, []*opCall{call}); err != nil {
		return fmt.Errorf("confirm %q: %w", key, err)
	}
	if err := call.result.Err; err != nil {
		return fmt.Errorf("confirm %q: %w", key, err)
	}
	return nil
}

// inOrder returns the operations that can be carried out at once, and those that come later so that
// operations on one key keep their order. Scripts of different kinds, and several of one kind, may
// overtake one another. The order of renewals makes no difference.
func inOrder(calls []*opCall) (now, later []*opCall) {
	if len(calls) == 1 {
		return calls, nil
	}
	before := make(map[string]*opCall, len(calls)) // of each key; nil when nothing more of it can be carried out
	for i, c := range calls {
		b, seen := before[c.op.Key]
		switch {
		case seen && (b == nil || !inAnyOrder(b, c) && (b.kind() != c.kind() || len(calls) > opsPerScript)):
			if later == nil {
				now = append(now, calls[:i]...)
			}
			later = append(later, c)
			before[c.op.Key] = nil
			continue
		case later != nil:
			now = append(now, c)
		}
		before[c.op.Key] = c
	}
	if later == nil {
		return calls, nil
	}
	return now, later
}

func inAnyOrder(a, b *opCall) bool {
	return a.op.Renew != nil && b.op.Renew != nil && a.op.Renew.Token != b.op.Renew.Token
}

// Scan implements [driver.Store]. On Cluster the servers are asked one after the other; what moves
// from one to another meanwhile may be missed, but for stored schedules.
func (v *values) Scan(ctx context.Context, prefix, cursor string, count int) (keys []string, next string, err error) {
	if job, name, ok := driver.CutKey(prefix); ok {
		return v.scanJob(ctx, job, name, cursor, max(count, 1))
	}
	if keys, next, err = v.keys(ctx, prefix, cursor, count); err != nil {
		return nil, "", fmt.Errorf("scan: %w", err)
	}
	return v.existing(ctx, keys, next)
}

// existing leaves out the keys that have a list but no value. It does not ask for stored schedules,
// which may be millions: who lists those reads their values, and others leave them out.
func (v *values) existing(ctx context.Context, keys []string, next string) ([]string, string, error) {
	var calls []*opCall
	kept := keys[:0]
	for _, key := range keys {
		if naming.IsKeyed(key) {
			kept = append(kept, key)
			continue
		}
		tag := tagOf(key)
		calls = append(calls, &opCall{ctx: ctx, op: driver.Op{Key: key}, exists: true, prefix: v.prefix[tag], tag: tag})
	}
	if len(calls) > 0 {
		if err := v.store.router.doOps(ctx, calls); err != nil {
			return nil, "", fmt.Errorf("scan: %w", err)
		}
	}
	for _, c := range calls {
		if c.result.Err != nil {
			return nil, "", fmt.Errorf("scan: %w", c.result.Err)
		}
		if c.result.Status == driver.Done {
			kept = append(kept, c.op.Key)
		}
	}
	return kept, next, nil
}

// Subscribe implements [driver.Store].
func (v *values) Subscribe(ctx context.Context, notify func(driver.Notification)) error {
	return v.store.subscribe(ctx, "watch", func(message string) { notify(readNotification(message)) }, v.store.channel())
}
