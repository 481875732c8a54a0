package deploy

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const rules, rulesTest, dashboard = "prometheus/solotick.rules.yml", "prometheus/solotick.rules_test.yml", "grafana/solotick.json"

// promtool runs Prometheus's own tool, which internal/scripts/deps.sh installs.
func promtool(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command("promtool", args...).CombinedOutput()
	require.NoError(t, err, "promtool %s (make deps installs it):\n%s", strings.Join(args, " "), out)
	return string(out)
}

func text(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(b)
}

func TestRulesAlertWhenTheyShould(t *testing.T) {
	promtool(t, "check", "rules", rules)
	promtool(t, "test", "rules", rulesTest)
}

func TestEveryAlertIsTestedFiringAndQuiet(t *testing.T) {
	tests := text(t, rulesTest)
	alerts := regexp.MustCompile(`(?m)- alert: (\w+)$`).FindAllStringSubmatch(text(t, rules), -1)
	require.NotEmpty(t, alerts)
	for _, alert := range alerts {
		require.Contains(t, tests, "- name: "+alert[1]+"\n")
		require.Contains(t, tests, "- name: "+alert[1]+" stays quiet\n")
	}
}

func TestScrapeExampleKeepsTheLabelJob(t *testing.T) {
	config := strings.Replace(text(t, "prometheus/scrape.yml"), "solotick.rules.yml", filepath.Join(dir(t), rules), 1)
	path := filepath.Join(t.TempDir(), "prometheus.yml")
	require.NoError(t, os.WriteFile(path, []byte(config), 0o600))
	promtool(t, "check", "config", path)
	require.Contains(t, config, "honor_labels: true")
}

func dir(t *testing.T) string {
	t.Helper()
	d, err := os.Getwd()
	require.NoError(t, err)
	return d
}

func TestQueriesOfTheDashboardAreValid(t *testing.T) {
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(text(t, dashboard)), &board))
	var file strings.Builder
	file.WriteString("groups:\n  - name: dashboard\n    rules:\n")
	n := 0
	for _, p := range board.Panels {
		require.NotEmpty(t, p.Targets, p.Title)
		for _, target := range p.Targets {
			expr := strings.NewReplacer("$__rate_interval", "1m", "$fleet", ".*", "$job", ".*").Replace(target.Expr)
			_, _ = fmt.Fprintf(&file, "      - {record: 'query:%d', expr: %q}\n", n, expr)
			n++
		}
	}
	require.Greater(t, n, 20)
	path := filepath.Join(t.TempDir(), "queries.yml")
	require.NoError(t, os.WriteFile(path, []byte(file.String()), 0o600))
	require.Contains(t, promtool(t, "check", "rules", path), fmt.Sprintf("%d rules found", n))
}
