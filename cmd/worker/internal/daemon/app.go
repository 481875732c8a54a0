package daemon

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"go.uber.org/dig"
	"go.uber.org/fx"
	"go.uber.org/fx/fxevent"

	"github.com/solotick/solotick/cmd/worker/internal/registry"
	"github.com/solotick/solotick/cmd/worker/internal/stores"
	"github.com/solotick/solotick/cmd/worker/internal/tracing"
	"github.com/solotick/solotick/config"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/jobs/exec"
	"github.com/solotick/solotick/metrics"
	"github.com/solotick/solotick/scheduler"
)

// failures holds the first error of a part that runs in the background and cannot continue.
type failures chan error

func (f failures) report(err error) {
	select {
	case f <- err:
	default: // the first one stops the worker
	}
}

// replica has the parts of a running replica.
//
// fx stops them in the reverse order of their start. Reloads stop first, so that the jobs do not
// change any more. The scheduler is next: it drains while the server still serves metrics and
// health. Then the server stops, and last the store and the supervisor, which runs need.
var replica = fx.Options(
	fx.Provide(
		func() failures { return make(failures, 1) },
		provideMetrics,
		func() *readiness { return new(readiness) },
		provideStore,
		provideSupervisor,
		provideRegistry,
		provideTracing,
		provideNotifier,
		provideScheduler,
		provideConsole,
		provideServer,
		provideStatus,
	),
	fx.Invoke(runScheduler, runReloader),
	fx.WithLogger(func() fxevent.Logger { return fxevent.NopLogger }), // app.Err returns errors; the parts log the rest
)

// serve starts the parts, waits until ctx ends or a part fails, and stops them within the
// configured limits.
func (w *Worker) serve(ctx context.Context) error {
	var failed failures
	var status statusText
	logger := w.logger
	app := fx.New(replica, fx.Supply(w.options, w.cfg, logger, w.log, w.from), fx.Populate(&failed, &status), fx.StopTimeout(stopTimeout(w.cfg.ShutdownGrace)))
	if err := app.Err(); err != nil {
		return dig.RootCause(err)
	}
	notifier := newSupervised(w.options.Env, logger)
	background := context.WithoutCancel(ctx)
	starting, cancel := context.WithTimeout(background, app.StartTimeout())
	defer cancel()
	if err := app.Start(starting); err != nil {
		return err
	}
	notifier.started(status)
	defer notifier.stop()
	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
		logger.Error("the worker stops because of an error", slog.Any("error", err))
	}
	notifier.stopping()
	stopping, cancel := context.WithTimeout(background, app.StopTimeout())
	defer cancel()
	err = errors.Join(err, app.Stop(stopping))
	logger.Info("worker stopped", slog.Bool("clean", err == nil))
	return err
}

// stopTimeout is the timeout of the whole stop. Runs have their grace, cancelled runs 11 s to
// return, the server 3 s, and the supervisor 10 s.
func stopTimeout(grace time.Duration) time.Duration {
	const rest = 30 * time.Second
	return min(grace, 365*24*time.Hour) + rest // without overflow
}

func provideStore(lc fx.Lifecycle, cfg *config.Config, m *metrics.Metrics, logger *slog.Logger) (*stores.Store, error) {
	s, err := stores.Open(cfg, stores.CallTimeout(cfg), logger, m.CountRedisCommands)
	if err != nil {
		return nil, err
	}
	lc.Append(fx.StopHook(s.Close))
	return s, nil
}

func provideMetrics(o Options, cfg *config.Config) *metrics.Metrics {
	options := []metrics.Option{metrics.WithVersion(o.Version)}
	if cfg.HTTP.Metrics.JobHistograms {
		options = append(options, metrics.WithJobHistograms())
	}
	return metrics.New(options...)
}

func provideSupervisor(lc fx.Lifecycle, logger *slog.Logger) *exec.Supervisor {
	reaping, stop := context.WithCancel(context.Background())
	var reaper sync.WaitGroup
	lc.Append(fx.StartStopHook(
		func() { reaper.Go(func() { exec.ReapOrphans(reaping) }) },
		func() { stop(); reaper.Wait() },
	))
	supervisor := exec.NewSupervisor([]string{SupervisorCommand}, exec.WithLogger(logger))
	lc.Append(fx.StopHook(supervisor.Close)) // runs before the reaper stops
	return supervisor
}

