package daemon

import (
	"context"
	"log/slog"
	"time"

	"github.com/solotick/solotick/config"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/scheduler"
)

// logStart logs the replica, its jobs and its first tick, and warns when no job is for its groups.
func logStart(logger *slog.Logger, version string, cfg *config.Config, s *scheduler.Scheduler, registry *jobs.Registry) {
	attrs := []slog.Attr{
		slog.String("version", version), slog.String("replica", s.Replica()),
		slog.String("namespace", cfg.Namespace), slog.Int("jobs", len(s.Jobs())),
	}
	if cfg.MaxRuns > 0 {
		attrs = append(attrs, slog.Int("max_runs", cfg.MaxRuns))
	}
	if n := countLeaders(s.Jobs()); n > 0 {
		attrs = append(attrs, slog.Int("leader_tasks", n))
	}
	if name, tick := firstTick(s.Jobs(), registry, time.Now()); name != "" {
		attrs = append(attrs, slog.Time("next_tick", tick), slog.String("next_job", name))
	}
	logger.LogAttrs(context.Background(), slog.LevelInfo, "worker started", attrs...)

	if others := len(registry.All()) - len(s.Jobs()); others > 0 {
		level := slog.LevelInfo
		if len(s.Jobs()) == 0 {
			level = slog.LevelWarn
		}
		logger.Log(context.Background(), level, "some jobs are for replicas of other groups; groups says which this one serves",
			slog.Int("jobs", others), slog.Any("groups", cfg.Groups))
	}
}

// countLeaders returns the number of leader tasks, which have no ticks.
func countLeaders(served []scheduler.JobStatus) (n int) {
	for _, status := range served {
		if status.Leader {
			n++
		}
	}
	return n
}

// firstTick returns the first tick after now of the jobs that are not paused. The name is empty
// when there is none.
func firstTick(served []scheduler.JobStatus, registry *jobs.Registry, now time.Time) (name string, tick time.Time) {
	for _, status := range served {
		job, ok := registry.Get(status.Name)
		if !ok || job.Spec().Paused {
			continue
		}
		if t := job.Schedule().Next(now); !t.IsZero() && (name == "" || t.Before(tick)) {
			name, tick = status.Name, t
		}
	}
	return name, tick
}
