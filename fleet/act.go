package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/solotick/solotick/internal/heartbeat"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
)

// Act says who does something to the fleet, and why: it is kept in the journal of the job and in
// the audit log.
type Act struct {
	By     string // required; matches the pattern of a name
	Reason string // for people; of more than 1024 bytes the rest is cut
	Via    string // by what it was asked for: go, a program that calls this package, and the default; cli, api or console; or another name
}

// check returns every fault of an act, joined.
func (a Act) check() error {
	var faults []error
	if !protocol.ValidName(a.By) {
		faults = append(faults, fmt.Errorf("fleet: by: %q %s", a.By, protocol.NameRule))
	}
	return errors.Join(append(faults, a.checkVia())...)
}

func (a Act) checkVia() error {
	if a.Via == "" || protocol.ValidName(a.Via) {
		return nil
	}
	return fmt.Errorf("fleet: via: %q %s", a.Via, protocol.NameRule)
}

// fact is the fact of an act.
func (a Act) fact(kind string) Fact {
	return Fact{Kind: kind, By: a.By, Reason: protocol.Cut(a.Reason, protocol.MaxReason), Via: cmp.Or(a.Via, wire.ViaGo)}
}

// ErrClock is matched by the error of a command that was refused because the store's clock cannot
// be trusted. Nothing has changed.
var ErrClock = errors.New("fleet: the store's clock cannot be trusted")

// clockError says how far the store's clock is from this machine's, while no live replica vouches
// for it.
type clockError struct {
	Ahead time.Duration // of this machine's clock; below 0 when it is behind
}

func (e *clockError) Error() string {
	return fmt.Sprintf("fleet: the store's clock is %s ahead of this machine's, and no live replica trusts it, so nothing was changed: "+
		"check the time on both machines, and try again", e.Ahead.Round(time.Millisecond))
}

// Is makes errors.Is(err, ErrClock) true.
func (e *clockError) Is(target error) bool { return target == ErrClock }

// ClockLimit is how far the store's clock may be from this machine's, and for how long a request
// holds by it.
const ClockLimit = 15 * time.Second

// Until returns the latest time of the store at which a request that is made now may change
// anything, [ClockLimit] from now, or an error that matches [ErrClock]. It is for packages that
// change what a fleet shares, such as schedules.
func (f *Fleet) Until(ctx context.Context) (time.Time, error) {
	began := time.Now()
	now, _, err := f.store.Time(ctx)
	if err != nil {
		return time.Time{}, err
	}
	took := time.Since(began)
	ahead := now.Sub(began.Add(took / 2).Round(0))
	if ahead.Abs() <= ClockLimit+took/2 {
		return now.Add(ClockLimit), nil
	}
	members, err := f.store.Members(ctx)
	if err != nil {
		return time.Time{}, err
	}
	for _, m := range heartbeats(members) {
		if m.Clock == heartbeat.ClockTrusted && now.Sub(m.LastHeartbeat) <= m.Life && m.LastHeartbeat.Sub(now) <= ClockLimit {
			return now.Add(ClockLimit), nil
		}
	}
	return time.Time{}, &clockError{Ahead: ahead}
}

// begin checks who acts. It returns until.
func (f *Fleet) begin(ctx context.Context, act Act) (time.Time, error) {
	if err := act.check(); err != nil {
		return time.Time{}, err
	}
	return f.Until(ctx)
}

// again asks a few times when the outcome is unknown, and returns how often it has asked. An
// earlier try may have done what a later one finds done.
func again(ctx context.Context, ask func() error) (tries int, err error) {
	for tries = 1; ; tries++ {
		err = ask()
		if err == nil || errors.Is(err, protocol.ErrUnknown) || errors.Is(err, protocol.ErrOutOfBounds) || ctx.Err() != nil || tries == triggerTries {
			return tries, err
		}
	}
}

// How long a call waits for the record of a job that has none. Its replica may have been started,
// or got the job by an update, a moment ago.
const (
	newJobWait    = time.Second      // when no live replica says that it serves the job
	servedJobWait = 10 * time.Second // when one does
	newJobAsk     = 20 * time.Millisecond
)

// whenKnown repeats a call until the job has a record, ctx ends, or it has waited for long enough.
// The error of a job without a record names the job.
func (f *Fleet) whenKnown(ctx context.Context, job string, call func() error) error {
	began, served := time.Now(), false
	for {
		err := named(job, call())
		waited := time.Since(began)
		if waited >= newJobWait && !served {
			served = f.serves(ctx, job)
		}
		if !errors.Is(err, protocol.ErrUnknown) || waited >= servedJobWait || waited >= newJobWait && !served {
			return err
		}
		t := time.NewTimer(newJobAsk)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return err
		}
	}
}

// named is err, with the name of a job that has no record.
func named(job string, err error) error {
	if errors.Is(err, protocol.ErrUnknown) {
		return fmt.Errorf("job %q: %w", job, err)
	}
	return err
}

// serves reports whether a live replica says that it serves the job.
func (f *Fleet) serves(ctx context.Context, job string) bool {
	list, err := f.Replicas(ctx)
	if err != nil {
		return false
	}
	for _, r := range list {
		if serves, _ := r.serves(job); serves {
			return true
		}
	}
	return false
}

// ForceRelease takes the grant of a lock with this token away from its holder, and reports whether
// it was held. The holder works on until its next renewal, which is refused: its later writes have
// to be refused by its token.
func (f *Fleet) ForceRelease(ctx context.Context, lock string, token int64, act Act) (held bool, err error) {
	if err := act.check(); err != nil {
		return false, err
	}
	l, err := f.store.Lock(ctx, lock)
	if err != nil {
		return false, err
	}
	fact := act.fact(wire.FactReleased)
	fact.Lock, fact.Token = lock, token
	for _, h := range l.Holds {
		if h.Token == token {
			fact.Replica, fact.From = h.Holder, h.Since.Truncate(time.Millisecond)
		}
	}
	held, err = f.store.ForceRelease(ctx, lock, token)
	if err != nil && ctx.Err() == nil { // perhaps only the reply was lost
		held, err = f.store.ForceRelease(ctx, lock, token)
		held = err == nil && (held || fact.Replica != "")
	}
	if held {
		f.Note(ctx, "", fact)
	}
	return held, err
}
