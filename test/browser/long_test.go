package browser

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLongTextsLeaveEachColumnInSight(t *testing.T) {
	long := strings.Repeat("a-name-that-is-long", 7)[:128]
	unbroken := strings.Repeat("x", 200)
	f := newFleet(t, "redis: {url: \"${REDIS_URL}\"}\nlease: {ttl: 2s}\ndefaults: {history: 64}\njobs:\n"+
		"- {name: "+long+", schedule: '@every 1s', log: {message: x}}\n"+
		"- {name: failing, schedule: '@every 1s', exec: {command: [sh, -c, 'echo "+unbroken+"; exit 1']}}\n")
	w := f.start("eu-1")
	p := newTab(t, look{})
	w.signIn(p, "/")
	p.await(`[...document.querySelectorAll(".strip")].length === 2 && [...document.querySelectorAll(".strip")].every(s => s.querySelectorAll("use").length >= 12)`)
	for _, act := range []string{"pause", "trigger"} {
		c := exec.Command(filepath.Join(setUp.dir, "worker"), act, "failing", "--reason", unbroken, "--config", f.config)
		c.Env = w.cmd.Env
		out, err := c.CombinedOutput()
		require.NoError(t, err, string(out))
	}
	for _, path := range []string{"/", "/jobs/failing", "/audit"} {
		for _, width := range []int{1360, 1024, 390} {
			p.do("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false})
			p.open(w.url(path))
			p.await(`document.querySelector("tbody tr")`)
			outside := p.eval(`[...document.querySelectorAll("td, tbody th, .strip, .strip use, .sub, .error, .reason")].filter(e => {
				const r = e.getBoundingClientRect(), panel = e.closest(".panel")?.getBoundingClientRect();
				return panel && r.width > 0 && (r.right > panel.right + 1 || e.matches(".strip") && r.right > e.closest("td").getBoundingClientRect().right + 1);
			}).map(e => e.outerHTML.slice(0, 100)).join("\n")`)
			assert.Empty(t, outside, "%s at %d px", path, width)
			if path == "/audit" {
				assert.Empty(t, violations(p))
			}
		}
	}
	p.open(w.url("/actions/pause?q=a"))
	assert.Empty(t, violations(p))
}
