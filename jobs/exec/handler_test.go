//go:build linux

package exec

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"

	"log/slog"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/jobs/exec/internal/protocol"
)

func TestExitCodeZeroSucceeds(t *testing.T) {
	s := openSupervisor(t)
	require.NoError(t, await(t, do(t.Context(), s, shell(nil, "exit 0"), leaseOf(time.Minute))))
}

func TestAnyOtherEndFailsTheRun(t *testing.T) {
	s := openSupervisor(t)
	failed := awaitExitError(t, do(t.Context(), s, shell(nil, "echo broken; exit 3"), leaseOf(time.Minute)))
	require.Equal(t, protocol.ReasonExit, failed.Reason)
	require.Equal(t, 3, failed.Code)
	require.Equal(t, "command failed: exit code 3; last output:\nbroken", failed.Error())

	failed = awaitExitError(t, do(t.Context(), s, shell(nil, "kill -USR1 $$"), leaseOf(time.Minute)))
	require.Equal(t, protocol.ReasonExit, failed.Reason)
	require.Equal(t, -1, failed.Code)
	require.Equal(t, syscall.SIGUSR1, failed.Signal)
	require.Equal(t, "command failed: ended by SIGUSR1", failed.Error())
}

func TestCommandThatCannotStartSaysWhy(t *testing.T) {
	s := openSupervisor(t)
	dir := t.TempDir()
	write := func(name, text string, mode fs.FileMode) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), mode))
	}
	write("orphaned.sh", "#!/no/such/interpreter\n", 0o700)
	write("bare", "exit 0\n", 0o700)
	write("plain.sh", "#!/bin/sh\n", 0o600)

	for _, c := range []struct {
		command Command
		is      error
		says    string
	}{
		{Command{Args: []string{"no-such-program"}}, fs.ErrNotExist, `look up "no-such-program" in PATH /`},
		{Command{Args: []string{"/no/such/program"}}, fs.ErrNotExist, "execute /no/such/program: no such file"},
		{Command{Args: []string{"true"}, Dir: "/no/such/dir"}, fs.ErrNotExist, "go to directory /no/such/dir: no such file"},
		{Command{Args: []string{"true"}, Dir: filepath.Join(dir, "bare")}, syscall.ENOTDIR, "bare: not a directory"},
		{Command{Args: []string{"./orphaned.sh"}, Dir: dir}, fs.ErrNotExist, "the interpreter that its first line names does not"},
		{Command{Args: []string{"./bare"}, Dir: dir}, syscall.ENOEXEC, "does it begin with #!"},
		{Command{Args: []string{"./plain.sh"}, Dir: dir}, fs.ErrPermission, "execute ./plain.sh: permission denied"},
	} {
		failed := awaitExitError(t, do(t.Context(), s, c.command, leaseOf(time.Minute)))
		require.Equal(t, protocol.ReasonNotStarted, failed.Reason)
		require.Equal(t, -1, failed.Code)
		require.ErrorIs(t, failed, c.is)
		require.ErrorContains(t, failed, "command did not start: ")
		require.ErrorContains(t, failed, c.says)
	}
}

func TestProgramIsFoundAsAShellWould(t *testing.T) {
	s := openSupervisor(t)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "greet"), []byte("#!/bin/sh\npwd; echo $PWD $0 \"$@\"; exit 1\n"), 0o700))

	inDir := awaitExitError(t, do(t.Context(), s, Command{Args: []string{"./greet", "a b"}, Dir: dir}, leaseOf(time.Minute)))
	require.Equal(t, fmt.Sprintf("%s\n%s ./greet a b", dir, dir), inDir.Output)

	inPath := awaitExitError(t, do(t.Context(), s,
		Command{Args: []string{"greet"}, Env: map[string]string{"PATH": "relative:" + dir + ":/usr/bin:/bin"}}, leaseOf(time.Minute)))
	require.Contains(t, inPath.Output, dir+"/greet")
}

