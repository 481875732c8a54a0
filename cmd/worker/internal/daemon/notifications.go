package daemon

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"

	"go.uber.org/fx"

	"github.com/solotick/solotick/cmd/worker/internal/stores"
	"github.com/solotick/solotick/config"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/notify"
	"github.com/solotick/solotick/scheduler"
)

// notifier is a notify.Notifier with what a reload replaces.
type notifier struct {
	*notify.Notifier
	jobs  atomic.Pointer[jobs.Registry]
	after atomic.Pointer[map[string]int]
}

// set takes the jobs of a configuration.
func (n *notifier) set(cfg *config.Config, registry *jobs.Registry) {
	after := map[string]int{}
	for _, job := range cfg.Jobs {
		after[job.Spec.Name] = job.Notify.After
	}
	n.jobs.Store(registry)
	n.after.Store(&after)
}

func provideNotifier(
	lc fx.Lifecycle, cfg *config.Config, s *stores.Store, registry *jobs.Registry, logger *slog.Logger,
) (*notifier, error) {
	n := new(notifier)
	n.set(cfg, registry)
	var err error
	n.Notifier, err = notify.New(s.Store, cfg.Notifications.Receivers,
		notify.WithReplica(cfg.Replica),
		notify.WithTTL(cfg.Lease.TTL),
		notify.WithInterval(cfg.Notifications.Interval),
		notify.WithConfirm(cfg.Notifications.Confirm),
		notify.WithJobs(func() []*jobs.Job { return n.jobs.Load().All() }),
		notify.WithAfter(func(job string) int { return (*n.after.Load())[job] }),
		notify.WithLogger(logger),
	)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	lc.Append(fx.StartStopHook(
		func() {
			running.Go(func() {
				if err := n.Run(ctx); ctx.Err() == nil {
					logger.Error("this replica sends no more notifications", slog.Any("error", err))
				}
			})
		},
		func() { stop(); running.Wait() },
	))
	return n, nil
}

// observe has the fleet looked at soon when a tick has gone wrong, and says of which key.
func (n *notifier) observe(e scheduler.Event) {
	switch e := e.(type) {
	case scheduler.RunSettled:
		if e.Outcome == wire.Failed || e.Outcome == protocol.OutcomeLost {
			n.Failed(e.Run.Job, e.Run.Key)
		}
	case scheduler.TicksSkipped:
		if e.Outcome == wire.Missed || e.Outcome == protocol.OutcomeLost {
			n.Failed(e.Job, e.Key)
		}
	default:
	}
}
