package fleet

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/sleep"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
)

// TriggerOptions are what a trigger needs besides the job. By is required.
type TriggerOptions struct {
	By          string // who asks; matches the pattern of a name
	Reason, Via string // as in [Act]

	// Key, when it is not empty, makes triggers with the same key within Window one: the first runs
	// the job, the others get its tick. It matches the pattern of a name.
	Key    string
	Window time.Duration // from 1 ms to 30 days; 0 means 24 h

	// Request, when it is not empty, identifies this trigger: within 10 min the same request gets
	// the same tick, so that a caller whose answer was lost can send it again. It matches the
	// pattern of a name, of 100 bytes at most. Nobody else should be able to guess it.
	Request string

	// Payload is for the run, as jobs.Run.Payload: see [jobs.Payload]. It lies in the job's record
	// until the tick is settled, so every attempt has it, on whichever replica. History and logs
	// have its size only. A tick that waits serves a trigger only if both have the same payload.
	Payload jobs.Payload

	// Again, when it is not the zero time, is a settled tick of the job. The trigger runs it again:
	// the run has the time of that tick, with an identity of its own. No rate limits it. A payload
	// with which the tick was triggered is not kept, so it must be given again.
	Again time.Time
	// Anyway runs a tick again that was settled as lost, and so may have done its work, or that the
	// history does not have.
	Anyway bool
}

// againWithin is for how long a trigger can be sent again, and requestKey begins the key of one
// that may be.
const (
	againWithin = 10 * time.Minute
	requestKey  = "request-"
)

// Triggered is the answer to a trigger.
type Triggered struct {
	// Status is opened when the trigger has a tick of its own, repeated when it has that of an
	// earlier one with its key, waiting when it has one that waits to run, limited when it was
	// refused.
	Status protocol.TriggerStatus `api:"status"`
	Tick   time.Time              `api:"tick"` // of the run that serves the trigger; zero when it was refused
	ID     string                 `api:"id"`   // the tick's identity, as jobs.Run.TickID; empty when it was refused

	// Wait and Next say when the next trigger may be accepted, of one that was refused as limited.
	Wait time.Duration `api:"wait_ms"`
	Next time.Time     `api:"next"` // by fleet time

	// Limit names the limit that was reached, of a trigger that was refused: rate, waiting, keys or
	// payloads. Policy has the rate and the burst of the job that are in force.
	Limit  protocol.TriggerLimit `api:"limit,omitempty"`
	Policy protocol.Policy       `api:"-"`

	Entry *Entry `api:"entry"` // the tick's entry once Await has returned; Trigger leaves it nil
}

// Accepted reports whether a run serves the trigger.
func (t Triggered) Accepted() bool { return t.Status != protocol.Limited }

// Refusal says in words which limit stood against the trigger; "" when it was accepted.
func (t Triggered) Refusal() string {
	if t.Accepted() {
		return ""
	}
	switch t.Limit {
	case protocol.LimitWaiting:
		return "too many triggered ticks wait to run"
	case protocol.LimitRate:
		return fmt.Sprintf("its rate is %s with a burst of %d", jobs.Rate{Count: 1, Per: t.Policy.Every}, t.Policy.Burst)
	case protocol.LimitKeys:
		return fmt.Sprintf("the fleet already remembers %d keys, or %d triggers of the last %s",
			protocol.MaxKeys, protocol.MaxTriggered, protocol.TriggeredFor)
	case protocol.LimitPayloads:
		return fmt.Sprintf("the payloads of its open ticks may have %d bytes in all", protocol.MaxPayloads)
	default:
		return "a limit was reached"
	}
}

// ErrLeaderTask is returned by [Fleet.Trigger] for a leader task, which runs all the time anyway.
var ErrLeaderTask = errors.New("fleet: a leader task runs all the time, so it cannot be triggered")

// ErrStored is returned by [Fleet.Trigger] for a job whose schedules lie in the store.
var ErrStored = errors.New("fleet: its schedules lie in the store: trigger one of them, as JOB/KEY")

