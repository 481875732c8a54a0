//go:build linux

package exec

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/solotick/solotick/jobs/exec/internal/proc"
)

// The test binary is also the supervisor process and the worker process of its tests.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "supervisor":
			os.Exit(SupervisorMain())
		case "worker":
			os.Exit(workerMain())
		case "bystander":
			os.Exit(3)
		}
	}
	// The race detector has every process that ends wait for a second.
	_ = os.Setenv("GORACE", "atexit_sleep_ms=0 "+os.Getenv("GORACE"))
	// Tests in parallel are those that wait for a deadline, and do nothing else.
	flag.Parse()
	_ = flag.Set("test.parallel", "16")
	code := m.Run()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, "goroutines left:", err)
		code = 1
	}
	if left := proc.Children(); len(left) > 0 && code == 0 {
		fmt.Fprintln(os.Stderr, "children left, ended or not:", left)
		code = 1
	}
	os.Exit(code)
}
