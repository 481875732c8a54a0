// Package workertest runs the worker for its tests: a command in the test's own process, and workers
// in processes of their own.
package workertest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/solotick/solotick/cmd/worker/internal/cli"
	"github.com/solotick/solotick/cmd/worker/internal/doctor"
	"github.com/solotick/solotick/internal/dbtest"
)

var buildDir string // "" as long as no test has needed the program

// Main is a TestMain. It runs the tests, removes what they share, and fails if they leave goroutines.
func Main(m *testing.M) {
	code := m.Run()
	dbtest.StopAll()
	if buildDir != "" {
		_ = os.RemoveAll(buildDir)
	}
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, "goroutines left:", err)
		code = 1
	}
	os.Exit(code)
}

// Version is the version of the built worker.
const Version = "v1.2.3-test"

// built is the program itself, built once for all tests that need a process of their own.
var built = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "worker")
	if err != nil {
		return "", err
	}
	buildDir = dir
	program := filepath.Join(dir, "worker")
	args := []string{"build", "-o", program, "-ldflags", "-X main.version=" + Version}
	if RaceDetector {
		args = append(args, "-race")
	}
	if out, err := exec.Command("go", append(args, ".")...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return program, nil
})

// Program returns the path of the worker, built once from the directory of the test.
func Program(t *testing.T) string {
	t.Helper()
	path, err := built()
	require.NoError(t, err)
	return path
}

// Result is what a call of Main printed and returned.
type Result struct {
	Code           int
	Stdout, Stderr string
}

// Do calls Main in this process, with env instead of the process's environment.
func Do(t *testing.T, env map[string]string, args ...string) Result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := cli.Main(t.Context(), "", args, &stdout, &stderr, func(name string) (string, bool) {
		value, ok := env[name]
		return value, ok
	})
	return Result{code, stdout.String(), stderr.String()}
}

// Running calls Main for a command that runs until stop is called.
func Running(t *testing.T, args ...string) (stop func() Result) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var stdout, stderr bytes.Buffer
	code := make(chan int, 1)
	go func() { code <- cli.Main(ctx, "", args, &stdout, &stderr, os.LookupEnv) }()
	return func() Result {
		cancel()
		return Result{<-code, stdout.String(), stderr.String()}
	}
}

// Outcomes returns the settled ticks of a job, newest first, as history prints them.
func Outcomes(t *testing.T, path, job string) (list []map[string]any) {
	t.Helper()
	r := Do(t, nil, "history", job, "--config", path, "--output", "json")
	require.Equal(t, 0, r.Code, r.Stderr)
	require.NoError(t, json.Unmarshal([]byte(r.Stdout), &list))
	return list
}

// Diagnosed runs doctor and returns its findings by check. The test fails unless doctor exits with
// code.
func Diagnosed(t *testing.T, path string, code int) map[string]doctor.Finding {
	t.Helper()
	r := Do(t, nil, "doctor", "--config", path, "--output", "json")
	require.Equal(t, code, r.Code, r.Stdout+r.Stderr)
	require.NotContains(t, r.Stdout+r.Stderr, "s3cret")
	var x doctor.Report
	require.NoError(t, json.Unmarshal([]byte(r.Stdout), &x))
	found := map[string]doctor.Finding{}
	for _, f := range x.Checks {
		found[f.Check] = f
	}
	return found
}

// List formats addresses as a YAML list, each with a prefix.
func List(prefix string, addrs ...string) string {
	quoted := make([]string, len(addrs))
	for i, a := range addrs {
		quoted[i] = fmt.Sprintf("%q", prefix+a)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}