// ErrPayloadDiffers is returned by [Fleet.Trigger] for a key that came with another payload within
// its window. The trigger with that key has a tick, and no other was opened.
var ErrPayloadDiffers = protocol.ErrPayloadDiffers

// triggerTries bounds the attempts of a trigger. Whether one whose answer got lost was accepted is
// unknown; the same request again returns the same answer.
const triggerTries = 3

// Trigger asks the fleet to run a job once, now, on one replica. The job's rate, burst and overlap
// are those of the replicas that have defined it last. With overlap allow the run starts beside
// others. Else it starts after them, and triggers that come while one waits are served by that one.
// A pause does not stop it. It returns before the run has started: see [Fleet.Await].
//
// A job that a replica has got a moment ago has no record yet. Trigger waits for it: for a second,
// or for 10 s while a live replica says that it serves the job. Then it returns [ErrUnknown]: no
// replica has ever contended for the job.
func (f *Fleet) Trigger(ctx context.Context, job string, o TriggerOptions) (Triggered, error) {
	act := Act{By: o.By, Reason: o.Reason, Via: o.Via}
	t := protocol.Trigger{Name: job, By: o.By, Request: strings.ToLower(rand.Text()), Key: o.Key, Payload: string(o.Payload)}
	if o.Key == "" && o.Window != 0 {
		return Triggered{}, fmt.Errorf("fleet: trigger window: %q must be left out without a key", o.Window)
	}
	if o.Key != "" {
		t.Window = o.Window
		if t.Window == 0 {
			t.Window = wire.DefaultWindow
		}
	}
	if o.Request != "" {
		t.Request = o.Request
		if o.Key == "" { // else the trigger might be served by a tick that waits, and not be remembered
			t.Key, t.Window = requestKey+o.Request, againWithin
		}
	}
	if !o.Again.IsZero() {
		t.Again = o.Again.UnixMilli()
	}
	if err := errors.Join(t.Validate(), act.checkVia()); err != nil {
		return Triggered{}, err
	}
	if err := f.mayRunAgain(ctx, job, o); err != nil {
		return Triggered{}, err
	}
	var a protocol.Triggered
	err := f.whenKnown(ctx, job, func() (err error) {
		a, err = f.send(ctx, t)
		return err
	})
	if errors.Is(err, protocol.ErrNoTriggers) {
		reason := ErrLeaderTask
		if r, inspectErr := f.store.Inspect(ctx, job); inspectErr == nil && strings.HasSuffix(strings.ToLower(scheduleIn(r)), " @stored") {
			reason = ErrStored
		}
		err = fmt.Errorf("job %q: %w", job, reason)
	}
	if errors.Is(err, ErrPayloadDiffers) {
		err = fmt.Errorf("job %q, key %q: %w", job, t.Key, err)
	}
	if err != nil {
		return Triggered{}, err
	}
	answer := Triggered{Status: a.Status, Wait: a.Wait, Limit: a.Limit, Policy: a.Policy}
	if a.Status == protocol.Repeated && o.Key == "" {
		answer.Status = protocol.Waiting // as the request was answered first: nobody else has its key
	}
	if a.Status == protocol.Limited {
		now, _, err := f.store.Time(ctx)
		answer.Next = now.Add(a.Wait)
		return answer, err
	}
	answer.Tick = time.UnixMilli(a.Tick).UTC()
	answer.ID = f.tickID(job, answer.Tick)
	fact := act.fact(wire.FactTriggered)
	fact.Tick, fact.Key, fact.Payload, fact.From = answer.Tick, o.Key, len(t.Payload), o.Again.UTC()
	f.Note(ctx, job, fact)
	return answer, nil
}

// ErrNotOver is returned by [Fleet.Trigger] for a tick to run again that is not over, was lost, or is
// not in the history.
var ErrNotOver = errors.New("fleet: the tick cannot run again")

