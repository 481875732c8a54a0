package browser

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/redistest"
)

// operateToken signs in to the console of every fleet here.
const operateToken = "let-the-operator-in-0123456789abcdef"

// setUp is done once, by the first test that needs it.
var setUp struct {
	once   sync.Once
	err    error
	dir    string
	chrome *chrome
}

func TestMain(m *testing.M) {
	code := m.Run()
	if setUp.chrome != nil {
		setUp.chrome.stop()
	}
	_ = os.RemoveAll(setUp.dir)
	os.Exit(code)
}

// prepare builds the worker and starts the browser.
func prepare(t *testing.T) {
	t.Helper()
	setUp.once.Do(func() {
		if setUp.dir, setUp.err = os.MkdirTemp("", "solotick-worker-"); setUp.err != nil { //nolint:usetesting // it outlives the test that makes it
			return
		}
		build := exec.Command("go", "build", "-race", "-buildvcs=false", "-o", filepath.Join(setUp.dir, "worker"), "./cmd/worker")
		// -race, for which the tests have compiled it already
		build.Dir = filepath.Join("..", "..")
		if out, err := build.CombinedOutput(); err != nil {
			setUp.err = fmt.Errorf("%w: %s", err, out)
			return
		}
		setUp.chrome, setUp.err = startChrome()
	})
	require.NoError(t, setUp.err)
}

func browser(t *testing.T) *chrome {
	t.Helper()
	prepare(t)
	return setUp.chrome
}

// fleet is workers that share a Redis and a configuration.
type fleet struct {
	t      *testing.T
	redis  *redistest.Server
	config string
}

// newFleet writes the configuration of a fleet; tokens are added to it.
func newFleet(t *testing.T, config string) *fleet {
	t.Helper()
	prepare(t)
	f := &fleet{t: t, redis: redistest.Start(t), config: filepath.Join(t.TempDir(), "fleet.yaml")}
	config += "\nhttp:\n  tokens:\n    - {name: operator, role: operate, token: " + operateToken + "}\n"
	require.NoError(t, os.WriteFile(f.config, []byte(config), 0o600))
	return f
}

// demo is the configuration of the fleet to look at.
func demo(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "fleet.yaml"))
	require.NoError(t, err)
	return string(text)
}

// worker is a process of the fleet.
type worker struct {
	f    *fleet
	cmd  *exec.Cmd
	host string // where its console answers
	done chan struct{}
}

var listening = regexp.MustCompile(`http listening.*addr=(\S+)`)

// start starts a replica, and waits until its console answers.
func (f *fleet) start(id string) *worker {
	f.t.Helper()
	return f.startAt(id, "127.0.0.1:0")
}

// startAt is start, with the address of its console.
func (f *fleet) startAt(id, address string) *worker {
	f.t.Helper()
	w := &worker{f: f, done: make(chan struct{})}
	w.cmd = exec.Command(filepath.Join(setUp.dir, "worker"), "run", "--config", f.config, "--replica", id, "--http", address)
	w.cmd.Env = append(os.Environ(), "REDIS_URL="+f.redis.URL())
	log, err := w.cmd.StderrPipe()
	require.NoError(f.t, err)
	require.NoError(f.t, w.cmd.Start())
	f.t.Cleanup(w.kill)
	at, newest := make(chan string, 1), make([]string, 0, 20)
	go func() {
		defer close(w.done)
		for lines := bufio.NewScanner(log); lines.Scan(); {
			if found := listening.FindStringSubmatch(lines.Text()); found != nil {
				at <- found[1]
			}
			if newest = append(newest, lines.Text()); len(newest) > 20 {
				newest = newest[1:]
			}
		}
	}()
	select {
	case w.host = <-at:
	case <-w.done:
		require.FailNow(f.t, "the worker has ended", strings.Join(newest, "\n"))
	}
	return w
}

// kill ends the worker as a crash does.
func (w *worker) kill() {
	_ = w.cmd.Process.Kill()
	<-w.done
	_ = w.cmd.Wait()
}

func (w *worker) signal(s syscall.Signal) { require.NoError(w.f.t, w.cmd.Process.Signal(s)) }

func (w *worker) url(path string) string { return "http://" + w.host + path }

// get asks for a page as a program does, and returns it.
func (w *worker) get(path string) []byte {
	w.f.t.Helper()
	r, err := http.NewRequestWithContext(w.f.t.Context(), http.MethodGet, w.url(path), nil)
	require.NoError(w.f.t, err)
	r.Header.Set("Authorization", "Bearer "+operateToken)
	r.Header.Set("Accept", "text/html")
	answer, err := http.DefaultClient.Do(r)
	require.NoError(w.f.t, err)
	defer func() { _ = answer.Body.Close() }()
	require.Equal(w.f.t, http.StatusOK, answer.StatusCode)
	body, err := io.ReadAll(answer.Body)
	require.NoError(w.f.t, err)
	return body
}

// signIn signs a tab in by the form, and goes on to a page.
func (w *worker) signIn(p *tab, path string) {
	p.t.Helper()
	p.open(w.url(path))
	p.click("#token")
	p.write(operateToken)
	p.expectLoad(func() { p.key("Enter") })
	p.await(`location.pathname + location.search === ` + quoted(path))
}
