package metrics_test

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/common/expfmt"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/metrics"
	"github.com/solotick/solotick/scheduler"
)

var tick = time.Date(2026, 3, 1, 2, 0, 0, 0, time.UTC)

func run(attempt int) jobs.Run { return jobs.Run{Job: "a", Tick: tick, Token: 7, Attempt: attempt} }

// fleet is a source that a test sets.
type fleet struct {
	jobs []scheduler.JobStatus
	held int
	load scheduler.Capacity
}

func (f *fleet) Jobs() []scheduler.JobStatus  { return f.jobs }
func (f *fleet) Held() int                    { return f.held }
func (f *fleet) Capacity() scheduler.Capacity { return f.load }

// gathered is the text of everything that m exports, and proof that the registry accepts it.
func gathered(t *testing.T, m *metrics.Metrics) string {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	require.NoError(t, registry.Register(m))
	families, err := registry.Gather()
	require.NoError(t, err)
	var text strings.Builder
	for _, family := range families {
		_, err := expfmt.MetricFamilyToText(&text, family)
		require.NoError(t, err)
	}
	return text.String()
}

// requireSeries checks the series of some names, and nothing of the others.
func requireSeries(t *testing.T, m *metrics.Metrics, want string, names ...string) {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	require.NoError(t, registry.Register(m))
	require.NoError(t, testutil.GatherAndCompare(registry, strings.NewReader(want), names...))
}
