package sqlitelease_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/solotick/solotick/internal/historytest"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/lease/driver"
	"github.com/solotick/solotick/lease/sqlitelease"
)

// asked is what the test has a process of this binary do: "hold PATH" or "contend PATH NAME SEED".
const asked = "SOLOTICK_SQLITE_PROCESS"

func TestMain(m *testing.M) {
	if what := strings.Fields(os.Getenv(asked)); len(what) > 0 {
		if err := processes[what[0]](what[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

var processes = map[string]func(args []string) error{"hold": hold, "contend": contend, "write": write}

// process is one that shares a file with the test.
type process struct {
	*exec.Cmd
	out *bufio.Scanner
}

func start(t *testing.T, what ...string) *process {
	t.Helper()
	cmd := command(what...)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_, _ = io.Copy(io.Discard, out)
		_ = cmd.Wait()
	})
	return &process{cmd, bufio.NewScanner(out)}
}

func command(what ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), asked+"="+strings.Join(what, " "))
	cmd.Stderr = os.Stderr
	return cmd
}

// says returns the next line of the process.
func (p *process) says(t *testing.T) string {
	t.Helper()
	require.True(t, p.out.Scan(), "the process says no more")
	return p.out.Text()
}

// hold changes a value, and stays within the transaction for as long as it takes to be stopped or
// killed; then it says how the transaction ended.
func hold(args []string) error {
	s, err := sqlitelease.New(args[0], "fleet", sqlitelease.WithTimeout(time.Minute))
	if err != nil {
		return err
	}
	change := driver.Op{Key: "held", Change: &driver.Change{ID: "of-the-stopped", Data: []byte("stopped")}}
	err = s.Within(context.Background(), change, func() {
		fmt.Println("within")
		began := time.Now()
		for time.Since(began) < 3*time.Second { // stopped or killed meanwhile
			time.Sleep(10 * time.Millisecond)
		}
	})
	fmt.Println("ended:", err)
	return s.Close()
}

// contend changes values that others change, too, until it is killed.
func contend(args []string) error {
	seed, err := strconv.ParseUint(args[2], 10, 64)
	if err != nil {
		return err
	}
	s, err := sqlitelease.New(args[0], "fleet", sqlitelease.WithTimeout(2*time.Second))
	if err != nil {
		return err
	}
	return historytest.Contend(s.Values(), os.Stdout, args[1], seed)
}

// write changes a value as somebody who is not root, and says how that fails.
func write(args []string) error {
	if os.Getuid() == 0 {
		if err := syscall.Setuid(65534); err != nil {
			return err
		}
	}
	s, err := sqlitelease.New(args[0], "fleet")
	if err != nil {
		return err
	}
	res := s.Values().Do(context.Background(), []driver.Op{{Key: "job", Change: &driver.Change{ID: "x", Data: []byte("x")}}})[0]
	fmt.Println(errors.Is(res.Err, protocol.ErrPermanent))
	fmt.Println(s.Hint(res.Err))
	fmt.Println(res.Err)
	return s.Close()
}
