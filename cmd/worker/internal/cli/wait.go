package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/solotick/solotick/fleet"
)

// waiting is how long a command waits for an outcome.
type waiting struct {
	wait    bool
	timeout time.Duration // 0: as long as a live replica serves the job
}

func (w *waiting) flags(cmd *cobra.Command, usage string) {
	cmd.Flags().BoolVar(&w.wait, "wait", false, usage)
	cmd.Flags().DurationVar(&w.timeout, "timeout", 0,
		"with --wait: give up after `D`, exit 1 (default: never while a live replica serves the job, else after "+unservedLimit.String()+")")
}

func (w *waiting) check(cmd *cobra.Command) error {
	switch given := cmd.Flags().Changed("timeout"); {
	case given && !w.wait:
		return errors.New("--timeout: needs --wait, which is what it bounds")
	case given && w.timeout <= 0:
		return fmt.Errorf("--timeout: %q must be above 0s", w.timeout)
	}
	return nil
}

const (
	unservedLimit = 30 * time.Second // for a replica that serves the job
	unservedLook  = 2 * time.Second  // between two looks whether one does
)

// errLook and errTimeout tell why a wait has ended.
var (
	errLook    = errors.New("time to look who serves the job")
	errTimeout = errors.New("--timeout")
)

// await waits until a tick is settled. It gives up after the timeout, or without one when no live
// replica has served the job for a while.
func (c *cli) await(a *client, name string, tick time.Time, w waiting) (fleet.Entry, error) {
	ctx := a.cmd.Context()
	if w.timeout > 0 {
		limited, cancel := context.WithTimeoutCause(ctx, w.timeout, errTimeout)
		defer cancel()
		ctx = limited
	}
	var unserved time.Time // since when nobody serves the job; zero when somebody does
	for {
		look, cancel := context.WithTimeoutCause(ctx, unservedLook, errLook)
		e, err := a.fleet.Await(look, name, tick)
		cancel()
		switch {
		case err == nil:
			return e, nil
		case errors.Is(err, errTimeout):
			return e, fmt.Errorf("%s is not settled after %s: see worker why %s", name, w.timeout, name)
		case !errors.Is(err, errLook):
			return e, a.explain(name, err)
		case w.timeout > 0:
			continue
		}
		replicas, err := a.fleet.Replicas(ctx)
		if err != nil {
			continue // Await says so in the end
		}
		if _, nobody := fleet.Serving(name, replicas); !nobody {
			unserved = time.Time{}
		} else if unserved.IsZero() {
			unserved = time.Now()
		} else if since := time.Since(unserved); since > unservedLimit {
			return e, fmt.Errorf("%s is not settled, and no live replica has served it for %s: it runs when one comes; wait longer with --timeout",
				name, since.Round(time.Second))
		}
	}
}
