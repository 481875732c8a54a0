package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/solotick/solotick/internal/render"
	"github.com/solotick/solotick/notify"
)

func (c *cli) notify() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "notify",
		Short: "Try the receivers of notifications",
		Long:  "notify has commands about the receivers of notifications: see docs/notifications.md.",
		Example: `  worker notify test --config solotick.yaml
  worker notify test --to ops --condition ok`,
		Args: func(cmd *cobra.Command, args []string) error {
			return &usageError{errors.New("which command? there is: test"), cmd}
		},
		RunE: func(*cobra.Command, []string) error { return nil },
	}
	cmd.AddCommand(c.notifyTest())
	return cmd
}

func (c *cli) notifyTest() *cobra.Command {
	var to []string
	condition := string(notify.Failed)
	cmd := &cobra.Command{
		Use:   "test",
		Short: "Send a notification to the configured receivers",
		Long: "test sends each receiver one notification that says it is a test, whatever jobs and conditions the receiver is for, and\n" +
			"prints what became of it. It does not ask the fleet, and tries each receiver once. It exits with 1 if any has not taken it.",
		Example: `  worker notify test --config solotick.yaml
  worker notify test --to ops --condition ok`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var fault error
			if !slices.Contains(notify.Conditions, notify.Condition(condition)) {
				fault = fmt.Errorf("--condition: %q must be one of %s", condition, list(notify.Conditions))
			}
			if err := flagFaults(cmd, fault); err != nil {
				return err
			}
			cfg, err := c.load(cmd)
			if err != nil {
				return err
			}
			receivers, err := chosen(cfg.Notifications.Receivers, to)
			if err := flagFaults(cmd, err); err != nil {
				return err
			}
			if len(receivers) == 0 {
				return fmt.Errorf("%s: notifications.receivers: there are none", c.file)
			}
			return c.sendTests(cmd.Context(), receivers, notify.Example(cfg.Namespace, "a-job", notify.Condition(condition), time.Now()))
		},
	}
	cmd.Flags().StringSliceVar(&to, "to", nil, "only to the receiver of that `NAME`; can be repeated")
	cmd.Flags().StringVar(&condition, "condition", condition, "`CONDITION` of the job: "+list(notify.Conditions))
	return cmd
}

func (c *cli) sendTests(ctx context.Context, receivers []notify.Receiver, n notify.Notification) error {
	failed := 0
	for _, r := range receivers {
		text := "has taken it"
		if err := notify.Send(ctx, r, n, n.At); err != nil {
			failed++
			text = "failed: " + err.Error()
		}
		if _, err := fmt.Fprintf(c.stdout, "%s (%s) %s\n", r.Name, r.Kind, render.Line(text)); err != nil {
			return err
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %s have not taken it", failed, render.Count(len(receivers), "receiver"))
	}
	return nil
}

// chosen returns the receivers of these names; all when there are none.
func chosen(all []notify.Receiver, names []string) ([]notify.Receiver, error) {
	if len(names) == 0 {
		return all, nil
	}
	var list []notify.Receiver
	var faults []error
	for _, name := range names {
		i := slices.IndexFunc(all, func(r notify.Receiver) bool { return r.Name == name })
		if i < 0 {
			faults = append(faults, fmt.Errorf("--to: %q is no receiver of this configuration", name))
			continue
		}
		list = append(list, all[i])
	}
	return list, errors.Join(faults...)
}

func list[T ~string](words []T) string {
	texts := make([]string, len(words))
	for i, w := range words {
		texts[i] = string(w)
	}
	return strings.Join(texts, ", ")
}
