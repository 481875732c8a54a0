package fleet

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
)

// Forgotten names the removed record.
type Forgotten struct {
	Job       string    `api:"job"`
	Watermark time.Time `api:"watermark"`
	Outcomes  int       `api:"outcomes"` // how many outcomes the history had
	By        string    `api:"by"`       // who removed it; empty of [Fleet.Forgettable]
}

// ErrInUse is matched by the error of [Fleet.Forget] for a job that somebody may still work on.
// Nothing was removed.
var ErrInUse = errors.New("fleet: the job is in use")

// inUseError says why the record of a job is not removed.
type inUseError struct {
	Job      string
	Replicas []string // that live and serve it
	Open     int      // ticks that run or wait
	Unsure   bool     // a live replica does not say what it serves
	Changed  bool     // somebody claimed a tick of it meanwhile
}

func (e *inUseError) Error() string {
	var reasons []string
	if len(e.Replicas) > 0 {
		verb := "serve"
		if len(e.Replicas) == 1 {
			verb = "serves"
		}
		reasons = append(reasons, fmt.Sprintf("%s %s it: take it out of the configuration first", said{}.these(e.Replicas), verb))
	}
	if e.Unsure {
		reasons = append(reasons, "a live replica does not say which jobs it serves: wait until it has stopped")
	}
	if e.Open > 0 {
		verb := "ticks are"
		if e.Open == 1 {
			verb = "tick is"
		}
		reasons = append(reasons, fmt.Sprintf("%d %s open: cancel what runs or waits first", e.Open, verb))
	}
	if e.Changed {
		reasons = append(reasons, "a replica has worked on it just now")
	}
	return fmt.Sprintf("job %q is in use, so nothing was removed: %s", e.Job, strings.Join(reasons, "; "))
}

// Is makes errors.Is(err, ErrInUse) true.
func (e *inUseError) Is(target error) bool { return target == ErrInUse }

// Forgettable says what Forget would remove, or why it would remove nothing.
func (f *Fleet) Forgettable(ctx context.Context, job string) (Forgotten, error) {
	_, forgotten, err := f.forgettable(ctx, job)
	return forgotten, err
}

func (f *Fleet) forgettable(ctx context.Context, job string) (protocol.Record, Forgotten, error) {
	r, err := f.store.Inspect(ctx, job) // before the members: a replica that comes meanwhile changes the record, or is seen
	if err != nil {
		return r, Forgotten{}, err
	}
	if r.Watermark == 0 && r.Token == 0 && len(r.Open)+len(r.Settled) == 0 {
		return r, Forgotten{}, fmt.Errorf("job %q: %w", job, protocol.ErrUnknown)
	}
	replicas, err := f.Replicas(ctx)
	if err != nil {
		return r, Forgotten{}, err
	}
	used := &inUseError{Job: job}
	var unserved bool
	used.Replicas, unserved, _ = serviceOf(replicas).Of(job)
	used.Unsure = !unserved && len(used.Replicas) == 0
	for _, o := range r.Open {
		if o.Tick > 0 || o.Remaining > 0 { // of a leader task only what is held
			used.Open++
		}
	}
	if len(used.Replicas) > 0 || used.Unsure || used.Open > 0 {
		return r, Forgotten{}, used
	}
	return r, Forgotten{Job: job, Watermark: wire.FromMilli(r.Watermark), Outcomes: len(r.Settled)}, nil
}

// Forget removes what the store keeps of a job that is gone: its record, with the history, a pause
// and the keys of triggers, and its journal. A replica that gets the job later starts it as a new
// job, and catches up nothing. Tokens go on rising. The fleet's journal and the audit log keep the
// act.
//
// The error matches [ErrInUse] while a live replica serves the job or a tick of it is open, and
// [ErrUnknown] when there is no record. It matches [ErrClock] when the store's clock cannot be
// trusted, or is behind the job's last token.
func (f *Fleet) Forget(ctx context.Context, job string, act Act) (Forgotten, error) {
	until, err := f.begin(ctx, act)
	if err != nil {
		return Forgotten{}, err
	}
	r, forgotten, err := f.forgettable(ctx, job)
	if err != nil {
		return Forgotten{}, err
	}
	var a protocol.Removed
	remove := func(q protocol.Remove) (int, error) {
		return again(ctx, func() (err error) {
			a, err = f.store.Remove(ctx, q)
			return err
		})
	}
	tries, err := remove(protocol.Remove{Name: job, Watermark: r.Watermark, Token: r.Token, Until: until})
	switch {
	case err != nil:
		return Forgotten{}, err
	case a.Status == protocol.RecordOpen:
		return Forgotten{}, &inUseError{Job: job, Open: a.Open}
	case a.Status == protocol.RecordChanged:
		return Forgotten{}, &inUseError{Job: job, Changed: true}
	case a.Status == protocol.RecordAhead:
		return Forgotten{}, fmt.Errorf("job %q: its last token is of %s, ahead of the store's clock, so nothing was removed: %w",
			job, granted(r.Token).Format(timeLayout), ErrClock)
	case a.Status == protocol.RecordAbsent && tries == 1:
		return Forgotten{}, fmt.Errorf("job %q: %w", job, protocol.ErrUnknown)
	}
	// The definitions are a journal of their own, which has no record beside it. Without them
	// nothing goes wrong.
	_, _ = remove(protocol.Remove{Name: wire.DefinitionsOf(job)})
	fact := act.fact(wire.FactForgotten)
	fact.Job, fact.Token, fact.To = job, r.Token, forgotten.Watermark
	f.Note(ctx, "", fact)
	forgotten.By = act.By
	return forgotten, nil
}
