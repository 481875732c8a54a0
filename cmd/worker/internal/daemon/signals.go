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

// sameSignal is how soon after the first a signal is the same one, sent once to the process and once to its group, as
// shells, timeout(1) and process managers do.
const sameSignal = 500 * time.Millisecond

// CatchSignals keeps SIGHUP and SIGPIPE from ending this process, and returns a channel that receives SIGHUP. Several that
// arrive before one is received count as one.
//
// A write to a standard error without a reader then fails. Commands of jobs do not inherit that, as they would if SIGPIPE
// were ignored.
func CatchSignals() <-chan os.Signal {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	return hangups
}

// untilSignalled returns a context that ends with ctx or at the first SIGTERM or SIGINT. A second signal calls exit: who
// sends one does not want to wait any longer. Call stop when neither matters any more.
func untilSignalled(ctx context.Context, logger *slog.Logger, exit func(code int)) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	over := make(chan struct{})
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
			case <-over:
				return
			}
		}
	})
	return ctx, func() {
		signal.Stop(signals)
		close(over)
		listener.Wait()
		cancel()
	}
}
