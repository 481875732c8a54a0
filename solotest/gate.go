package solotest

import (
	"context"
	"errors"
	"runtime"
	"time"

	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/solotest/internal/observed"
)

// ErrStale is returned by a gate for a write that carries a lower token than an earlier one of the
// job. A newer holder has written since.
var ErrStale = observed.ErrStale

// Effect is a write that has happened.
type Effect struct {
	Run   jobs.Run
	Key   string
	Token int64 // that the write carried; 0: none
	At    time.Time
	Stale bool // a newer holder had written before, and no token was there to refuse it
}

// Gate stands for a table that a job writes to: it keeps each write with its key and its run.
type Gate struct {
	fleet *Fleet
	inner observed.Gate
}

// Gate makes a gate without any effects.
func (f *Fleet) Gate() *Gate {
	return &Gate{fleet: f}
}

// Before calls do with the replica that is about to make the n-th write, from 1. The write happens
// after it, unless do kills or pauses that replica. Before and After take the methods of a Fleet.
func (g *Gate) Before(n int, do func(replica string)) { g.inner.Before(n, do) }

// After calls do with the replica that has made the n-th write, from 1.
func (g *Gate) After(n int, do func(replica string)) { g.inner.After(n, do) }

// Write writes under a key, once more if there is something: as an UPDATE does, a mail, or a call
// of another service. ctx is that of the handler. token is that of the run, or 0 for a job that
// does not use it; a stale one is refused with [ErrStale].
func (g *Gate) Write(ctx context.Context, token int64, key string) error {
	return g.write(ctx, token, key, false)
}

// WriteOnce writes under a key unless there is something already: as INSERT … ON CONFLICT DO
// NOTHING does, or a call that carries an idempotency key.
func (g *Gate) WriteOnce(ctx context.Context, token int64, key string) error {
	return g.write(ctx, token, key, true)
}

func (g *Gate) write(ctx context.Context, token int64, key string, once bool) error {
	g.fleet.t.Helper()
	run, ok := jobs.FromContext(ctx)
	if !ok {
		g.fleet.t.Error("solotest: a write to a gate must have the handler's context")
		return errors.New("solotest: the context is of no run")
	}
	n, before := g.inner.Begin()
	if before != nil {
		before(run.Replica)
	}
	link := g.fleet.replica(run.Replica).link
	link.awaitThaw() // a frozen process goes on here, whatever its context says by then
	if link.isKilled() {
		runtime.Goexit()
	}
	after, err := g.inner.Apply(observed.Effect{Run: run, Key: key, Token: token, At: time.Now().UTC()}, n, once)
	if after != nil {
		after(run.Replica)
	}
	return err
}

// Effects returns the writes, in order.
func (g *Gate) Effects() (list []Effect) {
	for _, e := range g.inner.Effects() {
		list = append(list, Effect(e))
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
