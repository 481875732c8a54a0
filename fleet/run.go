package fleet

import (
	"cmp"
	"slices"
	"time"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
)

// Run is one run of a tick by one replica.
type Run struct {
	Attempt int    `api:"attempt"` // its number, from 1
	Replica string `api:"replica"`
	Token   int64  `api:"token"`
	// Started and Ended are by fleet time, in milliseconds; Ended is zero while it runs. Of a run
	// that its replica did not report they are when the tick was granted to it, and when the lease
	// ran out or the next replica was granted the tick.
	Started time.Time `api:"started"`
	Ended   time.Time `api:"ended"`
	// End is how it ended. Of the last run it is the tick's outcome, or its state while the tick is
	// open. An earlier run was retried when it failed and the same replica began the next one,
	// released when its replica gave the tick up, and expired when its replica's lease ran out,
	// since it had died, was frozen, or did not reach the store.
	End   string `api:"end"`
	Error string `api:"error"` // why it failed: the beginning of the first line

	// Renewals is how often the run's lease was renewed. Margin is the least time that was left to
	// the deadline when a renewal was answered, and Margins are those at the newest renewals, at
	// most 8, oldest first. Of the last run of a lease that was settled; else 0.
	Renewals int             `api:"renewals"`
	Margin   time.Duration   `api:"margin_ms"`
	Margins  []time.Duration `api:"margins_ms"`
}

// runsOf returns the runs of a settled tick, first to last, as far as its note knows them.
func runsOf(s protocol.Settled, e Entry, note wire.Note) (list []Run) {
	if s.Token == 0 || s.From != 0 {
		return nil
	}
	if note.Before != nil {
		list = append(list, runFrom(*note.Before))
	}
	began := e.Started
	for _, r := range note.Retried {
		if r.Attempt >= s.Attempt { // it was ended while it waited for the next one
			began = r.Started
			break
		}
		r.Replica, r.Token = s.Holder, s.Token
		list = append(list, runFrom(r))
	}
	last := Run{
		Attempt: s.Attempt, Replica: s.Holder, Token: s.Token, Started: began, Ended: e.Ended, End: string(s.Outcome), Error: wire.RunError(note.Error),
		Renewals: note.Renewals, Margin: note.Margin, Margins: note.Margins,
	}
	if !note.Again.IsZero() && began.Equal(e.Started) {
		last.Started = note.Again
	}
	return append(list, last)
}

func runFrom(r wire.Run) Run {
	return Run{Attempt: r.Attempt, Replica: r.Replica, Token: r.Token, Started: r.Started, Ended: r.Ended, End: r.End, Error: r.Error}
}

// runOf is the run of a tick that is open.
func runOf(o protocol.Open, e Entry) []Run {
	if o.Attempt == 0 {
		return nil
	}
	return []Run{{Attempt: o.Attempt, Replica: o.Holder, Token: o.Token, Started: e.Started, End: e.State}}
}

// withHolders adds the runs of those that held the tick before, as the job's journal knows them.
func withHolders(runs []Run, holders []Holder) []Run {
	for _, h := range holders {
		if slices.ContainsFunc(runs, func(r Run) bool { return r.Token == h.Token }) {
			continue
		}
		runs = append(runs, runBefore(h))
	}
	slices.SortStableFunc(runs, func(a, b Run) int { return cmp.Or(cmp.Compare(a.Token, b.Token), a.Attempt-b.Attempt) })
	return runs
}

func runBefore(h Holder) Run {
	r := Run{Attempt: h.Attempt, Replica: h.Replica, Token: h.Token, Started: h.From, Ended: h.To, End: wire.RunExpired}
	if h.Released {
		r.End = wire.RunReleased
	}
	return r
}
