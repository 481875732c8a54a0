package quorum

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/solotick/solotick/lease/protocol"
	"github.com/solotick/solotick/lease/record"
)

// history is how many settled occasions of a name are kept: from protocol.Remembered to protocol.History. Every change sends
// the whole value to every node.
const history = 32

// For how long a register is kept that nobody touches, for which there is no other use than to collect garbage: jobs may
// run once a year, while plain locks may have any number of names.
const (
	keepRecord = 400 * 24 * time.Hour
	keepLock   = 24 * time.Hour
)

// readRecord makes a record of what a register holds. Its spans (leases, the windows of keys, the limit of triggers) end
// by the quorum's clock of now.
func readRecord(at reading) (*record.Record, error) {
	r := new(record.Record)
	if at.value == "" {
		return r, nil
	}
	if err := json.Unmarshal([]byte(at.value), r); err != nil {
		return nil, fmt.Errorf("%w: a record: %w", errReply, err)
	}
	move := func(t *time.Time) {
		if !t.IsZero() {
			*t = t.Add(at.shift)
		}
	}
	for i := range r.Open {
		move(&r.Open[i].Ends)
	}
	for i := range r.Keys {
		move(&r.Keys[i].Ends)
	}
	move(&r.Theoretical)
	return r, nil
}

// writeRecord makes what a register holds of a record.
func writeRecord(r *record.Record) (string, error) {
	kept := history
	if r.Policy.History != 0 {
		kept = r.Policy.History
	}
	r.Settled = r.Settled[max(0, len(r.Settled)-kept):]
	text, err := json.Marshal(r)
	return string(text), err
}

// keepFor is for how long a record is kept that nobody touches.
func keepFor(r *record.Record) time.Duration {
	if r.Known || r.Gap != (record.Gap{}) {
		return keepRecord
	}
	keep := keepLock
	for _, e := range r.Open {
		keep = max(keep, e.Term+keepLock)
	}
	return keep
}

// renew renews a grant, and takes down for which term: its drift is a part of that.
func renew(r *record.Record, g protocol.Grant, now time.Time) error {
	err := r.Renew(g, record.At(now))
	for i := range r.Open {
		if e := &r.Open[i]; err == nil && e.Occasion == g.Occasion {
			e.Term = g.Term
		}
	}
	return err
}

// drift is for how much longer than its term a lease is kept, since the nodes' clocks and the holder's may run at different
// speeds.
func drift(term time.Duration) time.Duration { return term/100 + 2*time.Millisecond }

// blur is by how much a lease's end is uncertain, because the nodes were not asked at exactly the same moment: so long
// before it runs out a claim waits for that rather than being told that it is held.
func blur(term time.Duration) time.Duration { return min(term/4, 50*time.Millisecond) }

// ending returns for how long a claim has to wait because a lease is about to run out, or has run out by its term and not
// yet for certain: 0 when there is none.
func ending(r *record.Record, c protocol.Claim, now time.Time) (wait time.Duration) {
	for _, e := range r.Open {
		left := e.Ends.Sub(now)
		switch {
		case e.Attempt == 0 || e.Released || left+drift(e.Term) <= 0 || left > blur(e.Term):
		case left > 0 && e.Occasion == c.Occasion && e.Holder == c.Holder && e.Request == c.Request: // its own
		default:
			wait = max(wait, left+drift(e.Term))
		}
	}
	return wait
}

// extended lets a verb see the leases that have not yet run out for certain as held. It returns what undoes that.
func extended(r *record.Record, now time.Time) (undo func()) {
	ends := make(map[int64]time.Time)
	for i := range r.Open {
		e := &r.Open[i]
		if left := e.Ends.Sub(now); e.Attempt > 0 && !e.Released && left <= 0 && left+drift(e.Term) > 0 {
			ends[e.Token] = e.Ends
			e.Ends = e.Ends.Add(drift(e.Term))
		}
	}
	return func() {
		for i := range r.Open {
			if end, ok := ends[r.Open[i].Token]; ok {
				r.Open[i].Ends = end
			}
		}
	}
}