// mayRunAgain returns why the tick that a trigger names must not run again.
func (f *Fleet) mayRunAgain(ctx context.Context, job string, o TriggerOptions) error {
	if o.Again.IsZero() {
		return nil
	}
	refuse := func(format string, args ...any) error {
		return fmt.Errorf("job %q, tick %s: %w: %s", job, o.Again.UTC().Format(time.RFC3339Nano), ErrNotOver, fmt.Sprintf(format, args...))
	}
	list, err := f.History(ctx, job, 0)
	if err != nil {
		return err
	}
	e, found := find(list, o.Again.UnixMilli())
	switch {
	case !found && o.Anyway:
		return nil
	case !found && len(list) > 0:
		return refuse("the history does not have it; its oldest entry is that of %s", list[len(list)-1].Moment().UTC().Format(time.RFC3339Nano))
	case !found:
		return refuse("the history has no tick")
	case e.State != wire.StateSettled:
		return refuse("it is %s", e.State)
	case e.Outcome == wire.Lost && !o.Anyway:
		return refuse("it was lost, so it may have done its work")
	case e.Payload > 0 && o.Payload == "":
		return refuse("it was triggered with a payload of %d bytes, which is not kept: give it again", e.Payload)
	}
	return nil
}

// send sends a trigger, and sends it again when its reply is lost. Whether the tick is open is
// unknown then, so the trigger keeps its Until: no later does the store remember that it is.
func (f *Fleet) send(ctx context.Context, t protocol.Trigger) (a protocol.Triggered, err error) {
	var lost error
	for try := 1; ; try++ {
		began := time.Now()
		if lost == nil {
			if t.Until, err = f.Until(ctx); errors.Is(err, ErrClock) {
				return a, err
			}
		}
		if !t.Until.IsZero() {
			a, err = f.store.Trigger(ctx, t)
		}
		switch {
		case err == nil, errors.Is(err, protocol.ErrUnknown), errors.Is(err, protocol.ErrNoTriggers), errors.Is(err, ErrPayloadDiffers):
			return a, err
		case !errors.Is(err, protocol.ErrOutOfBounds):
			if !t.Until.IsZero() {
				lost = err
			}
		case lost != nil:
			return a, fmt.Errorf("job %q: it is unknown whether the trigger was accepted, see the job's history: %w", t.Name, lost)
		case time.Since(began) >= ClockLimit: // others were quicker all the time
			try--
		}
		if ctx.Err() != nil || try >= triggerTries {
			return a, err
		}
	}
}

// The limits of how often Await asks.
const (
	firstAsk = 50 * time.Millisecond
	lastAsk  = time.Second
)

// ErrUnknown is returned for a job that has no record: no replica has ever contended for it.
var ErrUnknown = protocol.ErrUnknown

// ErrNoTrace is returned by [Fleet.Await] for a tick that is neither open nor among the outcomes
// that the store keeps.
var ErrNoTrace = errors.New("fleet: the store knows nothing of this tick: it is not due, or too old, or was forgotten")

// Await returns the entry of a tick as soon as that is settled. It asks again and again, at least
// once a second, until then, or until ctx ends. A store that does not answer for a while only
// delays it, and is the error when ctx has ended.
func (f *Fleet) Await(ctx context.Context, job string, tick time.Time) (Entry, error) {
	var last error
	for asked := 0; ; asked++ {
		r, err := f.store.Inspect(ctx, job)
		switch {
		case err != nil && ctx.Err() == nil:
			last = err
		case err == nil:
			last = nil
			e, found := find(entries(f.namespace, r), tick.UnixMilli())
			if !found {
				return Entry{}, fmt.Errorf("job %q, tick %s: %w", job, tick.UTC().Format(time.RFC3339Nano), ErrNoTrace)
			}
			if e.State == wire.StateSettled {
				return e, nil
			}
		}
		if !sleep.For(ctx, sleep.Backoff(asked, firstAsk, lastAsk)) {
			return Entry{}, errors.Join(context.Cause(ctx), last)
		}
	}
}
