// Package observed keeps what the two test kits saw: the runs of jobs, and their writes to a gate.
// It finds their faults.
package observed

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/solotick/solotick/jobs"
)

// ErrStale is returned by a gate for a write that carries a lower token than an earlier one of the
// job. A newer holder has written since.
var ErrStale = errors.New("solotest: the token is stale: a newer holder has written")

// Effect is a write that has happened.
type Effect struct {
	Run   jobs.Run
	Key   string
	Token int64 // that the write carried; 0: none
	At    time.Time
	Stale bool // a newer holder had written before, and no token was there to refuse it
}

// Gate keeps the writes of jobs, each with its key and its run. Its zero value is empty.
type Gate struct {
	mu      sync.Mutex
	effects []Effect
	asked   int              // writes that were begun
	decided int              // writes that have happened, or were refused, or had nothing to do
	highest map[string]int64 // by job, the highest token of a run that has written
	before  map[int]func(replica string)
	after   map[int]func(replica string)
}

// Before calls do with the replica that is about to make the n-th write, from 1.
func (g *Gate) Before(n int, do func(replica string)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.before == nil {
		g.before = map[int]func(string){}
	}
	g.before[n] = do
}

// After calls do with the replica that has made the n-th write, from 1.
func (g *Gate) After(n int, do func(replica string)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.after == nil {
		g.after = map[int]func(string){}
	}
	g.after[n] = do
}

// Begin numbers a write, and returns the function to call before it.
func (g *Gate) Begin() (n int, before func(replica string)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.asked++
	return g.asked, g.before[g.asked]
}

// Apply makes write n, and returns the function to call after it. With once, a key that was written
// before is left alone.
func (g *Gate) Apply(e Effect, n int, once bool) (after func(replica string), err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.decided++
	highest := g.highest[e.Run.Job]
	if e.Token != 0 && e.Token < highest {
		return g.after[n], fmt.Errorf("%w: %d, not %d", ErrStale, highest, e.Token)
	}
	if g.highest == nil {
		g.highest = map[string]int64{}
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

// Decided is how many writes have happened, or were refused, or had nothing to do.
func (g *Gate) Decided() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.decided
}

// Effects returns the writes that have happened, in order.
func (g *Gate) Effects() []Effect {
	g.mu.Lock()
	defer g.mu.Unlock()
	return append([]Effect(nil), g.effects...)
}

// NotOnce returns a fault for each key that was written more than once, and for each of the given
// keys that was not written. It returns one when nothing was.
func (g *Gate) NotOnce(keys []string) (faults []string) {
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

// Stale returns a fault for each write of an older holder that happened after one of a newer.
func (g *Gate) Stale() (faults []string) {
	for _, e := range g.Effects() {
		if e.Stale {
			faults = append(faults, fmt.Sprintf("solotest: %q was written by a stale holder: attempt %d on %s, token %d, at %s, after a newer one had written. Pass Run.Token to what the job writes to",
				e.Key, e.Run.Attempt, e.Run.Replica, e.Run.Token, e.At.Format(time.TimeOnly)))
		}
	}
	return faults
}
