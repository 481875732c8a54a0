package quorum

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/solotick/solotick/lease/protocol"
	"github.com/solotick/solotick/lease/record"
)

// Store is a [protocol.Store] on a majority of independent nodes. It is also a [protocol.Controller], [protocol.Inspector],
// [protocol.Watcher], [protocol.Roster] and [protocol.Locker]. It is safe for concurrent use. Close it when it is no longer used.
type Store struct {
	namespace string
	registers *registers
	longest   time.Duration // term
}

// Namespace implements [protocol.Namespacer].
func (s *Store) Namespace() string { return s.namespace }

// Check implements [protocol.Checker]. That a minority of nodes fails is no fault.
func (s *Store) Check(ctx context.Context) error { return protocol.Check(ctx, s) }

// Hint implements [protocol.Checker]: it says what the first node that knows says.
func (s *Store) Hint(err error) string {
	var few *MajorityError
	switch {
	case errors.Is(err, ErrClosed):
		return "close the store when everything that uses it has ended"
	case errors.Is(err, ErrRestarted):
		return "wait: a node counts when it has remembered the namespace for the longest term; WithFreshStart does without that, at the first start ever"
	case !errors.As(err, &few):
		return ""
	}
	for _, n := range s.registers.list {
		for _, cause := range few.Causes {
			if h, ok := n.(interface{ Hint(err error) string }); ok && h.Hint(cause) != "" {
				return h.Hint(cause)
			}
		}
	}
	return ""
}

// Close ends what is under way at the nodes and waits for that. Calls fail with [ErrClosed] from then on. The nodes are
// the caller's, and stay open.
func (s *Store) Close() error {
	s.registers.close()
	return nil
}

// kind is a kind of value that registers hold.
type kind[V any] struct {
	read  func(reading) (*V, error)
	write func(*V) (string, error)
	keep  func(*V) time.Duration // for how long it is kept when nobody touches it
}

// recordKind is that of the values by which registers keep what is known of a name's occasions.
var recordKind = kind[record.Record]{readRecord, writeRecord, keepFor}

// verb is what is done to one value. It says what to do once the result is certain; it may be called more than once.
type verb[V any] func(i int, v *V, now time.Time) (done func())

// on makes a change of registers from a verb of values of one kind.
func on[V any](k kind[V], f verb[V]) change {
	return func(i int, at reading) (outcome, error) {
		v, err := k.read(at)
		if err != nil {
			return outcome{}, err
		}
		before, err := k.write(v)
		if err != nil {
			return outcome{}, err
		}
		done := f(i, v, at.now)
		after, err := k.write(v)
		if err != nil {
			return outcome{}, err
		}
		if after == before {
			after = ""
		}
		return outcome{next: after, keep: k.keep(v), done: done}, nil
	}
}

// one applies a verb to the record of name.
func (s *Store) one(ctx context.Context, what, name string, begin opening, grows bool, f func(r *record.Record, now time.Time) (done func())) error {
	errs := s.registers.update(ctx, []string{name}, begin, grows, on(recordKind, func(_ int, r *record.Record, now time.Time) func() { return f(r, now) }))
	if errs[0] != nil {
		return fmt.Errorf("%s %q: %w", what, name, errs[0])
	}
	return nil
}

// Claim implements [protocol.Store]. A claim that meets a lease which is about to run out waits for that, for as long as the
// clocks may disagree about it.
func (s *Store) Claim(ctx context.Context, c protocol.Claim) (protocol.Answer, error) {
	if err := cmp.Or(c.Validate(), s.checkTerm(c.Name, c.Term)); err != nil {
		return protocol.Answer{}, err
	}
	var a protocol.Answer
	var settled []protocol.Settled // on the way
	err := s.claimUntil(ctx, c.Name, func(patience time.Duration) (wait time.Duration, err error) {
		a, wait, err = s.claim(ctx, c, patience)
		settled = append(settled, a.Settled...)
		a.Settled = settled
		return wait, err
	})
	return a, err
}

// claimUntil claims again after each wait that the claim asks for, until it asks for none.
func (s *Store) claimUntil(ctx context.Context, name string, claim func(patience time.Duration) (wait time.Duration, err error)) error {
	for patience := s.registers.timeout / 2; ; {
		wait, err := claim(patience)
		if err != nil || wait == 0 {
			return err
		}
		if err := sleep(ctx, wait); err != nil {
			return fmt.Errorf("claim %q: %w", name, err)
		}
		patience -= wait
	}
}

