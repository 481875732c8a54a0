package cli

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/solotick/solotick/cmd/worker/internal/output"
	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease/protocol"
)

func (c *cli) trigger() *cobra.Command {
	var o fleet.TriggerOptions
	var w waiting
	var out format
	cmd := &cobra.Command{
		Use:   "trigger JOB",
		Short: "Ask the fleet to run a job once, now",
		Long: "trigger asks the fleet to run a job once, on one replica, and prints the tick's id. The job's rate, burst and overlap\n" +
			"hold across the fleet; a trigger that comes too soon is refused, with the time at which the next one may come. With\n" +
			"a key, triggers with the same one within the window are one. A paused job can be triggered.",
		Example: `  worker trigger nightly-report --config solotick.yaml
  worker trigger nightly-report --wait --timeout 10m
  worker trigger nightly-report --key deploy-4711 --window 1h --output json`,
		Args: jobArgument,
		RunE: func(cmd *cobra.Command, args []string) error {
			var faults []error
			var err error
			if o.By, err = c.by(o.By); err != nil {
				faults = append(faults, err)
			}
			if o.Key != "" && !jobs.ValidName(o.Key) {
				faults = append(faults, fmt.Errorf("--key: %q %s", o.Key, jobs.NameRule))
			}
			if window := cmd.Flags().Changed("window"); window && o.Key == "" {
				faults = append(faults, errors.New("--window: needs a --key, which is what it remembers"))
			} else if window && (o.Window < time.Millisecond || o.Window > mostWindow) {
				faults = append(faults, fmt.Errorf("--window: %q must be from 1ms to %s", o.Window, mostWindow))
			}
			if err := flagFaults(cmd, append(faults, w.check(cmd), out.check())...); err != nil {
				return err
			}
			if o.Key == "" {
				o.Window = 0
			}
			a, err := c.connect(cmd)
			if err != nil {
				return err
			}
			defer a.close()
			return c.triggerJob(a, args[0], o, w, out)
		},
	}
	whereFlags(cmd)
	cmd.Flags().StringVar(&o.Key, "key", "", "`KEY` that makes triggers with the same one within the window one")
	cmd.Flags().DurationVar(&o.Window, "window", fleet.DefaultWindow, "for how long the key is remembered, `D`")
	w.flags(cmd, "wait until the tick is settled, and print its outcome; exit 1 unless it succeeded")
	c.byFlag(cmd, &o.By)
	out.flag(cmd)
	return cmd
}

const mostWindow = 30 * 24 * time.Hour

func (c *cli) triggerJob(a *client, name string, o fleet.TriggerOptions, w waiting, out format) error {
	ctx := a.cmd.Context()
	job, err := a.findJob(ctx, name)
	if err != nil {
		return err
	}
	t, err := a.fleet.Trigger(ctx, name, o)
	if err != nil {
		return a.explain(name, err)
	}
	if out == asText && t.Accepted() {
		fmt.Fprintln(c.stdout, t.ID)
	}
	if !t.Accepted() {
		if out == asJSON {
			if err := writeJSON(c.stdout, t); err != nil {
				return err
			}
		}
		return refused(name, t, zone(job))
	}
	c.remark(a, name, t)
	if w.wait {
		e, err := c.await(a, name, t.Tick, w)
		if err != nil {
			return err
		}
		t.Entry = &e
	}
	if out == asJSON {
		if err := writeJSON(c.stdout, t); err != nil {
			return err
		}
	}
	return c.told(t.Entry, out)
}

// remark says on stderr what the one who triggers may not expect.
func (c *cli) remark(a *client, name string, t fleet.Triggered) {
	switch t.Status {
	case protocol.Repeated:
		fmt.Fprintln(c.stderr, "a trigger with this key came before: this is its tick")
	case protocol.Waiting:
		fmt.Fprintln(c.stderr, "a triggered tick waits already to be run, and serves this trigger too")
	default:
	}
	replicas, err := a.fleet.Replicas(a.cmd.Context())
	if err != nil {
		return
	}
	serving, unserved := fleet.Serving(name, replicas)
	if unserved {
		fmt.Fprintln(c.stderr, "warning: no replica that lives serves this job: it runs when one comes")
		return
	}
	if now, err := a.fleet.Now(a.cmd.Context()); err == nil && allSilent(serving, replicas, now) {
		fmt.Fprintf(c.stderr, "warning: no replica that serves this job has sent its heartbeat in time (%s): it runs when one of them is back, or another comes\n",
			output.List(serving))
	}
}

// allSilent reports whether every one of the replicas that serve a job has missed a heartbeat.
func allSilent(serving []string, replicas []fleet.Replica, now time.Time) bool {
	for _, r := range replicas {
		if slices.Contains(serving, r.ID) && !r.Silent(now) {
			return false
		}
	}
	return len(serving) > 0
}

// refused says why a trigger was not accepted, and when the next one may be.
func refused(job string, t fleet.Triggered, zone *time.Location) error {
	next := t.Next.Add(time.Millisecond - 1).Truncate(time.Millisecond)
	reason := "too many triggered ticks wait to be run"
	switch t.Limit {
	case protocol.LimitRate:
		reason = fmt.Sprintf("its rate is %s with a burst of %d", jobs.Rate{Count: 1, Per: t.Policy.Every}, t.Policy.Burst)
	case protocol.LimitKeys:
		reason = fmt.Sprintf("%d keys of triggers are remembered already", protocol.MaxKeys)
	}
	return fmt.Errorf("%s: refused: %s; the next trigger may come at %s, in %s", job, reason, output.Time(next, zone), t.Wait.Round(time.Millisecond))
}

// told prints the outcome that was waited for; one that is no success is the error.
func (c *cli) told(e *fleet.Entry, out format) error {
	if e == nil {
		return nil
	}
	text := fmt.Sprintf("%s on %s", fleet.Words(string(e.Outcome)), e.Replica)
	if !e.Started.IsZero() {
		text += fmt.Sprintf(" after %s, attempt %d", e.Took().Round(time.Millisecond), e.Attempts)
	}
	if e.Outcome == "succeeded" {
		if out == asText {
			fmt.Fprintln(c.stdout, output.Line(text))
		}
		return nil
	}
	text = e.ID + ": " + text
	if detail := why(fleet.Entry{Reason: e.Reason, Error: e.Error}, time.Time.String); detail != "" {
		text += ": " + detail
	}
	return errors.New(output.Line(text))
}
