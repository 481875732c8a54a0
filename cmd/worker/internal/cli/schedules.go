package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/solotick/solotick/cmd/worker/internal/exitcode"
	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/joined"
	"github.com/solotick/solotick/internal/render"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/schedules"
)

func (c *cli) schedules() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "schedules COMMAND JOB",
		Short: "Show and change the schedules of a job that lie in the store",
		Long: "schedules shows and changes the schedules of a job with schedules: stored in its configuration: one for each key, such as\n" +
			"a customer. The name JOB/KEY stands for one in history, why, describe, cancel and repair.",
		Example: `  worker schedules put customer-report acme --cron "0 7 * * 1-5" --timezone Asia/Shanghai --payload '{"format": "pdf"}'
  worker schedules put customer-report acme-welcome --at "2026-12-01 08:00" --start 2026-11-01 --end 2026-12-31
  worker schedules list customer-report --prefix acme --limit 20
  worker schedules get customer-report acme --output json
  worker schedules pause customer-report --prefix eu- --reason "the database moves"
  worker schedules delete customer-report acme --if-revision 2c26b46b68ff
  worker schedules export customer-report >schedules.ndjson
  worker schedules import customer-report schedules.ndjson
  worker history customer-report/acme`,
		SuggestionsMinimumDistance: 2,

		Args: knownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return &usageError{errors.New("which command of schedules?"), cmd}
		},
	}
	cmd.AddCommand(c.schedulePut(), c.scheduleGet(), c.scheduleList(), c.scheduleDelete(), c.schedulePause(), c.scheduleResume(),
		c.scheduleTrigger(), c.scheduleImport(), c.scheduleExport())
	return cmd
}

// storedSchedules keeps the schedules of a job: [schedules.Schedules] in the store, or a worker's API.
type storedSchedules interface {
	Put(ctx context.Context, row schedules.Schedule, options ...schedules.Option) (schedules.Result, error)
	Get(ctx context.Context, key string) (schedules.Schedule, error)
	NextTicks(ctx context.Context, row schedules.Schedule, n int) ([]time.Time, error)
	List(ctx context.Context, prefix, cursor string, count int) (schedules.Page, error)
	Delete(ctx context.Context, key string, options ...schedules.Option) (deleted bool, err error)
	Pause(ctx context.Context, key string, act fleet.Act) error
	Resume(ctx context.Context, key string, act fleet.Act) (resumed bool, err error)
}

// inStore returns the schedules in the store, for what a worker's API does not have.
func (call invocation) inStore(s storedSchedules) (*schedules.Schedules, error) {
	if all, ok := s.(*schedules.Schedules); ok {
		return all, nil
	}
	return nil, &usageError{fmt.Errorf("--server: %s of many schedules asks the store: leave it out", call.cmd.Name()), call.cmd}
}

// complete is the type of jobCommand and actCommand.
type complete = func(cmd *cobra.Command, faults func(args []string) error, run func(call invocation) error) *cobra.Command

// keyCommand completes a command about the schedules of a job, with so many arguments after the job.
// The first of them is the key.
func (c *cli) keyCommand(
	cmd *cobra.Command, complete complete, least, most int, run func(call invocation, s storedSchedules, key string) error,
) *cobra.Command {
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if n := len(args) - 1; n >= least && n <= most {
			return nil
		}
		return &usageError{fmt.Errorf("%s takes %s, and got %s", cmd.Name(), cmd.Use[len(cmd.Name())+1:], render.Count(len(args), "argument")), cmd}
	}
	return complete(cmd, nil, func(call invocation) error {
		var s storedSchedules
		var err error
		switch {
		case call.worker != nil:
			s = call.worker.Schedules(call.name)
		case call.job != nil:
			s, err = schedules.Of(call.store.Store, call.job)
		default:
			s, err = schedules.New(call.store.Store, call.name)
		}
		if err != nil {
			return call.ofSchedule(err, "")
		}
		key := ""
		if len(call.args) > 1 {
			key = call.args[1]
		}
		return run(call, s, key)
	})
}

