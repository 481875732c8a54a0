package exec

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/jobs"
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
		Command{Dir: "srv", Env: map[string]string{"A": "job"}}, "/home/srv", runUnder(nil), "mark")
	require.Equal(t, []string{"B=1", "A=job", "PWD=/home/srv"}, env[:3])
	require.Len(t, env, 3+len(toldVariables))
	require.Equal(t, "report", lookup(env, "SOLOTICK_JOB"))
	require.Equal(t, "mark", lookup(env, markVariable))
	require.Equal(t, "2", lookup([]string{"A=1", "A=2"}, "A"))
}
