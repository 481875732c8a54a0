package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/solotick/solotick/cmd/worker/internal/cli"
	"github.com/solotick/solotick/internal/dbtest"
)

var buildDir string // "" as long as no test has needed the program

func TestMain(m *testing.M) {
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

const testVersion = "v1.2.3-test"

// built is the program itself, built once for all tests that need a process of their own.
var built = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "worker")
	if err != nil {
		return "", err
	}
	buildDir = dir
	program := filepath.Join(dir, "worker")
	args := []string{"build", "-o", program, "-ldflags", "-X main.version=" + testVersion}
	if raceDetector {
		args = append(args, "-race")
	}
	if out, err := exec.Command("go", append(args, ".")...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return program, nil
})

func program(t *testing.T) string {
	t.Helper()
	path, err := built()
	require.NoError(t, err)
	return path
}

// result is the outcome of one call of Main.
type result struct {
	code           int
	stdout, stderr string
}

// do calls Main in this process, with an environment of its own.
func do(t *testing.T, env map[string]string, args ...string) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := cli.Main(t.Context(), "", args, &stdout, &stderr, func(name string) (string, bool) {
		value, ok := env[name]
		return value, ok
	})
	return result{code, stdout.String(), stderr.String()}
}

// at lets a bubble's clock, which begins at 2000-01-01, show a time.
func at(t *testing.T, rfc3339 string) {
	t.Helper()
	when, err := time.Parse(time.RFC3339, rfc3339)
	require.NoError(t, err)
	time.Sleep(time.Until(when))
}

// running is a call of Main for a command that goes on until ctx ends.
func running(t *testing.T, args ...string) (stop func() result) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var stdout, stderr bytes.Buffer
	code := make(chan int, 1)
	go func() { code <- cli.Main(ctx, "", args, &stdout, &stderr, os.LookupEnv) }()
	return func() result {
		cancel()
		return result{<-code, stdout.String(), stderr.String()}
	}
}
