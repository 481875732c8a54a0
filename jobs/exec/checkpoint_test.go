//go:build linux

package exec

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/jobs"
)

// pointLease keeps checkpoints.
type pointLease struct {
	*fakeLease
	mu   sync.Mutex
	made []string
	err  error
}

func (l *pointLease) Checkpoint(_ context.Context, position []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.made = append(l.made, string(position))
	return l.err
}

func (l *pointLease) Progress(_ context.Context, percent int, text string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.made[len(l.made)-1] += fmt.Sprintf(" %d%% %s", percent, text)
	return l.err
}

func (*pointLease) Sync(context.Context) error { return nil }

func TestCommandMakesCheckpoints(t *testing.T) {
	for name, test := range map[string]struct {
		script, newest, logged string
	}{
		"the newest line counts":      {`for i in $(seq 1 5000); do echo "page $i" >&3; done`, "page 5000", ""},
		"a line has a progress":       {`printf 'page 7\t40\treading a b\n' >&3`, "page 7 40% reading a b", ""},
		"one as long as may be":       {`head -c 4095 /dev/zero | tr '\0' x >&3; echo >&3`, strings.Repeat("x", 4095) + "", ""},
		"a longer one":                {`echo here >&3; sleep 0.1; head -c 4096 /dev/zero | tr '\0' x >&3; echo >&3`, "here", "1 lines were longer than 4095 bytes"},
		"one after a longer one":      {`head -c 9999 /dev/zero | tr '\0' x >&3; printf '\nthere\n' >&3`, "there", "1 lines were longer than 4095 bytes"},
		"a line that is cut off":      {`printf 'here\nthe' >&3`, "here", ""},
		"a progress that is none":     {`printf 'here\n' >&3; sleep 0.1; printf 'there\t101\n' >&3`, "here", `\"101\" after the first tab must be a percentage`},
		"a position with a NUL":       {`printf 'here\n' >&3; sleep 0.1; printf 'a\0b\n' >&3`, "here", "NUL"},
		"an empty line is none":       {`printf 'here\n\n' >&3`, "here", ""},
		"what a child of it has sent": {`(sleep 0.1; echo late >&3) & wait`, "late", ""},
		"the last words of a failure": {`echo here >&3; exit 3`, "here", ""},
	} {
		t.Run(name, func(t *testing.T) {
			var logged logBuffer
			s := openSupervisor(t, WithLogger(logged.logger()))
			l := &pointLease{fakeLease: leaseOf(time.Minute)}
			ended := make(chan error, 1)
			script := strings.ReplaceAll(test.script, ">&3", ">&$SOLOTICK_CHECKPOINT_FD")
			go func() { ended <- New(s, shell(nil, script))(t.Context(), runUnder(l)) }()
			_ = await(t, ended)
			require.NotEmpty(t, l.made)
			require.Equal(t, test.newest, l.made[len(l.made)-1])
			require.Contains(t, strings.Join(logged.lines(), "\n"), test.logged)
			require.Equal(t, test.logged != "", strings.Contains(strings.Join(logged.lines(), ""), `"level":"ERROR"`))
		})
	}
}

func TestRefusedCheckpointIsLogged(t *testing.T) {
	var logged logBuffer
	s := openSupervisor(t, WithLogger(logged.logger()))
	l := &pointLease{fakeLease: leaseOf(time.Minute), err: jobs.ErrNoCheckpoints}
	ended := make(chan error, 1)
	go func() { ended <- New(s, shell(nil, `echo here >&3`))(t.Context(), runUnder(l)) }()
	require.NoError(t, await(t, ended))
	require.Contains(t, strings.Join(logged.lines(), "\n"), jobs.ErrNoCheckpoints.Error())
}

func TestCommandGetsItsPosition(t *testing.T) {
	run := runUnder(leaseOf(time.Minute))
	outer := []string{"SOLOTICK_POSITION=outer"}
	require.Empty(t, valueOf(environment(outer, Command{}, "", run, "tag"), "SOLOTICK_POSITION"), "not that of another run")
	run.Position = []byte("page 7")
	require.Equal(t, "page 7", valueOf(environment(outer, Command{}, "", run, "tag"), "SOLOTICK_POSITION"))
	run.Position = []byte("a\x00b")
	require.Empty(t, valueOf(environment(outer, Command{}, "", run, "tag"), "SOLOTICK_POSITION"))
}
