package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/solotick/solotick/internal/render"
	"github.com/solotick/solotick/schedules"
)

func (c *cli) scheduleImport() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "import JOB [FILE]",
		Short: "Put many schedules, each a line of JSON",
		Long: "import puts the schedules of a file, or of stdin, as export prints them: each is a line of JSON with key, cron or at, and\n" +
			"optional timezone, payload, start and end. It prints what it has done, and to stderr each line that it could not put:\n" +
			"the exit code is then 1. It may be repeated: what is there already stays as it is.",
		Example: `  worker schedules import customer-report schedules.ndjson --config solotick.yaml
  echo '{"key": "acme", "cron": "0 7 * * 1-5", "payload": "7"}' | worker schedules import customer-report`,
	}
	return c.keyCommand(cmd, c.actCommand, 0, 1, func(call invocation, s storedSchedules, path string) error {
		all, err := call.inStore(s)
		if err != nil {
			return err
		}
		var from io.Reader = os.Stdin
		if path != "" && path != "-" {
			file, err := os.Open(path)
			if err != nil {
				return err
			}
			defer func() { _ = file.Close() }() // was only read
			from = file
		}
		counts, failed := map[schedules.Status]int{}, 0
		err = all.Import(call.ctx, from, func(line int, r schedules.Result) {
			if line%10_000 == 0 {
				fmt.Fprintf(c.stderr, "%d lines\n", line)
			}
			if counts[r.Status]++; r.Err != nil {
				failed++
				fmt.Fprintf(c.stderr, "line %d: %s\n", line, render.Line(r.Err.Error()))
			}
		}, schedules.As(call.act))
		answer := struct {
			Created   int `json:"created"`
			Changed   int `json:"changed"`
			Unchanged int `json:"unchanged"`
			Failed    int `json:"failed"`
		}{counts[schedules.Created], counts[schedules.Changed], counts[schedules.Unchanged], failed}
		text := fmt.Sprintf("%d created, %d changed, %d unchanged, %d failed", answer.Created, answer.Changed, answer.Unchanged, failed)
		if shown := call.print(answer, text, nil); shown != nil || err != nil {
			return errors.Join(call.ofSchedule(err, ""), shown)
		}
		if failed > 0 {
			return fmt.Errorf("%s could not be put", render.Count(failed, "schedule"))
		}
		return nil
	})
}

func (c *cli) scheduleExport() *cobra.Command {
	var prefix string
	cmd := &cobra.Command{
		Use:   "export JOB",
		Short: "Print the schedules of a job, each as a line of JSON",
		Long:  "export prints the schedules of a job to stdout, as import reads them, and how many there are to stderr.",
		Example: `  worker schedules export customer-report --config solotick.yaml >schedules.ndjson
  worker schedules export customer-report --prefix eu- | jq -r .key`,
	}
	cmd.Flags().StringVar(&prefix, "prefix", "", "only those whose keys begin with `TEXT`")
	return c.keyCommand(cmd, c.jobCommand, 0, 0, func(call invocation, s storedSchedules, _ string) error {
		all, err := call.inStore(s)
		if err != nil {
			return err
		}
		to := bufio.NewWriter(c.stdout)
		n, err := all.Export(call.ctx, to, prefix)
		if err := errors.Join(call.ofSchedule(err, ""), to.Flush()); err != nil {
			return err
		}
		fmt.Fprintln(c.stderr, render.Count(n, "schedule"))
		return nil
	})
}
