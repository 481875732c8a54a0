package scheduler

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
)

// LogEvents returns an observer for [WithObserver] that logs what became of each tick at info, what
// went wrong at warn or error, and the rest at debug. Messages are constant; the facts are
// attributes. A nil logger is slog.Default(). If a handler blocks for long, log records are lost,
// which is logged later.
func LogEvents(logger *slog.Logger) func(Event) { return logEvents(logger, false) }

// LogTroubles is LogEvents without what went well.
func LogTroubles(logger *slog.Logger) func(Event) { return logEvents(logger, true) }

func logEvents(logger *slog.Logger, quiet bool) func(Event) {
	if logger == nil {
		logger = slog.Default()
	}
	var down atomic.Bool // and it was logged
	return func(e Event) {
		level, message, attrs := describe(e)
		again := false
		if store, ok := e.(StoreChanged); ok {
			again = down.Swap(!store.Up) && store.Up
		}
		if message == "" || quiet && level < slog.LevelWarn && !isSkip(e) && !again {
			return
		}
		//nolint:sloglint // the messages are constants of describe
		logger.LogAttrs(context.Background(), level, message, attrs...)
	}
}

func isSkip(e Event) bool {
	p, ok := e.(TicksSkipped)
	return ok && p.Outcome == wire.Skipped
}

// logFailures logs what needs somebody's attention, for a program that observes nothing itself.
func logFailures() func(Event) {
	return func(e Event) {
		if level, message, attrs := describe(e); level >= slog.LevelWarn && message != "" {
			//nolint:sloglint // the messages are constants of describe
			slog.Default().LogAttrs(context.Background(), level, message, attrs...) // the one of now, not of New
		}
	}
}

