package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/solotick/solotick/cmd/worker/internal/output"
	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
)

func (c *cli) history() *cobra.Command {
	var count int
	cmd := &cobra.Command{
		Use:   "history JOB",
		Short: "Print the last ticks of a job, with their outcomes",
		Long: "history prints the ticks of a job: those that run or wait, and then the last ones that were settled, newest tick first,\n" +
			fmt.Sprintf("as the fleet remembers them: the last %d, or as many as the job's history says, none older than %d days. A job that is gone can be asked for as long as\n",
				protocol.History, int(wire.DefaultAge/(24*time.Hour))) +
			"the fleet has its record. Times are fleet time in the job's time zone: in a terminal as people read them, with what\n" +
			"went wrong below each tick; in a pipe in full.",
		Example: `  worker history nightly-report --config solotick.yaml
  worker history nightly-report -n 100
  worker history nightly-report --output json | jq '.[] | select(.outcome == "failed") | .error'`,
		Args: jobArgument,
	}
	cmd.Flags().IntVarP(&count, "count", "n", 20, "how many settled `ticks`")
	return c.jobCommand(cmd, func([]string) error { return checkCount(count, protocol.MaxHistory) }, func(call jobCall) error {
		list, err := call.ask.History(call.ctx, call.name, count)
		list = slices.DeleteFunc(list, func(e fleet.Entry) bool { return e.IsEmpty(call.job) })
		if err != nil || call.out == asJSON {
			return call.print(list, "", err)
		}
		if len(list) == 0 {
			fmt.Fprintf(c.stderr, "no tick of %s is open or was settled\n", call.name)
		}
		now, err := call.ask.Now(call.ctx)
		if err != nil {
			return call.explain(call.name, err)
		}
		v := output.NewView(c.stdout, c.env, now)
		return historyTable(v, list, zone(call.job)).Print(c.stdout, v)
	})
}

func historyTable(v output.View, list []fleet.Entry, zone *time.Location) *output.Table {
	if v.Human {
		return historyForPeople(v, list, zone)
	}
	t := output.NewTable("SCHEDULED", "STARTED", "ENDED", "TOOK", "REPLICA", "TOKEN", "ATTEMPT", "OUTCOME", "WHY")
	for _, e := range list {
		first, rest, _ := strings.Cut(e.Error, "\n")
		e.Error = first
		row := output.Row(output.Time(e.Scheduled, zone), output.TimeNear(e.Started, e.Scheduled, zone), output.TimeNear(e.Ended, e.Scheduled, zone),
			took(e), e.Replica, "", "", "", why(e, func(t time.Time) string { return output.Time(t, zone) }))
		row[7] = verdict(e)
		if e.Token != 0 {
			row[5].Text, row[6].Text = fmt.Sprint(e.Token), fmt.Sprint(e.Attempts)
		}
		t.Add(row...)
		t.Note(rest, output.Plain)
	}
	return t
}

// historyForPeople omits tokens and the end of runs: people ask why for them, and programs read
// JSON.
func historyForPeople(v output.View, list []fleet.Entry, zone *time.Location) *output.Table {
	t := output.NewTable("TICK", "WHEN", "STARTED", "TOOK", "REPLICA", "ATTEMPT", "OUTCOME", "WHY")
	for _, e := range list {
		failure := e.Error
		e.Error = ""
		row := output.Row(v.Tick(e.Moment(), zone), v.Ago(e.Moment(), zone), v.Tick(e.Started, zone),
			took(e), e.Replica, "", "", why(e, func(t time.Time) string { return v.Tick(t, zone) }))
		row[6] = verdict(e)
		if e.Held() {
			row[3].Text = output.Duration(v.Now.Sub(e.Started)) + " so far"
		}
		if e.Token != 0 {
			row[5].Text = fmt.Sprint(e.Attempts)
		}
		t.Add(row...)
		t.Note(failure, output.Plain)
	}
	return t
}

// took formats the duration of a run. It is empty for a tick without a run, and while it runs.
func took(e fleet.Entry) string {
	if e.Started.IsZero() || e.State != wire.StateSettled {
		return ""
	}
	return e.Took().Round(time.Millisecond).String()
}

// why describes an entry beyond its other columns.
func why(e fleet.Entry, format func(time.Time) string) string {
	var parts []string
	switch {
	case e.TriggeredBy != "" && e.Key != "":
		parts = append(parts, fmt.Sprintf("triggered by %s, key %s%s", e.TriggeredBy, e.Key, quoted(e.TriggerReason)))
	case e.TriggeredBy != "":
		parts = append(parts, "triggered by "+e.TriggeredBy+quoted(e.TriggerReason))
	case e.Triggered:
		parts = append(parts, "triggered")
	}
	if e.Payload > 0 {
		parts = append(parts, fmt.Sprintf("payload of %d bytes", e.Payload))
	}
	for _, h := range e.Holders {
		how := "lease ran out"
		if h.Released {
			how = "gave it up"
		}
		parts = append(parts, fmt.Sprintf("taken over from %s (%s)", h.Replica, how))
	}
	if e.Reason != "" && e.Reason != string(e.Outcome) {
		parts = append(parts, wire.Words(e.Reason))
	}
	if e.CancelledBy != "" {
		parts = append(parts, "cancelled by "+e.CancelledBy+quoted(e.CancelReason))
	}
	if e.IsRange() && e.Count != 1 {
		what := "all undecided ticks"
		if e.Count > 1 {
			what = fmt.Sprintf("%d ticks", e.Count)
		}
		parts = append(parts, fmt.Sprintf("%s after %s", what, format(e.From)))
	}
	if e.Error != "" {
		parts = append(parts, e.Error)
	}
	return strings.Join(parts, "; ")
}