// ofSchedule adds to an error about the schedule of a key what to do about it. What is wrong with a
// schedule is wrong with the flags of the same names.
func (call invocation) ofSchedule(err error, key string) error {
	var faults []error
	for _, one := range joined.Errors(err) {
		if fault, ok := errors.AsType[*jobs.Fault](one); ok {
			field := "--" + fault.Field
			if fault.Field == "key" {
				field = "KEY"
			}
			faults = append(faults, fmt.Errorf("%s: %q %s", field, fault.Value, fault.Rule))
		}
	}
	switch {
	case err == nil:
		return nil
	case len(faults) > 0:
		return &usageError{errors.Join(faults...), call.cmd}
	case errors.Is(err, schedules.ErrNotFound):
		return fmt.Errorf("job %s has no schedule %q: worker schedules list %s shows those that are there", call.name, key, call.name)
	case errors.Is(err, schedules.ErrRevision):
		return fmt.Errorf("schedule %q is not as expected, so nothing was changed: worker schedules get %s %s shows what is there", key, call.name, key)
	case errors.Is(err, schedules.ErrOwnSchedule):
		return &exitcode.ConfigError{Err: fmt.Errorf("%s: has a schedule of its own: write schedules: stored in place of schedule", call.name)}
	case errors.Is(err, schedules.ErrNoIndex):
		return err
	}
	return call.explain(call.name, err)
}

// as makes a change the act of the caller.
func (call invocation) as(revision string) []schedules.Option {
	return []schedules.Option{schedules.As(call.act), schedules.IfRevision(revision)}
}

func (c *cli) schedulePut() *cobra.Command {
	var row schedules.Schedule
	var at, start, end, payload, revision string
	var absent bool
	cmd := &cobra.Command{
		Use:   "put JOB KEY",
		Short: "Create the schedule of a key, or change it",
		Long: "put creates the schedule of a key, or puts the flags in place of all that it was. What is there already stays as it is.\n" +
			"A change acts from now on: no tick that is decided runs again, and a run in progress continues. Times without an\n" +
			"offset are in the schedule's time zone. The payload is not a secret: everybody who may read the store sees it.",
		Example: `  worker schedules put customer-report acme --cron "0 7 * * 1-5" --timezone Asia/Shanghai --payload '{"format": "pdf"}'
  worker schedules put customer-report acme --cron @hourly --payload @acme.json --end 2026-12-31
  worker schedules put customer-report acme-welcome --at "2026-12-01 08:00" --if-absent`,
	}
	flags := cmd.Flags()
	flags.StringVar(&row.Cron, "cron", "", "`SPEC`: when it ticks, such as \"0 7 * * 1-5\", @hourly or \"@every 90s\"")
	flags.StringVar(&at, "at", "", "`TIME` of its only tick, in place of --cron")
	flags.StringVar(&row.Timezone, "timezone", "", "`ZONE` of the IANA database (default: that of the job)")
	flags.StringVar(&payload, "payload", "", "`TEXT` or @FILE: given to each run; at most 4096 bytes of UTF-8")
	flags.StringVar(&start, "start", "", "`TIME` before which it has no ticks")
	flags.StringVar(&end, "end", "", "`TIME` after which it has none")
	flags.StringVar(&revision, "if-revision", "", "change it only if it has this `REVISION`")
	flags.BoolVar(&absent, "if-absent", false, "create it only if there is none")
	return c.keyCommand(cmd, c.actCommand, 1, 1, func(call invocation, s storedSchedules, key string) error {
		row.Key = key
		zone := zone(call.job)
		if loaded, err := time.LoadLocation(row.Timezone); err == nil && row.Timezone != "" {
			zone = loaded
		}
		text, err := payloadOf(payload)
		faults := []error{err}
		row.Payload = string(text)
		for _, f := range []struct {
			name, text string
			to         *time.Time
		}{{"at", at, &row.At}, {"start", start, &row.Start}, {"end", end, &row.End}} {
			if f.text == "" {
				continue
			}
			if *f.to, err = readTime(f.text, zone); err != nil {
				faults = append(faults, fmt.Errorf("--%s: %w", f.name, err))
			}
		}
		if err := flagFaults(call.cmd, faults...); err != nil {
			return err
		}
		options := call.as(revision)
		if absent {
			options = append(options, schedules.IfAbsent())
		}
		r, err := s.Put(call.ctx, row, options...)
		if err != nil {
			return call.ofSchedule(err, key)
		}
		return call.show(r, nil, func(v render.View) (string, error) {
			text := fmt.Sprintf("%s: %s, revision %s", key, r.Status, r.Revision)
			if !r.Next.IsZero() {
				text += ", next tick " + v.In(zone).Full(r.Next)
			}
			return text + "\n", nil
		})
	})
}

