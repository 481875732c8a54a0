package daemon

import (
	"context"
	"log/slog"
	"sync"

	"github.com/solotick/solotick/cmd/worker/internal/sdnotify"
	"github.com/solotick/solotick/scheduler"
)

// statusText returns what the replica does, for people. It looks at every job, so it does not
// return while one of them is stuck.
type statusText func() string

func provideStatus(s *scheduler.Scheduler, ready *readiness) statusText {
	return func() string {
		s.Jobs() // waits for the lock of each
		if reason := ready.reason(s.Ready()); reason != "" {
			return reason
		}
		return "ready"
	}
}

// supervised notifies systemd, where that has started the worker.
type supervised struct {
	notifier *sdnotify.Notifier
	logger   *slog.Logger
	end      context.CancelFunc
	beat     sync.WaitGroup
}

// newSupervised reads systemd's variables, and hides them from the commands of jobs: call it before
// the first run.
func newSupervised(env func(string) (string, bool), logger *slog.Logger) *supervised {
	notifier, err := sdnotify.FromEnvironment(env)
	s := &supervised{notifier: notifier, logger: logger}
	s.log(err)
	s.log(sdnotify.HideFromChildren())
	return s
}

// started says that the replica has started: it serves HTTP, and contends for ticks as soon as the
// store answers. A store that does not answer is in the status; a restart would not help.
func (s *supervised) started(status statusText) {
	s.log(s.notifier.Ready())
	ctx, end := context.WithCancel(context.Background())
	s.end = end
	s.beat.Go(func() { s.notifier.Beat(ctx, status) })
}

// stopping says that the replica has begun to stop. The signs of life go on until stop.
func (s *supervised) stopping() { s.log(s.notifier.Stopping()) }

func (s *supervised) stop() {
	s.end()
	s.beat.Wait()
}

func (s *supervised) log(err error) {
	if err != nil {
		s.logger.Warn("the worker cannot notify systemd", slog.Any("error", err))
	}
}
