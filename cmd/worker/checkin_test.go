package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/cmd/worker/internal/filetest"
	"github.com/solotick/solotick/cmd/worker/internal/workertest"
	"github.com/solotick/solotick/internal/redistest"
)

// checkIns are the requests to a monitor: paths by run id, in order.
type checkIns struct {
	mu      sync.Mutex
	runs    map[string][]string
	arrived chan [2]string           // path and run id
	block   map[string]chan struct{} // paths that are not answered before this is closed
}

func (c *checkIns) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	id := r.URL.Query().Get("rid")
	c.runs[id] = append(c.runs[id], strings.TrimPrefix(r.URL.Path, "/check"))
	c.mu.Unlock()
	c.arrived <- [2]string{r.URL.Path, id}
	if block := c.block[r.URL.Path]; block != nil {
		select {
		case <-block:
		case <-r.Context().Done():
		}
	}
}

func (c *checkIns) of(id string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.runs[id]
}

// The first worker is killed after its report that the run succeeded has arrived, and before the
// tick is settled.
func TestKilledWorkersRunIsReportedUnderOneId(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	unblocked := make(chan struct{})
	monitor := &checkIns{runs: map[string][]string{}, arrived: make(chan [2]string, 1000), block: map[string]chan struct{}{"/check": unblocked}}
	receiver := httptest.NewServer(monitor)
	t.Cleanup(receiver.Close)
	path := filetest.Config(t, "redis: {url: \""+server.URL()+"\"}\nlease: {ttl: 1s}\njobs:\n- name: report\n  schedule: \"@every 1s\"\n"+
		"  overlap: allow\n  log: {message: hello}\n  notify: {healthchecks: \""+receiver.URL+"/check\"}\n")
	first := workertest.Start(t, path, "--http", "127.0.0.1:0", "--replica", "first")
	arrival := <-monitor.arrived
	for arrival[0] != "/check" { // the end of a run, whose report is not answered
		arrival = <-monitor.arrived
	}
	first.Signal(syscall.SIGKILL)
	first.Exit()
	close(unblocked)
	before := monitor.of(arrival[1])
	require.Equal(t, []string{"/start", ""}, before[:2])

	workertest.Start(t, path, "--http", "127.0.0.1:0", "--replica", "second").Await("run started", "job", "report", "attempt", 2.0)
	require.Eventually(t, func() bool { return len(monitor.of(arrival[1])) >= len(before)+2 }, workertest.Patience, 20*time.Millisecond)
	require.Equal(t, []string{"/start", ""}, monitor.of(arrival[1])[len(before):], "once more, by the worker that took it over")
}

func TestSecretsOfMonitorsAreNotInTheLog(t *testing.T) {
	t.Parallel()
	monitor := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(monitor.Close)
	config := filepath.Join(t.TempDir(), "solotick.yaml")
	require.NoError(t, os.WriteFile(config, []byte("jobs:\n- name: report\n  schedule: \"@every 1s\"\n  log: {message: hello}\n"+
		"  notify: {sentry: \""+monitor.URL+"/api/1/cron/report/confidential/\"}\n"), 0o600))
	p := workertest.Start(t, config, "--http", "127.0.0.1:0", "--log-level", "debug")
	p.Await("check-in failed", "job", "report", "monitor", "sentry")
	p.Await("tick settled", "job", "report", "outcome", "succeeded")
	require.NotContains(t, p.Text(), "confidential")
}
