package scheduler

import (
	"runtime/debug"
	"time"

	"github.com/solotick/solotick/internal/chain"
	"github.com/solotick/solotick/jobs"
)

type options struct {
	replica string
	ttl     time.Duration
	grace   time.Duration
	groups  []string
	version string
	module  string
	maxRuns int
	observe []func(Event)
	sync    []func(Event)
	wrap    []chain.Wrapper
}

// Option changes a default of [New].
type Option func(*options)

// WithReplica sets the id of this replica: unique in the fleet, and of the same pattern as a job's
// name. The default is "replica-" and 8 random characters.
func WithReplica(id string) Option { return func(o *options) { o.replica = id } }

// WithTTL sets the lease's TTL: how long a run outlives its replica's last word, and how long
// others wait to take a dead replica's ticks over. From 100 ms to 24 h; the default is 15 s.
func WithTTL(d time.Duration) Option { return func(o *options) { o.ttl = d } }

// WithShutdownGrace sets how long runs may go on after Run's context has ended, before they are
// cancelled. 0 or more; the default is 30 s.
func WithShutdownGrace(d time.Duration) Option { return func(o *options) { o.grace = d } }

// WithMaxRuns limits how much runs on this replica at a time, by the weights of the jobs: see
// jobs.WithWeight. Without any room the replica leaves ticks to others; one that nobody has room
// for waits, and is a misfire after its grace. A job that weighs more never runs here. Leader tasks
// do not count. From 0, which is no limit and the default, to 1,000,000.
func WithMaxRuns(n int) Option { return func(o *options) { o.maxRuns = n } }

// WithGroups makes this replica serve groups, besides the jobs that name none. Jobs of other groups
// are not in [Scheduler.Jobs]; [FleetSeen].Unserved names those that no live replica serves.
func WithGroups(groups ...string) Option { return func(o *options) { o.groups = groups } }

// WithVersion says which version of its program this replica runs, for people to see. The default
// is to say nothing.
func WithVersion(version string) Option { return func(o *options) { o.version = version } }

// WithModule says which program this replica is of, for [FleetSeen].Foreign. The default is the
// path of its main package, by [debug.ReadBuildInfo]. Give programs that serve the same jobs on
// purpose one name; "" says nothing.
func WithModule(path string) Option { return func(o *options) { o.module = path } }

// mainPackage returns the path of the program's main package. It is that of its module when the
// package was named by its files, and "" when it was built without modules.
func mainPackage() string {
	info, ok := debug.ReadBuildInfo()
	switch {
	case !ok:
		return ""
	case info.Path == "" || info.Path == "command-line-arguments":
		return info.Main.Path
	}
	return info.Path
}

// WithWrappers puts wrappers around each attempt of every job, and around each call of a leader
// task's handler: for traces, log attributes, or transactions. The first is outermost; those of a
// later option are inside those of an earlier one. [New] and [Scheduler.Update] call each once for
// every definition of a job; a wrapper must not be nil, nor return nil. The handler that it returns
// is called by several goroutines at once.
//
//	from the outside in   what it sees
//	retries               nothing of the job's own: a wrapper is called again for each attempt, with its number in the run
//	timeout               limits each attempt, the wrappers' time included
//	panics of wrappers    fail the attempt, as the handler's do
//	the wrappers          the run, and a context that ends with the lease and the timeout, and has the run: jobs.FromContext
//	panics of handlers    are errors here (*jobs.PanicError, jobs.ErrGoexit): next always returns
//	the handler           the context that the wrapper passes on, which has to be made from its own
//
// A wrapper that does not call next has run the job, with the error that it returns. When the lease
// is lost, its context ends as that of a handler: it has to return, too.
func WithWrappers(wrappers ...func(next jobs.Handler) jobs.Handler) Option {
	return func(o *options) { o.wrap = append(o.wrap, wrappers...) }
}

// WithObserver calls f with each event, one at a time and in order, on a goroutine of its own. f
// may be slow, block or panic: that harms neither runs nor other observers. Events that it does not
// take wait in a queue of 16,384; more are dropped, and [EventsDropped] says how many.
// [Scheduler.Run] waits for f at its end, for a second at most. See [LogEvents] for one that logs.
// Without any, what LogEvents logs with [Quiet] goes to slog.Default(), at warn and above.
func WithObserver(f func(Event)) Option { return func(o *options) { o.observe = append(o.observe, f) } }

// WithSyncObserver calls f with each event, on the event's goroutine, before the next step. f
// misses nothing, but claims, runs and renewals wait while f waits. It is for counters, such as
// those of package metrics. f is called by several goroutines at once, must not block, nor call the
// scheduler. A panic of f is contained.
func WithSyncObserver(f func(Event)) Option { return func(o *options) { o.sync = append(o.sync, f) } }