func provideRegistry(
	cfg *config.Config, from *source, supervisor *exec.Supervisor, s *stores.Store, logger *slog.Logger,
) (*jobs.Registry, error) {
	return registry.New(cfg, from.file.Path, &registry.Runtime{Supervisor: supervisor, Logger: logger, Streams: s.Streams})
}

// provideTracing makes what exports spans. It stops after the scheduler, whose runs they are of.
func provideTracing(lc fx.Lifecycle, o Options, cfg *config.Config, logger *slog.Logger) (tracing.Provider, error) {
	made, err := tracing.New(tracing.Options{
		Tracing: cfg.Tracing, Env: o.Env, Namespace: cfg.Namespace, Replica: cfg.Replica, Version: o.Version, Logger: logger,
	})
	if err != nil {
		return nil, err
	}
	lc.Append(fx.StopHook(made.Close))
	return made, nil
}

func provideScheduler(
	o Options, cfg *config.Config, s *stores.Store, registry *jobs.Registry, traces tracing.Provider, n *notifier, m *metrics.Metrics, ready *readiness, logger *slog.Logger,
) (*scheduler.Scheduler, error) {
	made, err := scheduler.New(s.Store, registry,
		scheduler.WithReplica(cfg.Replica),
		scheduler.WithTTL(cfg.Lease.TTL),
		scheduler.WithShutdownGrace(cfg.ShutdownGrace),
		scheduler.WithGroups(cfg.Groups...),
		scheduler.WithMaxRuns(cfg.MaxRuns),
		scheduler.WithVersion(o.Version),
		scheduler.WithWrappers(traces.Wrapper()),
		scheduler.WithSyncObserver(ready.observe),
		scheduler.WithSyncObserver(m.Observe),
		scheduler.WithSyncObserver(n.observe),
		scheduler.WithObserver(logEvents(s, logger)),
	)
	if err != nil {
		return nil, err
	}
	m.Watch(made)
	return made, nil
}

func provideConsole(
	lc fx.Lifecycle, cfg *config.Config, s *stores.Store, registry *jobs.Registry, logger *slog.Logger,
) (*pages, error) {
	made, err := newPages(s.Store, cfg.HTTP, registry, logger, doctorOf(s, cfg))
	if err != nil {
		return nil, err
	}
	lc.Append(fx.StopHook(made.console.Close))
	return made, nil
}

func provideServer(
	lc fx.Lifecycle, cfg *config.Config, s *scheduler.Scheduler, p *pages, n *notifier, m *metrics.Metrics, ready *readiness, failed failures,
	logger *slog.Logger, log *LogWriter,
) *server {
	series := prometheus.NewRegistry()
	series.MustRegister(m, metrics.NewNotifications(n.States), log.metric(), collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	reason := func() string { return ready.reason(s.Ready()) }
	var scraped http.Handler = newScrapes(series, logger)
	if cfg.HTTP.Metrics.NeedsToken {
		scraped = p.console.Protect(scraped)
	}
	made := newServer(cfg.HTTP, newHandler(scraped, reason, p.console), logger)
	made.http.RegisterOnShutdown(p.console.Close) // a stream would outlast the timeout of the stop
	lc.Append(fx.Hook{
		OnStart: func(ctx context.Context) error { return made.start(ctx, failed.report) },
		OnStop:  made.stop,
	})
	return made
}

// runScheduler starts the scheduler after all other parts, and so stops it before them. It takes
// the server to be ordered after it.
func runScheduler(
	lc fx.Lifecycle, o Options, s *scheduler.Scheduler, _ *server, st *stores.Store, registry *jobs.Registry, cfg *config.Config,
	ready *readiness, failed failures, logger *slog.Logger,
) {
	ctx, stop := context.WithCancel(context.Background())
	var check sync.WaitGroup
	lc.Append(fx.Hook{
		OnStart: func(context.Context) error {
			checked, unreachable := make(chan error, 1), make(chan struct{})
			check.Go(func() { checked <- checkStoreAtStart(ctx, st, cfg, logger, func() { close(unreachable) }) })
			timeout := time.NewTimer(startTimeout)
			defer timeout.Stop()
			select {
			case err := <-checked:
				if err != nil {
					stop()
					return err
				}
				close(checked)
			case <-unreachable:
			case <-timeout.C:
			}
			check.Go(func() {
				if err := <-checked; err != nil {
					failed.report(err)
				}
			})
			logStart(logger, o.Version, cfg, s, registry)
			return s.Start()
		},
		OnStop: func(timeout context.Context) error {
			ready.draining.Store(true)
			stop()
			err := s.Shutdown(timeout)
			check.Wait()
			return err
		},
	})
}
