package fleet

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/proctest"
	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/internal/skewtest"
)

const (
	patience = time.Minute     // how much longer than on an idle machine a test waits for what has to come
	busy     = 5 * time.Second // what a busy machine may add to a time that a test measures
)

// workerPath is the worker as users build it, but that [skewtest.Variable] sets its wall clock off.
var workerPath string

func TestMain(m *testing.M) {
	proctest.FollowGo() // until the process ends
	dir, err := os.MkdirTemp("", "fleet")
	if err == nil {
		err = build(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "fleet:", err)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

func build(dir string) error {
	workerPath = filepath.Join(dir, "worker")
	overlay, err := skewtest.Overlay(dir)
	if err != nil {
		return err
	}
	if out, err := exec.Command("go", "build", "-buildvcs=false", "-overlay", overlay, "-o", workerPath, "../../cmd/worker").CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	return nil
}

// fleet is some workers with one configuration and one Redis. Its jobs write to one file.
type fleet struct {
	t       *testing.T
	dir     string
	redis   *redistest.Server
	journal string
	config  string
}

// Each run of a job writes a line when it starts, then one every 100 ms, and one when it ends by
// itself.
const script = `
say() { echo "$1 $SOLOTICK_JOB $SOLOTICK_TICK_UNIX_MS $SOLOTICK_FENCING_TOKEN $SOLOTICK_ATTEMPT $SOLOTICK_REPLICA $(date +%s%N)" >>"$JOURNAL"; }
say start
n=$TENTHS
while [ "$n" -gt 0 ]; do sleep 0.1; n=$((n-1)); if [ "$n" -gt 0 ]; then say beat; fi; done
if [ "$SOLOTICK_ATTEMPT" -le "${FAILURES:-0}" ]; then say fail; exit 1; fi
say end
`

// job is one job of the configuration, which takes some tenths of a second.
func job(name, schedule string, tenths int, more ...string) string {
	s := fmt.Sprintf("  - name: %s\n    schedule: %q\n    exec:\n      command: [sh, \"${SCRIPT}\"]\n      env: {TENTHS: \"%d\"}\n      kill_grace: 1s\n", name, schedule, tenths)
	for _, m := range more {
		s += "    " + m + "\n"
	}
	return s
}

func newFleet(t *testing.T, redis *redistest.Server, ttl time.Duration, jobs ...string) *fleet {
	f := &fleet{t: t, dir: t.TempDir(), redis: redis}
	f.journal = filepath.Join(f.dir, "journal")
	f.config = filepath.Join(f.dir, "solotick.yaml")
	require.NoError(t, os.WriteFile(f.journal, nil, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(f.dir, "job.sh"), []byte(script), 0o600))
	text := fmt.Sprintf("namespace: fleet\nredis: {url: %q}\nlease: {ttl: %s}\nhttp: {addr: \"127.0.0.1:0\"}\nlog: {level: debug}\njobs:\n%s",
		redis.URL(), ttl, strings.Join(jobs, ""))
	require.NoError(t, os.WriteFile(f.config, []byte(text), 0o600))
	return f
}

// worker is one worker process.
type worker struct {
	*proctest.Process
	f    *fleet
	name string
	log  *safeBuffer
}

type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func (f *fleet) start(name string) *worker { return f.startSkewed(name, 0) }

// startSkewed starts a worker whose wall clock is off.
func (f *fleet) startSkewed(name string, skew time.Duration) *worker {
	f.t.Helper()
	w := &worker{f: f, name: name, log: new(safeBuffer)}
	cmd := exec.Command(workerPath, "run", "--config", f.config, "--replica", name)
	cmd.Env = append(os.Environ(), "JOURNAL="+f.journal, "SCRIPT="+filepath.Join(f.dir, "job.sh"), skewtest.Variable+"="+skew.String())
	cmd.Stderr, cmd.Stdout = w.log, w.log
	var err error
	w.Process, err = proctest.Start(cmd)
	require.NoError(f.t, err)
	f.t.Cleanup(func() {
		w.Kill()
		if f.t.Failed() {
			f.t.Logf("log of %s:\n%s", name, w.log)
		}
	})
	return w
}

func (f *fleet) startAll(names ...string) []*worker {
	var ws []*worker
	for _, n := range names {
		ws = append(ws, f.start(n))
	}
	for _, w := range ws {
		w.waitReady()
	}
	return ws
}

// waitReady waits until Redis has answered the worker.
func (w *worker) waitReady() {
	w.f.t.Helper()
	require.Eventually(w.f.t, func() bool { return strings.Contains(w.log.String(), "store answers") }, patience, 10*time.Millisecond,
		"%s: %s", w.name, w.log)
}

func (w *worker) signal(s syscall.Signal) { require.NoError(w.f.t, w.Signal(s)) }

// stop stops the worker with SIGTERM and returns how long that took.
func (w *worker) stop() time.Duration {
	w.f.t.Helper()
	began := time.Now()
	w.signal(syscall.SIGTERM)
	select {
	case <-w.Done():
	case <-time.After(60 * time.Second):
		require.Fail(w.f.t, "the worker does not stop", "%s: %s", w.name, w.log)
	}
	require.NoError(w.f.t, w.Err(), "exit of %s:\n%s", w.name, w.log)
	return time.Since(began)
}

func (w *worker) kill() { w.Kill() }

func (f *fleet) configText() string {
	text, err := os.ReadFile(f.config)
	require.NoError(f.t, err)
	return string(text)
}

func (f *fleet) writeConfig(text string) {
	require.NoError(f.t, os.WriteFile(f.config, []byte(text), 0o600))
}