func describe(e Event) (slog.Level, string, []slog.Attr) {
	switch e := e.(type) {
	case RunStarted:
		return slog.LevelInfo, "run started", ofRun(e.Run, slog.Duration("lag", round(e.Lag)))
	case RunRetried:
		return slog.LevelWarn, "run failed, trying again", ofRun(e.Run, slog.Any("error", e.Err), slog.Duration("wait", round(e.Wait)))
	case RunSettled:
		attrs := ofRun(e.Run, slog.String("outcome", string(e.Outcome)), slog.Duration("took", round(e.Took)))
		if e.By != "" {
			attrs = append(attrs, slog.String("cancelled_by", e.By))
		}
		if e.Err == nil {
			return slog.LevelInfo, "tick settled", attrs
		}
		attrs = append(attrs, slog.Any("error", e.Err))
		if p, ok := errors.AsType[*jobs.PanicError](e.Err); ok {
			attrs = append(attrs, slog.String("stack", string(p.Stack)))
		}
		if e.Outcome == wire.Replaced || e.Outcome == wire.Cancelled {
			return slog.LevelWarn, "tick settled", attrs
		}
		return slog.LevelError, "tick settled", attrs
	case RunLost:
		attrs := ofRun(e.Run, slog.Any("why", e.Cause), slog.Duration("took", round(e.Took)))
		if e.Err != nil {
			attrs = append(attrs, slog.Any("error", e.Err))
		}
		return slog.LevelError, "run lost", attrs
	case RunReleased:
		return slog.LevelWarn, "run stopped, tick released", ofRun(e.Run, slog.Any("error", e.Err), slog.Duration("took", round(e.Took)))
	case TicksSkipped:
		level := slog.LevelWarn
		if e.Outcome == wire.Skipped {
			level = slog.LevelInfo
		}
		return level, "ticks settled without a run", []slog.Attr{
			slog.String("job", e.Job), slog.Time("to", e.To), slog.Int("count", e.Count),
			slog.String("outcome", string(e.Outcome)), slog.String("reason", e.Reason),
		}
	case Claimed:
		return slog.LevelDebug, "claim answered", []slog.Attr{
			slog.String("job", e.Job), slog.Time("tick", e.Tick), slog.String("status", e.Status.String()), slog.Duration("took", round(e.Took)),
		}
	case Renewed:
		if e.Failed > 0 {
			return slog.LevelWarn, "leases not renewed, trying again", []slog.Attr{slog.Int("count", e.Failed), slog.Any("error", e.Err)}
		}
		if lost := e.Fenced + len(e.Expired); lost > 0 {
			return slog.LevelWarn, "leases lost", []slog.Attr{slog.Int("count", lost), slog.Int("kept", e.Kept)}
		}
		return slog.LevelDebug, "leases renewed", []slog.Attr{slog.Int("count", e.Kept), slog.Duration("took", round(e.Took))}
	case CapacityChanged:
		attrs := []slog.Attr{slog.Int("used", e.Used), slog.Int("max_runs", e.MaxRuns)}
		if e.Full {
			return slog.LevelWarn, "replica has no room; ticks wait unless another replica has", append(attrs, slog.Int("waiting", e.Waiting))
		}
		return slog.LevelInfo, "replica has room again", append(attrs, slog.Duration("full", round(e.Lasted)))
	case StoreLoadChanged:
		if e.Overloaded {
			return slog.LevelWarn, "store is slower than claims come; ticks start late", []slog.Attr{
				slog.Int("waiting", e.Waiting), slog.Duration("waited", round(e.Waited)), slog.Int("in_flight", e.InFlight),
			}
		}
		return slog.LevelInfo, "store keeps up again", []slog.Attr{slog.Duration("overloaded", round(e.Lasted))}
	case StoreChanged:
		if e.Up && e.WritesOnly {
			return slog.LevelInfo, "store takes writes", []slog.Attr{slog.Duration("away", round(e.Away))}
		}
		if e.Up {
			return slog.LevelInfo, "store answers", []slog.Attr{slog.Duration("away", round(e.Away))}
		}
		attrs := []slog.Attr{slog.Any("error", e.Err)}
		if e.Away > 0 {
			attrs = append(attrs, slog.Duration("away", round(e.Away)))
		}
		if e.Hint != "" {
			attrs = append(attrs, slog.String("hint", e.Hint))
		}
		if e.WritesOnly {
			return slog.LevelError, "store fails writes; nothing starts until it takes them", attrs
		}
		return slog.LevelError, "store does not answer; nothing starts until it does", attrs
	case RecordUnreadable:
		return slog.LevelError, "a record cannot be read, so its job does not run; the others do", []slog.Attr{slog.Any("error", e.Err)}
	case RecordsLost:
		if e.Job == "" {
			return slog.LevelError, "store has lost its records; making them again", []slog.Attr{slog.Time("since", e.Since)}
		}
		return slog.LevelWarn, "the store has lost what it knew of a job; replicas write it back", []slog.Attr{slog.String("job", e.Job)}
	case FleetSeen:
		level, message := slog.LevelDebug, "fleet members seen"
		if e.Changed {
			level, message = slog.LevelInfo, "fleet members changed"
			if len(e.Unserved)+len(e.Differ)+len(e.Foreign) > 0 {
				level = slog.LevelWarn
			}
		}
		attrs := ofJobs(ofJobs([]slog.Attr{slog.Int("replicas", e.Replicas)}, "unserved", e.Unserved), "differ", e.Differ)
		if len(e.Foreign) > 0 {
			attrs = append(ofJobs(attrs, "foreign", e.Foreign), slog.String("hint",
				"another program serves jobs of these names, and runs some of their ticks: give each service a namespace of its own"))
		}
		return level, message, attrs
	case ReplicaShared:
		attrs := []slog.Attr{slog.String("replica", e.Replica), slog.Int("processes", e.Processes)}
		if e.Processes > 1 {
			return slog.LevelWarn, "other processes use this replica's id; give each its own, or leave replica out", attrs
		}
		return slog.LevelInfo, "no other process uses this replica's id any more", attrs
	case EventsDropped:
		attrs := []slog.Attr{slog.Int("count", e.Count)}
		if e.Panic != "" {
			return slog.LevelError, "an observer panicked, its event is lost", append(attrs, slog.String("panic", e.Panic))
		}
		return slog.LevelWarn, "events dropped, the observer was too slow", attrs
	case ClockChanged:
		if e.Trusted {
			return slog.LevelWarn, "store's clock is trusted", []slog.Attr{slog.Duration("by", round(e.By)), slog.Duration("held", round(e.Held))}
		}
		attrs := []slog.Attr{slog.Duration("by", round(e.By)), slog.String("check", "the time on the store's machine, and on this one")}
		if e.Start {
			return slog.LevelError, "store's clock disagrees with this machine's, and no live replica vouches for it; nothing is claimed until it has been steady for a while", attrs
		}
		return slog.LevelError, "store's clock has stepped; nothing is claimed until it is back, or has been steady for a while", attrs
	case ClockSampled:
		return slog.LevelDebug, "clock sampled", []slog.Attr{slog.Duration("offset", round(e.Offset)), slog.Duration("rtt", round(e.RTT))}
	}
	return 0, "", nil
}

func ofRun(r jobs.Run, more ...slog.Attr) []slog.Attr {
	attrs := []slog.Attr{
		slog.String("job", r.Job), slog.Time("tick", r.Tick), slog.String("replica", r.Replica),
		slog.Int64("token", r.Token), slog.Int("attempt", r.Attempt),
	}
	if r.Key != "" {
		attrs = append(attrs, slog.String("key", r.Key))
	}
	return append(attrs, more...)
}

// maxLoggedJobs is how many job names a log record has at most.
const maxLoggedJobs = 10

// ofJobs appends the first names of a list, and its length if that is greater.
func ofJobs(attrs []slog.Attr, key string, names []string) []slog.Attr {
	attrs = append(attrs, slog.Any(key, names[:min(len(names), maxLoggedJobs)]))
	if len(names) > maxLoggedJobs {
		attrs = append(attrs, slog.Int(key+"_count", len(names)))
	}
	return attrs
}

// round rounds a duration so that it is readable.
func round(d time.Duration) time.Duration {
	if d.Abs() < time.Second {
		return d.Round(10 * time.Microsecond)
	}
	return d.Round(time.Millisecond)
}
