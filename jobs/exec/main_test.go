//go:build linux

package exec

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// The test binary is also the guard process and the worker process of its tests.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "guard":
			os.Exit(GuardMain())
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
	if left := children(); len(left) > 0 && code == 0 {
		fmt.Fprintln(os.Stderr, "children left, ended or not:", left)
		code = 1
	}
	os.Exit(code)
}
