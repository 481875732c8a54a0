package fleet

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/redistest"
)

// selector is a metric of ours in a query, with its matchers.
var selector = regexp.MustCompile(`(solotick_\w+)(?:\{([^}]*)\})?`)

// grouping are the labels by which a query sums up, and matching those of one matcher.
var (
	grouping = regexp.MustCompile(`(?:by|on) \(([^)]*)\)`)
	matching = regexp.MustCompile(`(\w+)\s*(=~|=|!=|!~)\s*"([^"]*)"`)
)

// queries are those of the dashboard and of the alerts.
func queries(t *testing.T) (list []string) {
	t.Helper()
	var board struct {
		Panels []struct{ Targets []struct{ Expr string } }
	}
	text, err := os.ReadFile("../../deploy/grafana/solotick.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &board))
	for _, p := range board.Panels {
		for _, target := range p.Targets {
			list = append(list, target.Expr)
		}
	}
	rules, err := os.ReadFile("../../deploy/prometheus/solotick.rules.yml")
	require.NoError(t, err)
	for block := range strings.SplitSeq(string(rules), "- alert: ") {
		if _, expr, ok := strings.Cut(block, "expr: "); ok {
			expr, _, _ = strings.Cut(expr, "labels: {")
			list = append(list, expr)
		}
	}
	return list
}

// exported has the series of a worker: by name the values of each label.
type exported map[string]map[string][]string

func (e exported) add(text string) {
	series := regexp.MustCompile(`(?m)^(solotick_\w+)(?:\{(.*)\})? \S+$`)
	for _, line := range series.FindAllStringSubmatch(text, -1) {
		if e[line[1]] == nil {
			e[line[1]] = map[string][]string{"instance": nil, "fleet": nil} // which the scrape adds
		}
		for _, label := range matching.FindAllStringSubmatch(line[2], -1) {
			e[line[1]][label[1]] = append(e[line[1]][label[1]], label[3])
		}
	}
}

// faults are what a query asks for that no series has.
func (e exported) faults(query string) (faults []string) {
	var labels []string
	for _, s := range selector.FindAllStringSubmatch(query, -1) {
		has, ok := e[s[1]]
		if !ok {
			faults = append(faults, "no series "+s[1])
			continue
		}
		for name := range has {
			labels = append(labels, name)
		}
		for _, m := range matching.FindAllStringSubmatch(s[2], -1) {
			values, ok := has[m[1]]
			if !ok {
				faults = append(faults, s[1]+" has no label "+m[1])
				continue
			}
			for value := range strings.SplitSeq(m[3], "|") {
				if !strings.HasPrefix(value, "$") && !slices.Contains(values, value) {
					faults = append(faults, s[1]+" has no "+m[1]+" "+value)
				}
			}
		}
	}
	for _, g := range grouping.FindAllStringSubmatch(query, -1) {
		for label := range strings.SplitSeq(g[1], ",") {
			if label = strings.TrimSpace(label); label != "" && !slices.Contains(labels, label) {
				faults = append(faults, "nothing in "+query+" has a label "+label)
			}
		}
	}
	return faults
}

func (w *worker) metrics() string {
	w.f.t.Helper()
	addr := regexp.MustCompile(`msg="http listening".* addr=(\S+)`).FindStringSubmatch(w.log.String())
	require.NotNil(w.f.t, addr, "%s", w.log)
	response, err := http.Get("http://" + addr[1] + "/metrics")
	require.NoError(w.f.t, err)
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	require.NoError(w.f.t, err)
	return string(text)
}

func TestQueriesFindTheirSeriesInARunningFleet(t *testing.T) {
	t.Parallel()
	f := newFleet(t, redistest.Start(t), time.Second, job("short", "@every 1s", 1), job("long", "@every 1s", 20, "overlap: allow"),
		"  - name: task\n    leader: true\n    exec: {command: [sleep, \"3600\"]}\n",
		"  - {name: broken, schedule: \"@every 1s\", exec: {command: [\"false\"]}}\n",
		"  - {name: again, schedule: \"@every 1s\", retry: {max_attempts: 100, backoff: 500ms, max_backoff: 1s}, exec: {command: [\"false\"]}}\n")
	f.writeConfig("notifications: {receivers: [{name: nobody, url: \"http://127.0.0.1:1\"}]}\n" + f.configText()) // who never takes anything
	workers := f.startAll("a", "b")
	f.writeConfig(f.configText() + job("more", "@every 1s", 1)) // a reload has metrics of its own
	workers[0].signal(1)                                        // SIGHUP
	workers[1].signal(1)
	list := queries(t)
	require.Greater(t, len(list), 40)
	faults := []string{"nothing was looked at"}
	require.Eventually(t, func() bool {
		series := exported{}
		for _, w := range workers {
			series.add(w.metrics())
		}
		faults = nil
		for _, query := range list {
			faults = append(faults, series.faults(query)...)
		}
		return len(faults) == 0
	}, patience, 100*time.Millisecond, "%v", &faults)
	require.NotEmpty(t, exported{}.faults(list[0]), "a series that is not there is noticed")
}