func TestRunGetsTheVariablesOfTheContract(t *testing.T) {
	t.Setenv("FROM_WORKER", "kept")
	t.Setenv("LEVEL", "replaced")
	t.Setenv("FROM_SECRET", "of the worker")
	s := openSupervisor(t)
	c := shell(nil, "env | grep -E '^(SOLOTICK_|LEVEL|FROM_)' | sort; exit 1")
	c.Env, c.Unset = map[string]string{"LEVEL": "info"}, []string{"FROM_SECRET", "LEVEL"}
	failed := awaitExitError(t, do(t.Context(), s, c, leaseOf(time.Minute)))
	lines := strings.Split(failed.Output, "\n")
	require.Equal(t, []string{
		"FROM_WORKER=kept",
		"LEVEL=info",
		"SOLOTICK_ATTEMPT=2",
		"SOLOTICK_CHECKPOINT_FD=3",
		"SOLOTICK_FENCING_TOKEN=1795175158338700",
		"SOLOTICK_JOB=report",
		"SOLOTICK_NAMESPACE=billing",
		"SOLOTICK_REPLICA=replica-1",
		"SOLOTICK_SUPERVISED_RUN=" + s.conn.nonce + "/1",
		"SOLOTICK_TICK=2026-11-20T12:00:00.000Z",
		"SOLOTICK_TICK_ID=billing/report/1795176000000",
		"SOLOTICK_TICK_UNIX_MS=1795176000000",
	}, lines)
}

func TestCommandHasItsOwnGroupAndBlockingStreams(t *testing.T) {
	s := openSupervisor(t)
	failed := awaitExitError(t, do(t.Context(), s,
		shell(nil, `echo $$; cut -d' ' -f5 /proc/$$/stat; grep flags /proc/$$/fdinfo/1; readlink /proc/$$/fd/0; exit 1`),
		leaseOf(time.Minute)))
	lines := strings.Split(failed.Output, "\n")
	require.Equal(t, lines[0], lines[1], "process group")
	require.Equal(t, "flags:\t01", lines[2], "only O_WRONLY: a command does not expect EAGAIN")
	require.Equal(t, os.DevNull, lines[3])

	// The supervisor adds nothing but descriptor 3 to what any child of this process inherits.
	list := osexec.Command("ls", "/proc/self/fd", "/none")
	list.Env, list.ExtraFiles = append(os.Environ(), "LC_ALL=C"), []*os.File{os.Stderr}
	want, _ := list.CombinedOutput()
	failed = awaitExitError(t, do(t.Context(), s,
		Command{Args: list.Args, Env: map[string]string{"LC_ALL": "C"}}, leaseOf(time.Minute)))
	require.ElementsMatch(t, strings.Split(strings.TrimSpace(string(want)), "\n"), strings.Split(failed.Output, "\n"))
}

func TestLinesAreLoggedAsTheyCome(t *testing.T) {
	var logged logBuffer
	s := openSupervisor(t, WithLogger(logged.logger()))
	life := newLifeline(t)
	script := `printf 'one\r\ntwo'; printf '\n' ; echo three >&2; echo up >&9; ` + waiting + `printf unfinished`
	result := do(t.Context(), s, shell(life, script), leaseOf(time.Minute))
	life.await(t, "up")
	require.Eventually(t, func() bool { return len(logged.lines()) == 3 }, bound, time.Millisecond, "before the command has ended")
	life.release(t)
	require.NoError(t, await(t, result))

	var got []string
	for _, line := range logged.lines() {
		var fields map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &fields))
		require.Equal(t, "output", fields["msg"])
		require.Equal(t, "INFO", fields["level"])
		require.Equal(t, "report", fields["job"])
		require.Equal(t, "2026-11-20T12:00:00.000Z", fields["tick"])
		got = append(got, fmt.Sprint(fields["stream"], " ", fields["line"]))
	}
	require.ElementsMatch(t, []string{"stdout one", "stdout two", "stderr three", "stdout unfinished"}, got)
	require.Equal(t, "stdout unfinished", got[3])
}

func TestErrorEndsWithTheLastLines(t *testing.T) {
	s := openSupervisor(t)
	failed := awaitExitError(t, do(t.Context(), s, shell(nil, "seq 1 100; exit 1"), leaseOf(time.Minute)))
	var want []string
	for i := 81; i <= 100; i++ {
		want = append(want, fmt.Sprint(i))
	}
	require.Equal(t, strings.Join(want, "\n"), failed.Output)
	require.True(t, strings.HasSuffix(failed.Error(), failed.Output))

	failed = awaitExitError(t, do(t.Context(), s,
		shell(nil, `echo lost; for i in 1 2 3; do head -c 2000 /dev/zero | tr '\0' $i; echo; done; exit 1`), leaseOf(time.Minute)))
	require.Equal(t, strings.Repeat("2", 2000)+"\n"+strings.Repeat("3", 2000), failed.Output, "at most 4 KiB")

	failed = awaitExitError(t, do(t.Context(), s,
		shell(nil, `head -c 1000000 /dev/zero | tr '\0' x; exit 1`), leaseOf(time.Minute)))
	require.Equal(t, strings.Repeat("x", 4<<10-1), failed.Output, "a line that is longer than everything is cut")
}

