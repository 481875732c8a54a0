package solotest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/solotick/solotick/jobs"
)

// ErrStale is returned by a gate for a write that carries a lower token than an earlier one of the
// job: a newer holder has written since.
var ErrStale = errors.New("solotest: the token is stale: a newer holder has written")

// Effect is a write that has happened.
type Effect struct {
	Run   jobs.Run
	Key   string
	Token int64 // that the write carried; 0: none
	At    time.Time
	Stale bool // a newer holder had written before, and no token was there to refuse it
}

// Gate is what a job writes to: it keeps each write with its key and its run.
type Gate struct {
	fleet *Fleet

	mu      sync.Mutex
	effects []Effect
	asked   int              // writes that were begun
	highest map[string]int64 // by job, the highest token of a run that has written
	before  map[int]func(replica string)
	after   map[int]func(replica string)
}

// Gate makes a gate without any effects.
func (f *Fleet) Gate() *Gate {
	return &Gate{fleet: f, highest: map[string]int64{}, before: map[int]func(string){}, after: map[int]func(string){}}
}

// Before calls do with the replica that is about to make the n-th write, from 1; the write happens
// after it, unless do kills or pauses that replica. Before and After take the methods of a Fleet.
func (g *Gate) Before(n int, do func(replica string)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.before[n] = do
}

// After calls do with the replica that has made the n-th write, from 1.
func (g *Gate) After(n int, do func(replica string)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.after[n] = do
}

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
	n, before := g.begin()
	if before != nil {
		before(run.Replica)
	}
	link := g.fleet.link(run.Replica)
	link.pass() // a frozen process goes on here, whatever its context says by then
	if link.isKilled() {
		runtime.Goexit()
	}
	after, err := g.apply(Effect{Run: run, Key: key, Token: token, At: time.Now().UTC()}, n, once)
	if after != nil {
		after(run.Replica)
	}
	return err
}

func (g *Gate) begin() (n int, before func(string)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.asked++
	return g.asked, g.before[g.asked]
}

func (g *Gate) apply(e Effect, n int, once bool) (after func(string), err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	highest := g.highest[e.Run.Job]
	if e.Token != 0 && e.Token < highest {
		return g.after[n], fmt.Errorf("%w: %d, not %d", ErrStale, highest, e.Token)
	}
	g.highest[e.Run.Job] = max(highest, e.Run.Token)
	if once && g.number(e.Key) > 0 {
		return g.after[n], nil
	}
	e.Stale = e.Run.Token < highest
	g.effects = append(g.effects, e)
	return g.after[n], nil
}

func (g *Gate) number(key string) (n int) {
	for _, e := range g.effects {
		if e.Key == key {
			n++
		}
	}
	return n
}

// Effects returns the writes, in order.
func (g *Gate) Effects() []Effect {
	g.mu.Lock()
	defer g.mu.Unlock()
	return append([]Effect(nil), g.effects...)
}

// AssertOnce fails the test unless something was written, each key once, and each of the given keys
// is among them.
func (g *Gate) AssertOnce(keys ...string) {
	g.fleet.t.Helper()
	for _, fault := range g.notOnce(keys) {
		g.fleet.t.Error(fault)
	}
}

func (g *Gate) notOnce(keys []string) (faults []string) {
	writes, order := map[string][]Effect{}, []string(nil)
	for _, e := range g.Effects() {
		if len(writes[e.Key]) == 0 {
			order = append(order, e.Key)
		}
		writes[e.Key] = append(writes[e.Key], e)
	}
	if len(order) == 0 && len(keys) == 0 {
		return []string{"solotest: nothing was written to the gate"}
	}
	for _, key := range order {
		if n := len(writes[key]); n > 1 {
			var text strings.Builder
			fmt.Fprintf(&text, "solotest: %q was written %d times: the job is not idempotent:", key, n)
			for _, e := range writes[key] {
				fmt.Fprintf(&text, "\n\tby attempt %d on %s, token %d, at %s", e.Run.Attempt, e.Run.Replica, e.Run.Token, e.At.Format(time.TimeOnly))
			}
			faults = append(faults, text.String())
		}
	}
	for _, key := range keys {
		if len(writes[key]) == 0 {
			faults = append(faults, fmt.Sprintf("solotest: %q was not written", key))
		}
	}
	return faults
}

// AssertNoStale fails the test if a write of an older holder happened after one of a newer: the job
// writes without its fencing token.
func (g *Gate) AssertNoStale() {
	g.fleet.t.Helper()
	for _, fault := range g.stale() {
		g.fleet.t.Error(fault)
	}
}

func (g *Gate) stale() (faults []string) {
	for _, e := range g.Effects() {
		if e.Stale {
			faults = append(faults, fmt.Sprintf("solotest: %q was written by a stale holder: attempt %d on %s, token %d, at %s, after a newer one had written. Pass Run.Token to what the job writes to",
				e.Key, e.Run.Attempt, e.Run.Replica, e.Run.Token, e.At.Format(time.TimeOnly)))
		}
	}
	return faults
}
