package daemon

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/solotick/solotick/cmd/worker/internal/exitcode"
)

// sameSignal is the time within which a second signal counts as the first one. Shells, timeout(1)
// and process managers send one to the process and one to its group.
const sameSignal = 500 * time.Millisecond

// CatchSignals keeps SIGHUP and SIGPIPE from ending this process. It returns a channel that
// receives SIGHUP; several signals count as one until it is received.
//
// A write to a standard error without a reader then fails. Commands of jobs do not inherit that,
// which they would if SIGPIPE were ignored.
func CatchSignals() <-chan os.Signal {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	return hangups
}

// untilSignalled returns a context that ends with ctx or at the first SIGTERM or SIGINT. A second
// signal calls exit. stop ends both.
func untilSignalled(ctx context.Context, logger *slog.Logger, exit func(code int)) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	stopped := make(chan struct{})
	var listener sync.WaitGroup
	listener.Go(func() {
		var first time.Time
		for {
			select {
			case s := <-signals:
				switch {
				case first.IsZero():
					first = time.Now()
					logger.Info("stopping; another signal stops at once", slog.String("signal", s.String()))
					cancel()
				case time.Since(first) >= sameSignal:
					logger.Error("second signal, stopping at once", slog.String("signal", s.String()))
					exit(exitcode.Failed)
				}
			case <-stopped:
				return
			}
		}
	})
	return ctx, func() {
		signal.Stop(signals)
		close(stopped)
		listener.Wait()
		cancel()
	}
}
