package processes

import (
	"fmt"

	"github.com/solotick/solotick/solotest"
	"github.com/solotick/solotick/solotest/internal/observed"
)

// Gate keeps what the replicas write, by [Replica.Write] and [Replica.WriteOnce].
type Gate struct {
	fleet *Fleet
	inner observed.Gate
}

// Gate returns the fleet's gate.
func (f *Fleet) Gate() *Gate { return &f.gate }

// Before calls do with the replica that is about to make the n-th write, from 1. The write happens
// after it, unless do kills or pauses that replica. Before and After take the methods of a Fleet.
func (g *Gate) Before(n int, do func(replica string)) { g.inner.Before(n, do) }

// After calls do with the replica that has made the n-th write, from 1.
func (g *Gate) After(n int, do func(replica string)) { g.inner.After(n, do) }

// AwaitWrites waits until n writes have happened, were refused, or had nothing to do.
func (g *Gate) AwaitWrites(n int) {
	g.fleet.t.Helper()
	g.fleet.Await(fmt.Sprintf("there are not %d writes", n), func() bool { return g.inner.Decided() >= n })
}

// Effects returns the writes that have happened, in order.
func (g *Gate) Effects() (list []solotest.Effect) {
	for _, e := range g.inner.Effects() {
		list = append(list, solotest.Effect(e))
	}
	return list
}

// AssertOnce fails the test unless something was written, each key once, and each of the given keys
// is among them.
func (g *Gate) AssertOnce(keys ...string) {
	g.fleet.t.Helper()
	for _, fault := range g.inner.NotOnce(keys) {
		g.fleet.t.Error(fault)
	}
}

// AssertNoStale fails the test if a write of an older holder happened after one of a newer: the job
// writes without its fencing token.
func (g *Gate) AssertNoStale() {
	g.fleet.t.Helper()
	for _, fault := range g.inner.Stale() {
		g.fleet.t.Error(fault)
	}
}