// readTime parses a time that may lie in the future. Without an offset it is one in the zone.
func readTime(text string, zone *time.Location) (time.Time, error) {
	if day, err := time.Parse(time.DateOnly, text); err == nil {
		return atWall(day, zone)[0], nil
	}
	t, err := readTick(text, time.Time{}, zone, nil)
	if err != nil || t.Year() < 1 {
		return time.Time{}, fmt.Errorf(`%q must be a time, such as "2026-12-01 08:00", 2026-12-01 or 2026-12-01T08:00:00Z`, text)
	}
	return t, nil
}

func (c *cli) scheduleGet() *cobra.Command {
	return c.keyCommand(&cobra.Command{
		Use:     "get JOB KEY",
		Short:   "Print the schedule of a key, and its next ticks",
		Long:    "get prints the schedule of a key, with its revision, who put it and when, its pause and its next ticks.",
		Example: `  worker schedules get customer-report acme --config solotick.yaml`,
	}, c.jobCommand, 1, 1, func(call invocation, s storedSchedules, key string) error {
		const coming = 5
		row, err := s.Get(call.ctx, key)
		if err != nil {
			return call.ofSchedule(err, key)
		}
		ticks, err := s.NextTicks(call.ctx, row, coming)
		if err != nil {
			return call.ofSchedule(err, key)
		}
		answer := struct {
			schedules.Schedule
			Coming []time.Time `json:"coming"`
		}{row, ticks}
		return call.show(answer, nil, func(v render.View) (string, error) {
			v = v.In(render.Zone(row.Timezone))
			return render.StoredSchedule(v, call.name, row, ticks).Text(v), nil
		})
	})
}

func (c *cli) scheduleList() *cobra.Command {
	var prefix, after string
	var limit int
	cmd := &cobra.Command{
		Use:   "list JOB",
		Short: "Print the schedules of a job",
		Long: "list prints schedules of a job, in the order of their keys. If there are more than the limit, it prints the cursor of\n" +
			"the rest to stderr. export prints all of them.",
		Example: `  worker schedules list customer-report --prefix eu- --config solotick.yaml
  worker schedules list customer-report --limit 1000 --output json | jq -r '.schedules[] | select(.paused) | .key'`,
	}
	cmd.Flags().StringVar(&prefix, "prefix", "", "only those whose keys begin with `TEXT`")
	cmd.Flags().IntVar(&limit, "limit", 100, "about how many `SCHEDULES`")
	cmd.Flags().StringVar(&after, "after", "", "`CURSOR` that the list before has ended with")
	return c.keyCommand(cmd, c.jobCommand, 0, 0, func(call invocation, s storedSchedules, _ string) error {
		if limit < 1 || limit > 10_000 {
			return flagFaults(call.cmd, fmt.Errorf("--limit: %d must be from 1 to 10000", limit))
		}
		page, err := s.List(call.ctx, prefix, after, limit)
		for err == nil && page.Next != "" && len(page.Schedules) < limit { // it looks only for a while
			var more schedules.Page
			more, err = s.List(call.ctx, prefix, page.Next, limit-len(page.Schedules))
			page = schedules.Page{Schedules: append(page.Schedules, more.Schedules...), Next: more.Next}
		}
		if err != nil {
			return call.ofSchedule(err, "")
		}
		if page.Next != "" && call.out == asText {
			fmt.Fprintf(c.stderr, "there are more: --after %s\n", page.Next)
		}
		return call.show(page, nil, func(v render.View) (string, error) {
			if v.Now, err = call.ask.Now(call.ctx); err != nil {
				return "", err
			}
			return render.StoredSchedules(v, page.Schedules).Text(v), nil
		})
	})
}
