// Package leasetest proves that a [lease.Store] keeps the rules of stores: the name of each case is
// one. It needs nothing but the standard library:
//
//	func TestStore(t *testing.T) {
//		leasetest.Run(t, func(t *testing.T) lease.Store { return open(t) })
//	}
package leasetest

import (
	"testing"
	"time"

	"github.com/solotick/solotick/lease"
)

// Run runs every case as a subtest that is named for the rule it proves. Each gets a store from
// newStore, which may be new or shared: the cases use names that are new in each run. Those that need [WithForget] or [WithClockStep] are skipped where that is not given.
func Run(t *testing.T, newStore func(t *testing.T) lease.Store, opts ...Option) {
	o := options{
		within: func(t *testing.T, f func(*testing.T)) { f(t) },
		ttl:    25 * time.Millisecond,
	}
	for _, opt := range opts {
		opt(&o)
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			o.within(t, func(t *testing.T) { c.prove(newFixture(t, newStore(t), o, c.rule)) })
		})
	}
}

type options struct {
	within func(t *testing.T, f func(*testing.T))
	ttl    time.Duration
	forget func(t *testing.T, s lease.Store)
	step   func(t *testing.T, s lease.Store, d time.Duration)
}

// Option changes how [Run] goes about it.
type Option func(*options)

// WithForget gives the suite a way to make s forget everything, as a crash without persistence
// would.
func WithForget(forget func(t *testing.T, s lease.Store)) Option {
	return func(o *options) { o.forget = forget }
}

// WithClockStep gives the suite a way to move the clock of s by d, as somebody who sets the clock
// of its machine would.
func WithClockStep(step func(t *testing.T, s lease.Store, d time.Duration)) Option {
	return func(o *options) { o.step = step }
}

// WithTTL sets the TTL of the leases that a case lets run out; the default is 25 ms. A store whose
// clock is coarse wants more. No case depends on being faster than a TTL.
func WithTTL(d time.Duration) Option { return func(o *options) { o.ttl = d } }

// Within runs each case, its call of newStore included, inside run. Give synctest.Test for a store
// whose clock is the process's: then no time is spent waiting.
func Within(run func(t *testing.T, f func(*testing.T))) Option {
	return func(o *options) { o.within = run }
}