// claim claims once, or returns for how long to wait, at most patience.
func (s *Store) claim(ctx context.Context, c protocol.Claim, patience time.Duration) (a protocol.Answer, wait time.Duration, err error) {
	err = s.one(ctx, "claim", c.Name, look, true, func(r *record.Record, now time.Time) func() {
		if w := ending(r, c, now); w > 0 && w <= patience {
			return func() { wait = w }
		}
		undo := extended(r, now)
		answer, wake := r.Claim(c, record.At(now))
		undo()
		return func() {
			a = answer
			s.tell(wake, c.Name, 0)
		}
	})
	return a, wait, err
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// checkTerm refuses terms after which a node would count that has forgotten the lease.
func (s *Store) checkTerm(name string, term time.Duration) error {
	if term > s.longest {
		return protocol.Permanent(fmt.Errorf("quorum: %q: term %s must be at most %s: see WithTerm", name, term, s.longest))
	}
	return nil
}

// Renew implements [protocol.Store].
func (s *Store) Renew(ctx context.Context, grants []protocol.Grant) []error {
	return renewal(ctx, s, len(grants), recordKind, func(i int) (name, key string, fault error) {
		g := &grants[i]
		return g.Name, g.Name, cmp.Or(g.Validate(), s.checkTerm(g.Name, g.Term))
	}, func(r *record.Record, i int, now time.Time) error { return renew(r, grants[i], now) })
}

// renewal answers n renewals of grants that values of a kind hold.
func renewal[V any](ctx context.Context, s *Store, n int, k kind[V], of func(i int) (name, key string, fault error),
	renew func(v *V, i int, now time.Time) error) []error {
	answers, names := make([]error, n), make([]string, n)
	keys, parts := group(n, func(i int) (key string, ok bool) {
		names[i], key, answers[i] = of(i)
		return key, answers[i] == nil
	})
	errs := s.registers.update(ctx, keys, above, false, on(k, func(n int, v *V, now time.Time) func() {
		said := make([]error, len(parts[n]))
		for j, i := range parts[n] {
			said[j] = renew(v, i, now)
		}
		return func() {
			for j, i := range parts[n] {
				answers[i] = said[j]
			}
		}
	}))
	for n, err := range errs {
		for _, i := range parts[n] {
			if err != nil {
				answers[i] = fmt.Errorf("renew %q: %w", names[i], err)
			}
		}
	}
	return answers
}

// group returns the names or keys of n things, each once, and which things have each.
func group(n int, name func(i int) (name string, ok bool)) (names []string, parts [][]int) {
	place := make(map[string]int)
	for i := range n {
		name, ok := name(i)
		if !ok {
			continue
		}
		at, known := place[name]
		if !known {
			at = len(names)
			place[name] = at
			names, parts = append(names, name), append(parts, nil)
		}
		parts[at] = append(parts[at], i)
	}
	return names, parts
}

// Settle implements [protocol.Store].
func (s *Store) Settle(ctx context.Context, g protocol.Grant, outcome protocol.Outcome) error {
	if !protocol.ValidOutcome(outcome) {
		return fmt.Errorf("settle %q: outcome %q %s", g.Name, outcome, protocol.OutcomeRule)
	}
	if err := g.Validate(); err != nil {
		return err
	}
	return s.finish(ctx, "settle", g, func(r *record.Record, now time.Time) (bool, error) { return r.Settle(g, outcome, record.At(now)) })
}

// Release implements [protocol.Store].
func (s *Store) Release(ctx context.Context, g protocol.Grant) error {
	if err := g.Validate(); err != nil {
		return err
	}
	return s.finish(ctx, "release", g, func(r *record.Record, now time.Time) (bool, error) { return r.Release(g, record.At(now)) })
}

func (s *Store) finish(ctx context.Context, what string, g protocol.Grant, f func(*record.Record, time.Time) (wake bool, err error)) error {
	var answer error
	err := s.one(ctx, what, g.Name, above, false, func(r *record.Record, now time.Time) func() {
		wake, said := f(r, now)
		return func() {
			answer = said
			s.tell(wake, g.Name, 0)
		}
	})
	return cmp.Or(err, answer)
}

// Pass implements [protocol.Store].
func (s *Store) Pass(ctx context.Context, p protocol.Pass) (mark int64, passed bool, err error) {
	if err := p.Validate(); err != nil {
		return 0, false, err
	}
	var answer error
	err = s.one(ctx, "pass", p.Name, look, false, func(r *record.Record, now time.Time) func() {
		m, ok, said := r.Pass(p, record.At(now))
		return func() { mark, passed, answer = m, ok, said }
	})
	return mark, passed, cmp.Or(err, answer)
}

// Sync implements [protocol.Store].
func (s *Store) Sync(ctx context.Context, syncs []protocol.Sync) ([]protocol.Record, error) {
	for _, y := range syncs {
		if err := y.Validate(); err != nil {
			return nil, err
		}
	}
	names, parts := group(len(syncs), func(i int) (string, bool) { return syncs[i].Name, true })
	records, answers := make([]protocol.Record, len(syncs)), make([]error, len(syncs))
	errs := s.registers.update(ctx, names, first, true, on(recordKind, func(n int, r *record.Record, now time.Time) func() {
		views, said := make([]protocol.Record, len(parts[n])), make([]error, len(parts[n]))
		for j, i := range parts[n] {
			views[j], said[j] = r.Sync(syncs[i], record.At(now))
		}
		return func() {
			for j, i := range parts[n] {
				records[i], answers[i] = views[j], said[j]
			}
		}
	}))
	for n, err := range errs {
		if err != nil {
			return nil, fmt.Errorf("sync %q: %w", names[n], err)
		}
	}
	for i, err := range answers {
		if err != nil {
			return nil, fmt.Errorf("sync %q: %w", syncs[i].Name, err)
		}
	}
	return records, nil
}

// Inspect implements [protocol.Inspector].
func (s *Store) Inspect(ctx context.Context, name string) (v protocol.Record, err error) {
	err = s.one(ctx, "inspect", name, look, false, func(r *record.Record, now time.Time) func() {
		seen := r.View(name, record.At(now))
		return func() { v = seen }
	})
	return v, err
}

// Time implements [protocol.Store]. The clock is the median of those of all nodes that have answered within an hour: see the
// package comment. The first call waits a quarter of the timeout for each node to answer or to fail. Since is when the last of a
// majority began to remember, each by its own clock.
func (s *Store) Time(ctx context.Context) (clock, since time.Time, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.registers.timeout, errTimeout)
	defer cancel()
	_, _, err = s.registers.ask(ctx, func(int) []Op { return nil }, nil)
	if err != nil {
		return time.Time{}, time.Time{}, fmt.Errorf("time: %w", err)
	}
	s.registers.clock.awaitAll(ctx, s.registers.timeout/4)
	return s.registers.clock.now(), s.registers.since(), nil
}
