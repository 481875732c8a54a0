package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/naming"
	"github.com/solotick/solotick/internal/render"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/schedules"
)

func (c *cli) scheduleDelete() *cobra.Command {
	var revision string
	cmd := &cobra.Command{
		Use:     "delete JOB KEY",
		Short:   "Delete the schedule of a key",
		Long:    "delete ends a schedule: no further tick runs. A run in progress continues: cancel ends it.",
		Example: `  worker schedules delete customer-report acme --reason "the contract has ended" --config solotick.yaml`,
	}
	cmd.Flags().StringVar(&revision, "if-revision", "", "delete it only if it has this `REVISION`")
	return c.keyCommand(cmd, c.actCommand, 1, 1, func(call invocation, s storedSchedules, key string) error {
		deleted, err := s.Delete(call.ctx, key, call.as(revision)...)
		if err == nil && !deleted {
			err = schedules.ErrNotFound
		}
		if err != nil {
			return call.ofSchedule(err, key)
		}
		return call.print(struct {
			Key     string `json:"key"`
			Deleted bool   `json:"deleted"`
		}{key, true}, key+" is deleted", nil)
	})
}

// changed is the JSON output of pause and resume.
type changed struct {
	Job     string `json:"job"`
	Key     string `json:"key,omitempty"`
	Prefix  string `json:"prefix,omitempty"`
	Paused  bool   `json:"paused"`
	Changed int    `json:"changed"` // how many schedules
}

// switchCommand completes pause and resume.
func (c *cli) switchCommand(cmd *cobra.Command, paused bool,
	one func(call invocation, s storedSchedules, key string) (bool, error),
	several func(call invocation, s *schedules.Schedules, prefix string) (int, error),
) *cobra.Command {
	var prefix string
	cmd.Flags().StringVar(&prefix, "prefix", "", "all whose keys begin with `TEXT`, in place of KEY; \"\" is every one")
	return c.keyCommand(cmd, c.actCommand, 0, 1, func(call invocation, s storedSchedules, key string) error {
		if by := call.cmd.Flags().Changed("prefix"); by == (key != "") {
			return flagFaults(call.cmd, errors.New("give either a KEY or --prefix"))
		}
		answer, verb := changed{Job: call.name, Key: key, Prefix: prefix, Paused: paused}, cmd.Name()+"d"
		if key == "" {
			all, err := call.inStore(s)
			if err != nil {
				return err
			}
			n, err := several(call, all, prefix)
			answer.Changed = n
			return call.print(answer, fmt.Sprintf("%s %s", render.Count(n, "schedule"), verb), call.ofSchedule(err, ""))
		}
		did, err := one(call, s, key)
		text := fmt.Sprintf("%s is %s", key, verb)
		if did {
			answer.Changed = 1
		} else if !paused {
			text = key + " was not paused"
		}
		return call.print(answer, text, call.ofSchedule(err, key))
	})
}

func (c *cli) schedulePause() *cobra.Command {
	return c.switchCommand(&cobra.Command{
		Use:   "pause JOB [KEY]",
		Short: "Skip the ticks of schedules, until resume",
		Long: "pause skips the ticks of a schedule, or of all whose keys begin with a prefix. worker pause JOB pauses all of a job at\n" +
			"once, and those that are put later.",
		Example: `  worker schedules pause customer-report acme --reason "not paid" --config solotick.yaml
  worker schedules pause customer-report --prefix eu-`,
	}, true, func(call invocation, s storedSchedules, key string) (bool, error) {
		return true, s.Pause(call.ctx, key, call.act)
	}, func(call invocation, s *schedules.Schedules, prefix string) (int, error) {
		return s.PausePrefix(call.ctx, prefix, call.act)
	})
}

func (c *cli) scheduleResume() *cobra.Command {
	return c.switchCommand(&cobra.Command{
		Use:     "resume JOB [KEY]",
		Short:   "End the pause of schedules",
		Long:    "resume ends the pause of a schedule, or of all whose keys begin with a prefix. Ticks that were due stay skipped.",
		Example: `  worker schedules resume customer-report acme --config solotick.yaml`,
	}, false, func(call invocation, s storedSchedules, key string) (bool, error) {
		return s.Resume(call.ctx, key, call.act)
	}, func(call invocation, s *schedules.Schedules, prefix string) (int, error) {
		return s.ResumePrefix(call.ctx, prefix, call.act)
	})
}

func (c *cli) scheduleTrigger() *cobra.Command {
	var o fleet.TriggerOptions
	var w waiting
	var payload string
	cmd := &cobra.Command{
		Use:   "trigger JOB KEY",
		Short: "Run the job once, now, for a key",
		Long:  "trigger runs the job once for a key that has a schedule, with the payload of that schedule or another one.",
		Example: `  worker schedules trigger customer-report acme --config solotick.yaml
  worker schedules trigger customer-report acme --wait --timeout 10m`,
	}
	cmd.Flags().StringVar(&payload, "payload", "", "`TEXT` or @FILE: given to the run in place of the schedule's payload")
	w.flags(cmd, "wait until the tick is settled, and print its outcome; exit 1 unless it succeeded")
	return c.keyCommand(cmd, c.actCommand, 1, 1, func(call invocation, s storedSchedules, key string) error {
		var err error
		o.Payload, err = payloadOf(payload)
		if err := flagFaults(call.cmd, err, w.check(cmd)); err != nil {
			return err
		}
		row, err := s.Get(call.ctx, key)
		if err != nil {
			return call.ofSchedule(err, key)
		}
		if payload == "" {
			o.Payload = jobs.Payload(row.Payload)
		}
		o.By, o.Reason, o.Via = call.act.By, call.act.Reason, call.act.Via
		call.name, call.job = naming.Keyed(call.name, key), nil
		return c.triggerJob(call, o, w)
	})
}
