package main

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/cmd/worker/internal/filetest"
	"github.com/solotick/solotick/cmd/worker/internal/workertest"
	"github.com/solotick/solotick/internal/redistest"
)

// promisedSeries are the names and labels that users may rely on.
var promisedSeries = map[string]string{
	"ticks_total": "job,outcome", "claims_total": "job,result", "run_duration_seconds": "", "tick_lag_seconds": "",
	"runs_in_progress": "job", "takeovers_total": "job", "leases_held": "", "lease_wait_seconds": "", "lease_hold_seconds": "",
	"lease_margin_seconds": "", "lease_renewals_total": "result", "leases_lost_total": "reason", "redis_commands_total": "",
	"clock_offset_seconds": "", "replicas": "", "next_tick_timestamp_seconds": "job", "job_overdue_seconds": "job",
	"last_success_timestamp_seconds": "job",
}

// seriesOf returns the labels of each name of a text of metrics, without those of a histogram's
// buckets.
func seriesOf(text string) map[string][]string {
	series := map[string][]string{}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		name, _, _ := strings.Cut(line, " ")
		name, rest, _ := strings.Cut(name, "{")
		for _, suffix := range []string{"_bucket", "_count", "_sum"} {
			name = strings.TrimSuffix(name, suffix)
		}
		var labels []string
		for label := range strings.SplitSeq(strings.TrimSuffix(rest, "}"), ",") {
			if key, _, ok := strings.Cut(label, "="); ok && key != "le" {
				labels = append(labels, key)
			}
		}
		series[name] = labels
	}
	return series
}

func TestRunningWorkerExportsTheMetricsThatArePromised(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	release := filepath.Join(t.TempDir(), "never")
	config := "redis: {url: \"" + server.URL() + "\"}\nlease: {ttl: 1s}\n" + held(release) + `
- name: hello
  schedule: "@every 1s"
  log: {message: hello}
`
	p := workertest.Start(t, filetest.Config(t, config), "--http", "127.0.0.1:0")
	p.Ready(http.StatusOK)
	p.Await("tick settled", "job", "hello", "outcome", "succeeded")
	p.Await("run started", "job", "held")
	var missing []string
	require.Eventually(t, func() bool {
		missing = nil
		_, body := p.Get("/metrics")
		got := seriesOf(body)
		for name, labels := range promisedSeries {
			if found, ok := got["solotick_"+name]; !ok || strings.Join(found, ",") != labels {
				missing = append(missing, name+"{"+labels+"}")
			}
		}
		return len(missing) == 0 && !strings.Contains(body, "solotick_lease_margin_seconds_count 0\n") &&
			strings.Contains(body, "solotick_job_overdue_seconds{job=\"hello\"} 0\n")
	}, workertest.Patience, 50*time.Millisecond, "missing or with other labels: %v", &missing)
}

func TestJobIsOverdueWhileRedisIsAway(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	p := workertest.Start(t, filetest.Config(t, "defaults: {misfire_grace: 1s}\n"+workertest.OneJob), "--http", "127.0.0.1:0", "--redis", server.URL())
	p.Ready(http.StatusOK)
	p.Await("tick settled", "job", "hello")
	overdue := func(none bool) func() bool {
		return func() bool {
			_, body := p.Get("/metrics")
			return strings.Contains(body, "solotick_job_overdue_seconds{job=\"hello\"} 0\n") == none
		}
	}
	require.Eventually(t, overdue(true), workertest.Patience, 20*time.Millisecond)
	server.Kill()
	require.Eventually(t, overdue(false), workertest.Patience, 20*time.Millisecond)
	server.Restart()
	require.Eventually(t, overdue(true), workertest.Patience, 20*time.Millisecond)
}
