package jobs

import (
	"context"
	"fmt"
	"time"

	"github.com/solotick/solotick/internal/naming"
)

// Handler does a job's work for one tick. ctx ends when the tick's lease is lost, the job's timeout
// has passed, or the replica shuts down; [context.Cause] says which. A nil error settles the tick
// as succeeded, any other as failed once the retries of the job's policy are used up. Handlers of
// different ticks may run concurrently.
type Handler func(ctx context.Context, run Run) error

// Run is one execution of a tick by one replica.
type Run struct {
	Namespace string // the fleet's namespace
	Job       string // the job's name
	Key       string // the key of the stored schedule; empty for other jobs
	Replica   string // the id of the replica that runs the tick

	// Tick is the scheduled time, in UTC and whole milliseconds: the same for every attempt, on
	// every replica.
	Tick time.Time
	// Again is when somebody asked to run Tick again, after it was over; zero for every other run. The
	// run has a TickID of its own.
	Again time.Time
	// Token is the fencing token of the grant: positive, below 2^53, higher for every later grant
	// of this job. All attempts that one holder makes under one lease share it.
	Token int64
	// Attempt numbers the tick's runs from 1, across retries and takeovers.
	Attempt int
	// Traceparent is the attempt's span in a trace, as W3C Trace Context writes it; empty when
	// nobody traces. A wrapper sets it in the run that it passes on: package otelsolotick does. A
	// command gets it as TRACEPARENT, a request and the entry of a stream as traceparent.
	Traceparent string
	// Payload is what the tick was triggered with, or what its stored schedule carries, the same for
	// every attempt; "" of any other scheduled tick, and of a trigger without.
	Payload Payload
	// Position is the Data of the tick's newest checkpoint when the attempt begins, also one that an
	// earlier attempt has made: see [Run.Checkpoint]. It is nil if there is none. After the store
	// has lost something it may be older.
	Position []byte
	// PositionRevision is the revision of the job that made Position: see [Job.Revision]. After an
	// edit it is not the present one.
	PositionRevision string

	// Lease is the lease on the tick. It is never nil in a run that the scheduler started.
	Lease Lease
}

// Lease is a handler's view of the lease on its tick.
type Lease interface {
	// Deadline is when the run must have stopped unless the lease is renewed first. It is a reading
	// of the local clock with its monotonic part, so compare it with time.Now or time.Until.
	Deadline() time.Time
	// Valid reports whether the lease is proved held at this instant. Ask right before a write that
	// cannot carry the token. The answer can be out of date when the caller acts on it.
	Valid() bool
	// OnRenewal calls f with the new deadline after each renewal, until stop is called. f runs on
	// the goroutine that renews every lease of the process: it must not block.
	OnRenewal(f func(deadline time.Time)) (stop func())
}

// TickID is the tick's identity, equal for every attempt and on every replica:
// namespace/job/scheduled Unix ms, or namespace/job/key/scheduled Unix ms. With Again, its time
// stands for the scheduled one.
func (r Run) TickID() string {
	return fmt.Sprintf("%s/%s/%d", r.Namespace, naming.Keyed(r.Job, r.Key), r.Identity().UnixMilli())
}

// Identity is the time by which the store and the history know the tick: Again, or else Tick.
func (r Run) Identity() time.Time {
	if r.Again.IsZero() {
		return r.Tick
	}
	return r.Again
}

type runKey struct{}

// NewContext returns a context that carries run: see [FromContext].
func NewContext(ctx context.Context, run Run) context.Context {
	return &runContext{ctx, run}
}

type runContext struct {
	context.Context
	run Run
}

func (c *runContext) Value(key any) any {
	if _, ok := key.(runKey); ok {
		return c.run
	}
	return c.Context.Value(key)
}

// FromContext returns the run that ctx belongs to, for code below a handler that needs its tick or
// token.
func FromContext(ctx context.Context) (run Run, ok bool) {
	run, ok = ctx.Value(runKey{}).(Run)
	return run, ok
}
