package fleet

import (
	"context"
	"strings"
	"time"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
)

// aheadLimit is how far a watermark may lie in the future before that is worth a word.
const aheadLimit = 5 * time.Second

// Repaired is the answer to [Fleet.Repair].
type Repaired struct {
	Job        string    `api:"job"`
	Changed    bool      `api:"changed"`    // false when nothing lay in the future
	Before     time.Time `api:"before"`     // the watermark that the repair found
	Watermark  time.Time `api:"watermark"`  // and the one in force now
	Exceptions int       `api:"exceptions"` // how many ticks past the watermark are open or settled already, and never run again
}

// Repair brings a job's watermark back to now that lies in the future, where a wrong clock of the
// store has left it: until then no tick of the job would run. The next tick of the schedule runs.
// Ticks past the watermark that are open, or settled in the history, never run again. The rate of
// triggers and the time of a pause or an edit come back to now as well; tokens go on rising. To
// repeat a repair changes nothing.
//
// Replicas apply the new watermark at once, or with their next heartbeat. They write back one that
// lay ahead by no more than the greater of their TTL and 5 s: it is over as soon. Repair returns
// [ErrUnknown] for a job that no replica has ever contended for, and an error that matches
// [ErrClock] when the store's clock cannot be trusted.
func (f *Fleet) Repair(ctx context.Context, job string, act Act) (Repaired, error) {
	until, err := f.begin(ctx, act)
	if err != nil {
		return Repaired{}, err
	}
	found, err := f.store.Inspect(ctx, job)
	if err != nil {
		return Repaired{}, err
	}
	var a protocol.Repaired
	tries, err := again(ctx, func() (err error) {
		a, err = f.store.Repair(ctx, protocol.Repair{Name: job, Until: until})
		return err
	})
	if err != nil {
		return Repaired{}, err
	}
	if tries > 1 && !a.Changed && found.Watermark > a.Watermark { // an earlier try did it, and its answer was lost
		a.Changed, a.Before = true, found.Watermark
	}
	r := Repaired{
		Job: job, Changed: a.Changed, Before: time.UnixMilli(a.Before).UTC(), Watermark: time.UnixMilli(a.Watermark).UTC(), Exceptions: a.Exceptions,
	}
	if r.Changed {
		fact := act.fact(wire.FactRepaired)
		fact.From, fact.To = r.Watermark, r.Before
		f.Note(ctx, job, fact)
	}
	return r, nil
}

// ahead is how far a record's watermark lies in the future; 0 when it does not, or by little.
func ahead(r protocol.Record, now time.Time) time.Duration {
	if d := time.UnixMilli(r.Watermark).Sub(now); d > aheadLimit {
		return d.Truncate(time.Millisecond)
	}
	return 0
}

// watermark says that the job's watermark lies in the future, or that it did at the time of the
// tick and who brought it back.
func (r *reasoner) watermark() string {
	if d := ahead(r.Record, r.Now); d > 0 {
		return r.Say(" The job's watermark lies %s in the future, at %s, as a clock that was wrong leaves it: no tick up to then runs. "+
			"To bring it back: worker repair %s.", rough(d), r.at(time.UnixMilli(r.Record.Watermark)), r.Record.Name)
	}
	for _, f := range r.Facts {
		if f.Kind == wire.FactRepaired && r.tick.After(f.From) && !r.tick.After(f.To) {
			return r.Say(" The job's watermark lay in the future, at %s, until %s brought it back at %s.", r.at(f.To), f.By, r.at(f.From))
		}
	}
	return ""
}

// passedOver explains a tick that has no outcome and came due while the watermark may have lain in
// the future. It is empty where no repair has brought the watermark back since.
func (r *reasoner) passedOver() string {
	for _, f := range r.Facts {
		if f.Kind == wire.FactRepaired && !r.tick.After(f.From) {
			return r.Say("It has no outcome in the history. Until %s brought it back at %s, the job's watermark lay in the future, at %s, "+
				"and what came due then did not run.", f.By, r.at(f.From), r.at(f.To))
		}
	}
	return ""
}

// withSentence adds a sentence to the first line of a text.
func withSentence(text, sentence string) string {
	if sentence == "" {
		return text
	}
	first, rest, more := strings.Cut(text, "\n")
	if more {
		rest = "\n" + rest
	}
	return first + sentence + rest
}
