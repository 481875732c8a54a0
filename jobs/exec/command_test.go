package exec

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/jobs/exec/internal/protocol"
)

func TestCommandReportsEveryFaultAtOnce(t *testing.T) {
	err := Command{
		Args:      []string{"", "a\x00b"},
		Dir:       "/srv\x00",
		Env:       map[string]string{"": "x", "A=B": "x", "NUL": "\x00", "SOLOTICK_JOB": "x", "FINE": "x"},
		KillGrace: -time.Second,
	}.Validate()
	var joined interface{ Unwrap() []error }
	require.ErrorAs(t, err, &joined)
	var fields []string
	for _, e := range joined.Unwrap() {
		var fault *jobs.Fault
		require.ErrorAs(t, e, &fault)
		fields = append(fields, fault.Field+" "+fault.Value)
	}
	require.Equal(t, []string{
		"exec.command  a\x00b", "exec.command a\x00b", "exec.dir /srv\x00",
		"exec.env ", "exec.env A=B", "exec.env NUL", "exec.env SOLOTICK_JOB", "exec.kill_grace -1s",
	}, fields)

	require.ErrorContains(t, Command{}.Validate(), "exec.command")
	require.NoError(t, Command{Args: []string{"./report.sh"}, Env: map[string]string{"SOLOTICK_OTHER": ""}}.Validate())
}

func TestEnvironmentHasEachVariableOnce(t *testing.T) {
	env := environment(
		[]string{"A=worker", "PWD=/worker", "SOLOTICK_JOB=outer", "B=1"},
		Command{Dir: "srv", Env: map[string]string{"A": "job"}}, "/home/srv", runUnder(nil), "tag")
	require.Equal(t, []string{"B=1", "A=job", "PWD=/home/srv"}, env[:3])
	require.Len(t, env, 3+len(runVariables))
	require.Equal(t, "report", valueOf(env, "SOLOTICK_JOB"))
	require.Equal(t, "tag", valueOf(env, protocol.TagVariable))
	require.Equal(t, "2", valueOf([]string{"A=1", "A=2"}, "A"))
}

func TestTracedRunGivesItsSpanToTheCommand(t *testing.T) {
	run := runUnder(nil)
	require.Equal(t, "outer", valueOf(environment([]string{"TRACEPARENT=outer"}, Command{}, "", run, "tag"), "TRACEPARENT"))
	run.Traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	env := environment([]string{"TRACEPARENT=outer"}, Command{Env: map[string]string{"TRACEPARENT": "job"}}, "", run, "tag")
	require.Equal(t, run.Traceparent, valueOf(env, "TRACEPARENT"))
	require.NotContains(t, env, "TRACEPARENT=outer")
}

func TestCommandIsGivenThePayloadOfItsRun(t *testing.T) {
	run := runUnder(nil)
	require.Empty(t, valueOf(environment([]string{"SOLOTICK_PAYLOAD=outer"}, Command{}, "", run, "tag"), "SOLOTICK_PAYLOAD"), "not that of another run")
	run.Payload = "{\"tenant\": 7}\nand more=yes"
	env := environment([]string{"SOLOTICK_PAYLOAD=outer"}, Command{}, "", run, "tag")
	require.Equal(t, string(run.Payload), valueOf(env, "SOLOTICK_PAYLOAD"))
}

func TestCommandIsGivenTheKeyOfItsRun(t *testing.T) {
	run := runUnder(nil)
	require.NotContains(t, environment([]string{"SOLOTICK_KEY=outer"}, Command{}, "", run, "tag"), "SOLOTICK_KEY=outer", "not that of another run")
	run.Key = "acme"
	env := environment([]string{"SOLOTICK_KEY=outer"}, Command{}, "", run, "tag")
	require.Equal(t, "acme", valueOf(env, "SOLOTICK_KEY"))
	require.Contains(t, valueOf(env, "SOLOTICK_TICK_ID"), "/acme/")
}

// valueOf returns the value of a variable in env, the last one if there are several.
func valueOf(env []string, name string) string {
	for _, variable := range slices.Backward(env) {
		if value, found := strings.CutPrefix(variable, name+"="); found {
			return value
		}
	}
	return ""
}

func TestReasonsAreThoseOfTheDocumentation(t *testing.T) {
	require.Equal(t, []string{"exit", "not_started", "cancelled", "deadline", "supervisor_lost"}, []string{
		protocol.ReasonExit, protocol.ReasonNotStarted, protocol.ReasonCancelled, protocol.ReasonDeadline, protocol.ReasonSupervisorLost,
	})
}
