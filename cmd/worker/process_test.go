package main

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

// patience is how long a test waits for what should be there in a moment, on a machine with better
// things to do.
const patience = 30 * time.Second

// process is a worker that runs, with a log in JSON.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	stdout bytes.Buffer
	ended  chan struct{}

	mu  sync.Mutex
	log []record
}

// record is a line of the log.
type record map[string]any

func (r record) is(message string, facts ...any) bool {
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

// start starts a worker and kills it at the end of the test if it still runs.
func start(t *testing.T, config string, args ...string) *process {
	t.Helper()
	args = append([]string{"run", "--config", config, "--log-format", "json"}, args...)
	return watch(t, exec.Command(program(t), args...))
}

// watch starts a command that runs a worker with a log in JSON.
func watch(t *testing.T, cmd *exec.Cmd) *process {
	t.Helper()
	p := &process{t: t, cmd: cmd, ended: make(chan struct{})}
	p.cmd.Stdout = &p.stdout
	stderr, err := p.cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, p.cmd.Start())
	go func() {
		defer close(p.ended)
		p.read(stderr)
		_ = p.cmd.Wait() // the tests look at the state
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.ended
		if t.Failed() {
			text := p.text()
			t.Logf("end of the log of %v:\n%s", p.cmd.Args[1:], text[max(0, len(text)-10_000):])
		}
	})
	return p
}

func (p *process) read(stderr io.Reader) {
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		r := record{}
		if json.Unmarshal(lines.Bytes(), &r) != nil {
			r = record{"plain": lines.Text()}
		}
		p.mu.Lock()
		p.log = append(p.log, r)
		p.mu.Unlock()
	}
}

// records returns the log so far.
func (p *process) records() []record {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clip(p.log)
}

func (p *process) text() string {
	var b strings.Builder
	for _, r := range p.records() {
		line, _ := json.Marshal(r)
		b.Write(line)
		b.WriteByte('\n')
	}
	return b.String()
}

// await waits for a line of the log with a message and pairs of facts, and returns it.
func (p *process) await(message string, facts ...any) record {
	p.t.Helper()
	var found record
	require.Eventually(p.t, func() bool {
		for _, r := range p.records() {
			if r.is(message, facts...) {
				found = r
				return true
			}
		}
		return false
	}, patience, 5*time.Millisecond, "no line %q %v in the log", message, facts)
	return found
}

// all returns every line with a message and facts.
func (p *process) all(message string, facts ...any) (found []record) {
	for _, r := range p.records() {
		if r.is(message, facts...) {
			found = append(found, r)
		}
	}
	return found
}

// requireJSON checks that nothing but the logger has written to stderr.
func (p *process) requireJSON() {
	p.t.Helper()
	for _, r := range p.records() {
		require.NotContains(p.t, r, "plain")
	}
}

func (p *process) signal(s os.Signal) {
	p.t.Helper()
	require.NoError(p.t, p.cmd.Process.Signal(s))
}

// exit waits for the end of the process, and returns its exit code.
func (p *process) exit() int {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		p.signal(syscall.SIGQUIT) // which logs what it waits for
		<-p.ended
		require.Fail(p.t, "the worker does not end")
	}
	return p.cmd.ProcessState.ExitCode()
}

// get asks the worker's server, which must answer.
func (p *process) get(path string) (status int, body string) {
	p.t.Helper()
	status, body, err := p.ask(path)
	require.NoError(p.t, err)
	return status, body
}

func (p *process) ask(path string) (status int, body string, err error) {
	addr, _ := p.await("http listening")["addr"].(string)
	client := http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Get("http://" + addr + path)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, string(text), err
}

// ready waits until /readyz has a status, and returns what it says then.
func (p *process) ready(status int) string {
	p.t.Helper()
	var body string
	require.Eventually(p.t, func() bool {
		got, text, err := p.ask("/readyz")
		body = text
		return err == nil && got == status
	}, patience, 20*time.Millisecond, "/readyz is not %d", status)
	return body
}