func TestLongLineIsCut(t *testing.T) {
	var logged logBuffer
	s := openSupervisor(t, WithLogger(logged.logger()))
	require.NoError(t, await(t, do(t.Context(), s,
		shell(nil, `head -c 100000 /dev/zero | tr '\0' x; echo; printf 'after\377\n'`), leaseOf(time.Minute))))
	require.Len(t, logged.lines(), 2)
	require.Contains(t, logged.lines()[0], `"`+strings.Repeat("x", (8<<10))+`"`)
	require.Contains(t, logged.lines()[1], "after\uFFFD")
}

func TestFloodIsLoggedInPartAndCounted(t *testing.T) {
	var logged logBuffer
	s := openSupervisor(t, WithLogger(logged.logger()))
	const all = 400_000
	began := time.Now()
	failed := awaitExitError(t, do(t.Context(), s, shell(nil, fmt.Sprintf("seq 1 %d; exit 1", all)), leaseOf(time.Minute)))
	seconds := int(time.Since(began)/time.Second) + 1
	lines, dropped := 0, 0
	for _, line := range logged.lines() {
		var fields struct {
			Msg   string
			Lines int
		}
		require.NoError(t, json.Unmarshal([]byte(line), &fields))
		if dropped += fields.Lines; fields.Msg == "output" {
			lines++
		}
	}
	require.Equal(t, all, lines+dropped)
	require.GreaterOrEqual(t, lines, 1000)
	require.LessOrEqual(t, lines, 1000+100*seconds)
	var want []string
	for i := all - 19; i <= all; i++ {
		want = append(want, strconv.Itoa(i))
	}
	require.Equal(t, strings.Join(want, "\n"), failed.Output, "the last lines, logged or not")
}

// blockingHandler is a handler of a log that blocks forever.
type blockingHandler struct {
	slog.Handler
	forever <-chan struct{}
}

func (h blockingHandler) Enabled(context.Context, slog.Level) bool { return true }
func (h blockingHandler) WithAttrs([]slog.Attr) slog.Handler       { return h }

func (h blockingHandler) Handle(context.Context, slog.Record) error {
	<-h.forever
	return nil
}

func TestLoggerThatBlocksHoldsUpNoRun(t *testing.T) {
	forever := make(chan struct{})
	t.Cleanup(func() { close(forever) })
	s := NewSupervisor([]string{"supervisor"}, WithLogger(slog.New(blockingHandler{forever: forever})))
	for range 3 {
		failed := awaitExitError(t, do(t.Context(), s, shell(nil, "seq 1 5000; exit 1"), leaseOf(time.Minute)))
		require.True(t, strings.HasSuffix(failed.Output, "\n5000"))
	}
	require.NoError(t, s.Close())
}

func TestCancelledRunStartsNothing(t *testing.T) {
	s := openSupervisor(t)
	life := newLifeline(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(os.ErrDeadlineExceeded)
	failed := awaitExitError(t, do(ctx, s, shell(life, "echo up >&9"), leaseOf(time.Minute)))
	require.Equal(t, protocol.ReasonCancelled, failed.Reason)
	require.ErrorIs(t, failed, os.ErrDeadlineExceeded)

	failed = awaitExitError(t, do(t.Context(), s, shell(life, "echo up >&9"), leaseOf(-time.Millisecond)))
	require.Equal(t, protocol.ReasonDeadline, failed.Reason, "the supervisor refuses")
	require.ErrorIs(t, failed, jobs.ErrLeaseEnding)
	require.ErrorContains(t, failed, "before it had started")
	require.Empty(t, life.lines)
}

func TestRunWithoutALeaseIsRefused(t *testing.T) {
	err := New(openSupervisor(t), Command{Args: []string{"true"}})(t.Context(), jobs.Run{Job: "report"})
	require.ErrorContains(t, err, "no lease")
}

func TestInvalidCommandFailsItsRuns(t *testing.T) {
	var fault *jobs.Fault
	require.ErrorAs(t, New(openSupervisor(t), Command{})(t.Context(), runUnder(leaseOf(time.Minute))), &fault)
	require.Equal(t, "exec.command", fault.Field)
}

func TestHandlerKeepsItsOwnCommand(t *testing.T) {
	s := openSupervisor(t)
	c := shell(nil, "exit 0")
	handler := New(s, c)
	c.Args[2] = "exit 1"
	require.NoError(t, handler(t.Context(), runUnder(leaseOf(time.Minute))))
}
