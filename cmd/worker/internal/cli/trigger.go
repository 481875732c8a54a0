package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/naming"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/render"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
)

func (c *cli) trigger() *cobra.Command {
	var o fleet.TriggerOptions
	var w waiting
	var payload string
	cmd := &cobra.Command{
		Use:   "trigger JOB",
		Short: "Ask the fleet to run a job once, now",
		Long: "trigger asks the fleet to run a job once, on one replica, and prints the tick's id. The fleet applies the job's rate,\n" +
			"burst and overlap; it refuses a trigger that is too early, and says when the next one is possible. Triggers with the\n" +
			"same key within the window count as one. A paused job can be triggered.\n\n" +
			"A payload is a text for the run, such as JSON, of at most 4096 bytes: commands have it as SOLOTICK_PAYLOAD. Arguments can be\n" +
			"seen by everybody on this machine, so give a secret as @FILE, such as @/dev/stdin. History and logs have its size only.",
		Example: `  worker trigger nightly-report --config solotick.yaml
  worker trigger nightly-report --wait --timeout 10m
  worker trigger nightly-report --key deploy-4711 --window 1h --output json
  worker trigger reindex --payload '{"tenant": 7}'
  worker trigger reindex --payload @tenants.json`,
		Args: jobArgument,
	}
	cmd.Flags().StringVar(&o.Key, "key", "", "`KEY`: triggers with the same key within the window count as one")
	cmd.Flags().DurationVar(&o.Window, "window", wire.DefaultWindow, "how long the fleet remembers the key, `D`")
	cmd.Flags().StringVar(&payload, "payload", "", "`TEXT` or @FILE: given to the run; at most 4096 bytes of UTF-8")
	w.flags(cmd, "wait until the tick is settled, and print its outcome; exit 1 unless it succeeded")
	return c.actCommand(cmd, func([]string) error {
		var faults []error
		if o.Key != "" && !naming.Valid(o.Key) {
			faults = append(faults, fmt.Errorf("--key: %q %s", o.Key, naming.Rule))
		}
		if window := cmd.Flags().Changed("window"); window && o.Key == "" {
			faults = append(faults, errors.New("--window: needs a --key"))
		} else if window && (o.Window < time.Millisecond || o.Window > maxWindow) {
			faults = append(faults, fmt.Errorf("--window: %q must be from 1ms to %s", o.Window, maxWindow))
		}
		var err error
		if o.Payload, err = payloadOf(payload); err != nil {
			faults = append(faults, err)
		}
		return errors.Join(append(faults, w.check(cmd))...)
	}, func(call invocation) error {
		o.By, o.Reason, o.Via = call.act.By, call.act.Reason, call.act.Via
		if o.Key == "" {
			o.Window = 0
		}
		return c.triggerJob(call, o, w)
	})
}

// payloadOf reads the argument of --payload. No error shows it.
func payloadOf(argument string) (jobs.Payload, error) {
	text, of := argument, ""
	if path, found := strings.CutPrefix(argument, "@"); found {
		file, err := os.Open(path)
		if err != nil {
			return "", fmt.Errorf("--payload: %w", err)
		}
		defer func() { _ = file.Close() }() // was only read
		of = fmt.Sprintf(" in %q", path)
		read, err := io.ReadAll(io.LimitReader(file, protocol.MaxPayload+1))
		if err != nil {
			return "", fmt.Errorf("--payload: %w", err)
		}
		text = string(read)
	}
	if !protocol.ValidPayload(text) {
		return "", fmt.Errorf("--payload: the text%s %s", of, protocol.PayloadRule)
	}
	return jobs.Payload(text), nil
}

const maxWindow = 30 * 24 * time.Hour

func (c *cli) triggerJob(call invocation, o fleet.TriggerOptions, w waiting) error {
	name := call.name
	t, err := call.ask.Trigger(call.ctx, name, o)
	if err != nil {
		return call.explain(name, err)
	}
	if !t.Accepted() {
		if call.out == asJSON {
			if err := writeJSON(c.stdout, t); err != nil {
				return err
			}
		}
		return refusal(name, t, zone(call.job))
	}
	if call.out == asText {
		fmt.Fprintln(c.stdout, t.ID)
	}
	c.warn(call.ctx, call.client, name, t)
	if w.wait {
		e, err := c.await(call.ctx, call.client, name, t.Tick, w)
		if err != nil {
			return err
		}
		t.Entry = &e
	}
	if call.out == asJSON {
		if err := writeJSON(c.stdout, t); err != nil {
			return err
		}
	}
	return c.printOutcome(t.Entry, call.out)
}

// warn prints to stderr what the caller may not expect of a trigger.
func (c *cli) warn(ctx context.Context, a *client, name string, t fleet.Triggered) {
	switch t.Status {
	case protocol.Repeated:
		fmt.Fprintln(c.stderr, "an earlier trigger had this key: this is its tick")
	case protocol.Waiting:
		fmt.Fprintln(c.stderr, "a triggered tick already waits to run: it serves this trigger, too")
	default:
	}
	j, all, err := a.statusOf(ctx, name)
	if err != nil {
		return
	}
	if j.Unserved {
		fmt.Fprintln(c.stderr, "warning: no live replica serves this job: it runs when one starts")
		return
	}
	for _, r := range all.Replicas {
		if slices.Contains(j.Replicas, r.ID) && !r.Silent(all.Now) {
			return
		}
	}
	if len(j.Replicas) > 0 {
		fmt.Fprintf(c.stderr, "warning: no replica that serves this job has sent its heartbeat in time (%s): it runs when one of them is back, or another starts\n",
			render.List(j.Replicas))
	}
}

// refusal returns why a trigger was not accepted, and when the next one is possible.
func refusal(job string, t fleet.Triggered, zone *time.Location) error {
	next := t.Next.Add(time.Millisecond - 1).Truncate(time.Millisecond)
	return fmt.Errorf("%s: refused: %s; the next trigger is possible at %s, in %s", job, t.Refusal(), render.Time(next, zone), t.Wait.Round(time.Millisecond))
}

// printOutcome prints the outcome of a triggered tick. An outcome other than success is an error.
func (c *cli) printOutcome(e *fleet.Entry, out format) error {
	if e == nil {
		return nil
	}
	text := render.Line(render.Outcome(*e))
	if e.Outcome != wire.Succeeded {
		return errors.New(text)
	}
	if out == asText {
		fmt.Fprintln(c.stdout, text)
	}
	return nil
}
