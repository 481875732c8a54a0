package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/render"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
)

func (c *cli) cancel() *cobra.Command {
	var all bool
	var w waiting
	cmd := &cobra.Command{
		Use:   "cancel JOB [TICK]",
		Short: "End the run of a job: it is settled as cancelled",
		Long: "cancel ends the run of a job on any replica, and settles its tick as cancelled: the tick is not retried and never runs\n" +
			"again. The replica is notified at once and cancels the run: a command gets SIGTERM, and SIGKILL after its\n" +
			"kill_grace. If that replica is frozen or gone, the tick is settled when its lease runs out. A tick that only waits is\n" +
			"settled at once. Without a TICK it cancels the tick that runs; why says what a TICK can be. Later ticks run as\n" +
			"scheduled: pause the job to prevent that. To end a leader task, pause it.",
		Example: `  worker cancel nightly-report --config solotick.yaml
  worker cancel nightly-report 02:00 --by ops1
  worker cancel sync-orders --all --wait --timeout 1m`,
		Args: jobAndTick,
	}
	cmd.Flags().BoolVar(&all, "all", false, "cancel every tick of the job that runs or waits")
	w.flags(cmd, "wait until the run has ended, and print its outcome; exit 1 unless it is cancelled")
	return c.actCommand(cmd, func(args []string) (fault error) {
		if all && len(args) == 2 {
			fault = errors.New("--all: cancels every open tick of the job, so omit the TICK")
		}
		return errors.Join(fault, w.check(cmd))
	}, func(call invocation) error { return c.cancelJob(call, all, w) })
}

func (c *cli) cancelJob(call invocation, all bool, w waiting) error {
	name, zone := call.name, zone(call.job)
	if call.job != nil && call.job.Spec().Leader {
		return call.explain(name, fmt.Errorf("job %q: %w", name, fleet.ErrNotCancellable))
	}
	ticks, err := call.cancellable(call.ctx, name, call.job, call.args[1:], all)
	if err != nil {
		return err
	}
	done := make([]fleet.Cancelled, 0, len(ticks))
	var faults []error
	for _, tick := range ticks {
		d, err := call.ask.Cancel(call.ctx, name, tick, call.act)
		if err != nil {
			return call.explain(name, err)
		}
		if d.Status == protocol.CancelNotOpen {
			faults = append(faults, fmt.Errorf("%s: %s does not run or wait: see worker why %s '%s'", name, render.Time(tick, zone), name, render.Time(tick, zone)))
			continue
		}
		if w.wait && d.Status == protocol.CancelPending {
			e, err := c.await(call.ctx, call.client, name, tick, w)
			if err != nil {
				return err
			}
			d.Entry = &e
			if e.Outcome != protocol.OutcomeCancelled {
				faults = append(faults, fmt.Errorf("%s was settled as %s", d.ID, wire.Words(string(e.Outcome))))
			}
		}
		done = append(done, d)
		if call.out == asText {
			fmt.Fprintln(c.stdout, render.Line(cancelText(d, call.act.By, zone)))
		}
	}
	if call.out == asJSON {
		faults = append([]error{writeJSON(c.stdout, done)}, faults...)
	}
	return errors.Join(faults...)
}

// cancellable returns the tick that is named, all open ticks, or else the tick that runs, or the
// one that waits.
func (a *client) cancellable(ctx context.Context, name string, job *jobs.Job, tick []string, all bool) (ticks []time.Time, err error) {
	if len(tick) > 0 {
		t, err := a.tick(ctx, name, tick[0], job)
		return []time.Time{t}, err
	}
	j, _, err := a.statusOf(ctx, name)
	if err == nil && !j.Known {
		err = protocol.ErrUnknown
	}
	if err != nil {
		return nil, a.explain(name, err)
	}
	var waits []time.Time
	for _, e := range j.Open {
		switch {
		case e.Scheduled.IsZero():
			return nil, a.explain(name, fmt.Errorf("job %q: %w", name, fleet.ErrNotCancellable))
		case e.State == wire.StateWaiting:
			waits = append(waits, e.Scheduled)
		default:
			ticks = append(ticks, e.Scheduled)
		}
	}
	switch {
	case all:
		ticks = append(ticks, waits...)
	case len(ticks) == 0:
		ticks = waits
	}
	if len(ticks) == 0 {
		return nil, fmt.Errorf("%s: no tick runs or waits, so there is nothing to cancel", name)
	}
	if len(ticks) > 1 && !all {
		var texts []string
		for _, t := range ticks {
			texts = append(texts, render.Time(t, zone(job)))
		}
		return nil, &usageError{fmt.Errorf("%s: %d ticks are open: name one of them, or cancel all with --all: %s", name, len(ticks), render.List(texts)), a.cmd}
	}
	return ticks, nil
}

// cancelText describes the result of a cancel.
func cancelText(d fleet.Cancelled, by string, zone *time.Location) string {
	tick := fmt.Sprintf("%s, tick of %s", d.Job, render.Time(d.Tick, zone))
	before := ""
	if d.By != "" && d.By != by {
		before = ", by " + d.By
	}
	switch {
	case d.Entry != nil:
		return fmt.Sprintf("%s: %s on %s after %s", tick, wire.Words(string(d.Entry.Outcome)), d.Entry.Replica, d.Entry.Took().Round(time.Millisecond))
	case d.Status == protocol.CancelPending:
		return fmt.Sprintf("%s: cancelled%s; %s is notified, and has at most %s to end it", tick, before, d.Replica, d.Remaining.Round(100*time.Millisecond))
	}
	return fmt.Sprintf("%s: cancelled%s", tick, before)
}
