package workertest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Patience is how long a test waits for what takes a moment on an idle machine.
const Patience = 30 * time.Second

// Process is a worker process that logs JSON.
type Process struct {
	t      *testing.T
	Cmd    *exec.Cmd
	Stdout bytes.Buffer
	Ended  chan struct{}

	mu  sync.Mutex
	log []Record
}

// Record is a line of the log.
type Record map[string]any

func (r Record) is(message string, facts ...any) bool {
	if r["msg"] != message {
		return false
	}
	for i := 0; i < len(facts); i += 2 {
		if r[facts[i].(string)] != facts[i+1] {
			return false
		}
	}
	return true
}

// Start starts a worker, which is killed when the test ends.
func Start(t *testing.T, config string, args ...string) *Process {
	t.Helper()
	args = append([]string{"run", "--config", config, "--log-format", "json"}, args...)
	return Watch(t, exec.Command(Program(t), args...)) //nolint:noctx // it ends with the test
}

// Watch starts a command that runs a worker, which must log JSON.
func Watch(t *testing.T, cmd *exec.Cmd) *Process {
	t.Helper()
	p := &Process{t: t, Cmd: cmd, Ended: make(chan struct{})}
	p.Cmd.Stdout = &p.Stdout
	stderr, err := p.Cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, p.Cmd.Start())
	go func() {
		defer close(p.Ended)
		p.read(stderr)
		_ = p.Cmd.Wait() // the tests look at the state
	}()
	t.Cleanup(func() {
		_ = p.Cmd.Process.Kill()
		<-p.Ended
		if t.Failed() {
			text := p.Text()
			t.Logf("end of the log of %v:\n%s", p.Cmd.Args[1:], text[max(0, len(text)-10_000):])
		}
	})
	return p
}

func (p *Process) read(stderr io.Reader) {
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		r := Record{}
		if json.Unmarshal(lines.Bytes(), &r) != nil {
			r = Record{"plain": lines.Text()}
		}
		p.mu.Lock()
		p.log = append(p.log, r)
		p.mu.Unlock()
	}
}

// Records returns the log so far.
func (p *Process) Records() []Record {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clip(p.log)
}

// Text returns the log so far, one line of JSON per record.
func (p *Process) Text() string {
	var b strings.Builder
	for _, r := range p.Records() {
		line, _ := json.Marshal(r) //nolint:errchkjson // it was JSON
		b.Write(line)
		b.WriteByte('\n')
	}
	return b.String()
}

// Await waits until the log has a record with this message and these facts, which are pairs of a
// key and a value, and returns the first.
func (p *Process) Await(message string, facts ...any) Record {
	p.t.Helper()
	var found Record
	require.Eventually(p.t, func() bool {
		for _, r := range p.Records() {
			if r.is(message, facts...) {
				found = r
				return true
			}
		}
		return false
	}, Patience, 5*time.Millisecond, "no line %q %v in the log", message, facts)
	return found
}

// All returns the records that have this message and these facts.
func (p *Process) All(message string, facts ...any) (found []Record) {
	for _, r := range p.Records() {
		if r.is(message, facts...) {
			found = append(found, r)
		}
	}
	return found
}

// RequireJSON checks that only the logger has written to stderr.
func (p *Process) RequireJSON() {
	p.t.Helper()
	for _, r := range p.Records() {
		require.NotContains(p.t, r, "plain")
	}
}

// Signal sends a signal to the worker.
func (p *Process) Signal(s os.Signal) {
	p.t.Helper()
	require.NoError(p.t, p.Cmd.Process.Signal(s))
}

// Exit waits until the process ends, and returns its exit code.
func (p *Process) Exit() int {
	p.t.Helper()
	select {
	case <-p.Ended:
	case <-time.After(Patience):
		p.Signal(syscall.SIGQUIT) // which logs what it waits for
		<-p.Ended
		require.Fail(p.t, "the worker does not end")
	}
	return p.Cmd.ProcessState.ExitCode()
}

// Get is Ask, and fails the test on an error.
func (p *Process) Get(path string) (status int, body string) {
	p.t.Helper()
	status, body, err := p.Ask(path)
	require.NoError(p.t, err)
	return status, body
}

// Ask sends a GET request to the worker's HTTP server.
func (p *Process) Ask(path string) (status int, body string, err error) {
	addr, _ := p.Await("http listening")["addr"].(string)
	client := http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Get("http://" + addr + path) //nolint:noctx // has a timeout
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, string(text), err
}

// Ready waits until /readyz returns the status, and returns the body.
func (p *Process) Ready(status int) string {
	p.t.Helper()
	var body string
	require.Eventually(p.t, func() bool {
		got, text, err := p.Ask("/readyz")
		body = text
		return err == nil && got == status
	}, Patience, 20*time.Millisecond, "/readyz is not %d", status)
	return body
}

// Warnings returns the records at level WARN and above.
func (p *Process) Warnings() (list []Record) {
	for _, r := range p.Records() {
		if r["level"] == "WARN" || r["level"] == "ERROR" {
			list = append(list, r)
		}
	}
	return list
}

// Settled returns how many ticks of a job have succeeded on this worker.
func (p *Process) Settled(job string) int {
	return len(p.All("tick settled", "job", job, "outcome", "succeeded"))
}

// Plain returns the lines of stderr that the logger did not write.
func (p *Process) Plain() string {
	var b strings.Builder
	for _, r := range p.Records() {
		if text, ok := r["plain"].(string); ok {
			b.WriteString(text + "\n")
		}
	}
	return b.String()
}
