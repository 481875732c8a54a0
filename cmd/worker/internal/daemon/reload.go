package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"go.uber.org/fx"

	"github.com/solotick/solotick/cmd/worker/internal/configfile"
	"github.com/solotick/solotick/cmd/worker/internal/registry"
	"github.com/solotick/solotick/cmd/worker/internal/stores"
	"github.com/solotick/solotick/config"
	"github.com/solotick/solotick/internal/joined"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/jobs/exec"
	"github.com/solotick/solotick/metrics"
	"github.com/solotick/solotick/scheduler"
)

const (
	// pollInterval is the time between two reads of the file. A change is found by its content, not
	// by its modification time. That works with editors that rename, with the symbolic links of
	// Kubernetes and with network file systems. It ignores a touch. A file of a thousand jobs takes
	// a millisecond to read.
	pollInterval = time.Second

	// maxNamed is the number of jobs that the log line of a reload names.
	maxNamed = 100

	// reloadStopTimeout is how long a stop waits for a read of the file, which may hang on a
	// network file system.
	reloadStopTimeout = 2 * time.Second
)

// reloader applies the configuration file to the jobs, when its content changes and on SIGHUP. It
// is used by one goroutine.
type reloader struct {
	from   *source
	parse  func(configfile.Snapshot) (*config.Config, error)
	make   func(*config.Config) (*jobs.Registry, error)
	update func(*config.Config, *jobs.Registry) scheduler.Changes
	count  func(changed bool, fault error)
	logger *slog.Logger

	handled [32]byte // the hash of the snapshot that was applied or refused last
	seen    [32]byte // the hash of the last snapshot
	refused bool     // the last snapshot was refused
}

func newReloader(from *source, logger *slog.Logger) *reloader {
	return &reloader{from: from, parse: from.file.Parse, logger: logger, handled: from.hash, seen: from.hash}
}

func runReloader(
	lc fx.Lifecycle, from *source, s *scheduler.Scheduler, p *pages, n *notifier, st *stores.Store, supervisor *exec.Supervisor, m *metrics.Metrics, logger *slog.Logger,
) {
	r := newReloader(from, logger)
	r.count = m.CountReload
	r.make = func(cfg *config.Config) (*jobs.Registry, error) {
		if err := stores.Check(cfg); err != nil {
			return nil, err // a restart would fail
		}
		cfg.SecretVariables = append(cfg.SecretVariables, from.loaded.SecretVariables...) // of settings that only a restart changes
		return registry.New(cfg, from.file.Path, &registry.Runtime{Supervisor: supervisor, Logger: logger, Streams: st.Streams})
	}
	r.update = func(cfg *config.Config, registry *jobs.Registry) scheduler.Changes {
		changes := s.Update(registry)
		m.Watch(s)
		p.registry.Store(registry)
		n.set(cfg, registry)
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
			timeout := time.NewTimer(reloadStopTimeout)
			defer timeout.Stop()
			select {
			case <-ended:
			case <-timeout.C: // it does not apply what it reads later
			case <-limit.Done():
			}
			return nil
		},
	})
}

// run polls the file and waits for SIGHUP until ctx ends.
func (r *reloader) run(ctx context.Context) {
	var polls <-chan time.Time
	if r.from.watched {
		ticker := time.NewTicker(pollInterval)
		defer ticker.Stop()
		polls = ticker.C
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-polls:
			r.poll(ctx)
		case <-r.from.hangups:
			r.reload(ctx, r.from.file.Reread(), true)
		}
	}
}

// poll reloads the file when two reads had the same new content. A file that is being written is
// thus read when it is complete.
func (r *reloader) poll(ctx context.Context) {
	now := r.from.file.Reread()
	before := r.seen
	r.seen = now.Hash
	if now.Hash != r.handled && now.Hash == before {
		r.reload(ctx, now, false)
	}
}

// reload applies a snapshot, or refuses it as a whole. requested says that somebody expects a line
// in the log.
func (r *reloader) reload(ctx context.Context, now configfile.Snapshot, requested bool) {
	r.handled, r.seen = now.Hash, now.Hash
	cfg, err := r.parse(now)
	var registry *jobs.Registry
	if err == nil {
		registry, err = r.make(cfg)
	}
	if ctx.Err() != nil {
		return // the worker stops; its jobs do not change any more
	}
	if err != nil {
		r.refuse(err)
		return
	}
	changes := r.update(cfg, registry)
	recovered := r.refused
	r.refused = false

	attrs := []slog.Attr{slog.String("file", r.from.file.Path)}
	note := func(key string, names []string) {
		if more := len(names) - maxNamed; more > 0 {
			names = append(slices.Clone(names[:maxNamed]), fmt.Sprintf("and %d more", more))
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
			slog.String("file", r.from.file.Path), slog.Any("keys", keys))
	}
	if len(attrs) > 1 {
		r.count(true, nil)
		r.logger.LogAttrs(ctx, slog.LevelInfo, "configuration reloaded", attrs...)
		return
	}
	r.count(false, nil)
	level := slog.LevelDebug
	if requested || recovered {
		level = slog.LevelInfo
	}
	r.logger.LogAttrs(ctx, level, "configuration read again, nothing changed", attrs...)
}

func (r *reloader) refuse(err error) {
	r.refused = true
	r.count(false, err)
	for _, fault := range joined.Errors(err) {
		r.logger.Error("configuration refused; the old configuration stays in force", slog.Any("error", fault))
	}
}
