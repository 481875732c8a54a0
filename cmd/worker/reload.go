package main

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"go.uber.org/fx"

	"github.com/solotick/solotick/config"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/jobs/exec"
	"github.com/solotick/solotick/metrics"
	"github.com/solotick/solotick/scheduler"
)

const (
	// lookEvery is how often the file is read to see whether it has changed. Its content is compared, and not what the
	// file system says about it: that is right for editors that rename, for the symbolic links of Kubernetes, for network
	// file systems, and for files that were touched only. A file of a thousand jobs takes a millisecond.
	lookEvery = time.Second

	// mostNamed keeps the line about an edit of all jobs readable.
	mostNamed = 100

	// reloadStopLimit is how long a stop waits for a look at the file, which may hang on a network file system.
	reloadStopLimit = 2 * time.Second
)

// reloader makes the jobs what the file says, when it says something else and when it is asked to by SIGHUP. One goroutine
// runs it.
type reloader struct {
	from   *origin
	make   func(*config.Config) (*jobs.Registry, error)
	update func(*jobs.Registry) scheduler.Changes
	count  func(metrics.Reload)
	logger *slog.Logger

	dealt   [32]byte // the print of the reading that was dealt with last
	seen    [32]byte // and of the last one
	refused bool     // what was dealt with last is not in force
}

func newReloader(from *origin, logger *slog.Logger) *reloader {
	return &reloader{from: from, logger: logger, dealt: from.began.print, seen: from.began.print}
}

func runReloader(
	lc fx.Lifecycle, from *origin, s *scheduler.Scheduler, st *store, guard *exec.Guard, m *metrics.Metrics, logger *slog.Logger,
) {
	r := newReloader(from, logger)
	r.count = m.CountReload
	r.make = func(cfg *config.Config) (*jobs.Registry, error) {
		if cfg.Redis.Configured() {
			if _, err := newConnection(cfg); err != nil {
				return nil, err // a start with it would be refused
			}
		}
		return newRegistry(cfg, from.file, guard, logger, st)
	}
	r.update = func(registry *jobs.Registry) scheduler.Changes {
		changes := s.Update(registry)
		m.Watch(s)
		return changes
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	lc.Append(fx.Hook{
		OnStart: func(context.Context) error {
			go func() { defer close(ended); r.run(ctx) }()
			return nil
		},
		OnStop: func(limit context.Context) error {
			stop()
			late := time.NewTimer(reloadStopLimit)
			defer late.Stop()
			select {
			case <-ended:
			case <-late.C: // what it still reads, it does not apply
			case <-limit.Done():
			}
			return nil
		},
	})
}

// run looks at the file and listens for SIGHUP until ctx ends.
func (r *reloader) run(ctx context.Context) {
	var looks <-chan time.Time
	if r.from.watched {
		ticker := time.NewTicker(lookEvery)
		defer ticker.Stop()
		looks = ticker.C
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-looks:
			r.look(ctx)
		case <-r.from.hangups:
			r.reload(ctx, r.from.again(), true)
		}
	}
}

// look reloads what has been the same at two looks, and is not what was dealt with: a file that is being written has to
// be complete first.
func (r *reloader) look(ctx context.Context) {
	now := r.from.again()
	before := r.seen
	r.seen = now.print
	if now.print != r.dealt && now.print == before {
		r.reload(ctx, now, false)
	}
}

// reload applies what was read, or refuses it as a whole. asked says that somebody waits for an answer in the log.
func (r *reloader) reload(ctx context.Context, now reading, asked bool) {
	r.dealt, r.seen = now.print, now.print
	cfg, err := r.from.parse(now)
	var registry *jobs.Registry
	if err == nil {
		registry, err = r.make(cfg)
	}
	if ctx.Err() != nil {
		return // the worker stops, and its jobs stay what they are
	}
	if err != nil {
		r.refuse(err)
		return
	}
	changes := r.update(registry)
	mended := r.refused
	r.refused = false

	attrs := []slog.Attr{slog.String("file", string(r.from.file))}
	note := func(key string, names []string) {
		if more := len(names) - mostNamed; more > 0 {
			names = append(slices.Clone(names[:mostNamed]), fmt.Sprintf("and %d more", more))
		}
		if len(names) > 0 {
			attrs = append(attrs, slog.Any(key, names))
		}
	}
	note("added", changes.Added)
	note("redefined", changes.Redefined)
	note("removed", changes.Removed)
	if before := r.from.level.Level(); before != cfg.Log.Level {
		r.from.level.Set(cfg.Log.Level)
		attrs = append(attrs, slog.String("log_level", strings.ToLower(cfg.Log.Level.String())))
	}
	if keys := config.NeedsRestart(r.from.loaded, cfg); len(keys) > 0 {
		r.logger.Warn("the configuration has settings that cannot change while the worker runs; restart it to apply them",
			slog.String("file", string(r.from.file)), slog.Any("keys", keys))
	}
	if len(attrs) > 1 {
		r.count(metrics.ReloadApplied)
		r.logger.LogAttrs(ctx, slog.LevelInfo, "configuration reloaded", attrs...)
		return
	}
	r.count(metrics.ReloadUnchanged)
	level := slog.LevelDebug
	if asked || mended {
		level = slog.LevelInfo
	}
	r.logger.LogAttrs(ctx, level, "configuration read again, nothing changed", attrs...)
}

func (r *reloader) refuse(err error) {
	r.refused = true
	r.count(metrics.ReloadRefused)
	for _, fault := range singly(err) {
		r.logger.Error("configuration refused; the old configuration stays in force", slog.Any("error", fault))
	}
}

// singly returns the errors that err joins, each with all that it says.
func singly(err error) []error {
	if wrong, ok := err.(*configError); ok { //nolint:errorlint // what wraps one has more to say
		return singly(wrong.err)
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var all []error
	for _, e := range joined.Unwrap() {
		all = append(all, singly(e)...)
	}
	return all
}
