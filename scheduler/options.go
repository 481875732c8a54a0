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

// WithReplica sets the id of this replica, which is unique in the fleet and matches the pattern of a
// job's name. The default is "replica-" and 8 random characters.
func WithReplica(id string) Option { return func(o *options) { o.replica = id } }

// WithTTL sets the TTL of leases: how long others wait before they take over the ticks of a dead
// replica. From 100 ms to 24 h; the default is 15 s.
func WithTTL(d time.Duration) Option { return func(o *options) { o.ttl = d } }

// WithShutdownGrace sets how long runs may go on after the context of [Scheduler.Run] has ended.
// Then they are cancelled. 0 or more; the default is 30 s.
func WithShutdownGrace(d time.Duration) Option { return func(o *options) { o.grace = d } }

// WithMaxRuns limits the sum of the weights of the jobs that run on this replica: see
// jobs.WithWeight. A full replica leaves ticks to others. If all are full, a tick waits, and is a
// misfire after its grace. A job that weighs more than n never runs here. From 0, which means no
// limit and is the default, to 1,000,000. Leader tasks do not count.
func WithMaxRuns(n int) Option { return func(o *options) { o.maxRuns = n } }

// WithGroups makes this replica serve groups, besides the jobs that name none. [Scheduler.Jobs] does
// not return jobs of other groups; [FleetSeen].Unserved names those that no live replica serves.
func WithGroups(groups ...string) Option { return func(o *options) { o.groups = groups } }

// WithVersion sets the program's version, for people. The default is none.
func WithVersion(version string) Option { return func(o *options) { o.version = version } }

// WithModule names the program of this replica, for [FleetSeen].Foreign. The default is the path of
// its main package. Programs that serve the same jobs on purpose need the same name; "" switches the
// comparison off.
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
// task's handler: for traces, log attributes, or transactions. The first is outermost. [New] and
// [Scheduler.Update] call each once for every definition of a job; a wrapper must neither be nil nor
// return nil. Several goroutines call the handler that it returns at once.
//
//	from the outside in   what it sees
//	retries               nothing of the job's own: a wrapper is called again for each attempt, with its number in the run
//	timeout               limits each attempt, the wrappers' time included
//	panics of wrappers    fail the attempt, as the handler's do
//	the wrappers          the run, and a context that ends with the lease and the timeout, and has the run: jobs.FromContext
//	panics of handlers    are errors here (*jobs.PanicError, jobs.ErrGoexit): next always returns
//	the handler           the context that the wrapper passes on, which has to be made from its own
//
// A wrapper that does not call next has run the job, with the error that it returns. It must return
// when its context ends.
func WithWrappers(wrappers ...func(next jobs.Handler) jobs.Handler) Option {
	return func(o *options) { o.wrap = append(o.wrap, wrappers...) }
}

// WithObserver calls f with each event, one at a time and in order, on a goroutine of its own. If f
// is slow, blocks or panics, neither runs nor other observers suffer. Up to 16,384 events are
// queued; more are dropped, see [EventsDropped]. [Scheduler.Run] waits for f at its end, for at
// most a second. Without an observer, events of level warn and above are logged to slog.Default().
func WithObserver(f func(Event)) Option { return func(o *options) { o.observe = append(o.observe, f) } }

// WithSyncObserver calls f with each event, on the goroutine of the event, before the next step. f
// misses nothing, but claims, runs and renewals wait for it. Use it for counters, such as those of
// package metrics. Several goroutines call f at once; it must neither block nor call the scheduler.
// A panic of f is contained.
func WithSyncObserver(f func(Event)) Option { return func(o *options) { o.sync = append(o.sync, f) } }
