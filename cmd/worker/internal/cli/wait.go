package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/solotick/solotick/fleet"
)

// waiting has the flags of a command that waits for an outcome.
type waiting struct {
	wait    bool
	timeout time.Duration // 0: as long as a live replica serves the job
}

func (w *waiting) flags(cmd *cobra.Command, usage string) {
	cmd.Flags().BoolVar(&w.wait, "wait", false, usage)
	cmd.Flags().DurationVar(&w.timeout, "timeout", 0,
		"with --wait: give up after `D`, exit 1 (default: not while a live replica serves the job, else after "+unservedTimeout.String()+")")
}

func (w *waiting) check(cmd *cobra.Command) error {
	switch given := cmd.Flags().Changed("timeout"); {
	case given && !w.wait:
		return errors.New("--timeout: needs --wait")
	case given && w.timeout <= 0:
		return fmt.Errorf("--timeout: %q must be above 0s", w.timeout)
	}
	return nil
}

const (
	unservedTimeout = 30 * time.Second // without a live replica that serves the job
	unservedPoll    = 2 * time.Second  // between two checks for such a replica
)

// errPoll and errTimeout are the causes that end a wait.
var (
	errPoll    = errors.New("time to check who serves the job")
	errTimeout = errors.New("--timeout")
)

// await waits until a tick is settled. It gives up after the timeout. Without one, it gives up when
// no live replica has served the job for 30 s.
func (c *cli) await(ctx context.Context, a *client, name string, tick time.Time, w waiting) (fleet.Entry, error) {
	if w.timeout > 0 {
		limited, cancel := context.WithTimeoutCause(ctx, w.timeout, errTimeout)
		defer cancel()
		ctx = limited
	}
	var unserved time.Time // since when no live replica serves the job; zero while one does
	for {
		poll, cancel := context.WithTimeoutCause(ctx, unservedPoll, errPoll)
		e, err := a.ask.Await(poll, name, tick)
		cancel()
		switch {
		case err == nil:
			return e, nil
		case errors.Is(err, errTimeout):
			return e, fmt.Errorf("%s is not settled after %s: see worker why %s", name, w.timeout, name)
		case !errors.Is(err, errPoll):
			return e, a.explain(name, err)
		case w.timeout > 0:
			continue
		}
		j, _, failed := a.statusOf(ctx, name)
		if failed == nil && !j.Unserved {
			unserved = time.Time{}
		} else if unserved.IsZero() {
			unserved = time.Now()
		} else if since := time.Since(unserved); since > unservedTimeout {
			if failed != nil {
				return e, a.explain(name, failed)
			}
			return e, fmt.Errorf("%s is not settled, and no live replica has served it for %s: it runs when one starts; wait longer with --timeout",
				name, since.Round(time.Second))
		}
	}
}
