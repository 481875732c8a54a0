package browser

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// views are the pages of the console.
var views = []string{
	"/", "/?q=e&sort=-last", "/timeline", "/timeline?span=1h", "/jobs/charge-subscriptions", "/jobs/leader-election", "/jobs/search-index/why", "/load", "/fleet",
	"/locks", "/audit", "/jobs/cache-warmup/pause", "/actions/trigger?q=rates", "/jobs/none", "/?sort=wrong",
}

// violations are the faults that axe-core finds in a page.
func violations(p *tab) string {
	p.t.Helper()
	source, err := os.ReadFile(filepath.Join("axe", "vendor", "axe.min.js"))
	require.NoError(p.t, err)
	p.eval(string(source) + "; 0")
	found := p.eval(`axe.run({rules: {"target-size": {enabled: true}}}).then(r => JSON.stringify(r.violations.map(v => ({rule: v.id, help: v.help, nodes: v.nodes.slice(0, 3).map(n => n.html.slice(0, 200) + " " + (n.failureSummary || "").slice(0, 300))}))))`)
	text, _ := found.(string)
	if text == "[]" {
		return ""
	}
	var pretty any
	_ = json.Unmarshal([]byte(text), &pretty)
	lines, _ := json.MarshalIndent(pretty, "", "  ")
	return string(lines)
}

func TestEachViewIsAccessibleInEachLook(t *testing.T) {
	f := newFleet(t, demo(t))
	w := f.start("eu-1")
	f.start("eu-2")
	looks := []look{{width: 1360}, {width: 390, dark: true}, {width: 390, language: "zh-CN"}, {width: 1360, dark: true}}
	for i, l := range looks {
		p := newTab(t, l)
		w.signIn(p, "/")
		p.await(`document.querySelector("tbody tr use.succeeded")`)
		p.open(w.url("/jobs/heartbeat-probe"))
		p.await(`document.querySelector("a[href*='/ticks/']")`)
		tick, _ := p.eval(`document.querySelector('a[href*="/ticks/"]').getAttribute("href")`).(string)
		for _, path := range append(views, tick) {
			t.Run(fmt.Sprintf("%d%v%s%s", l.width, l.dark, l.language, path), func(t *testing.T) {
				defer func(outer *testing.T) { p.t = outer }(p.t)
				p.t = t
				p.open(w.url(path))
				wide, _ := p.eval(`document.documentElement.scrollWidth`).(float64)
				assert.LessOrEqual(t, wide, float64(l.width), "it scrolls to the side")
				assert.NotEmpty(t, p.text("h1"))
				if i < 2 { // the others differ in colours and words only, and the colours are the same ones
					assert.Empty(t, violations(p))
				}
			})
		}
		p.quiet(w.host, "404", "400") // of the pages that are not there, which the browser notes
	}
}
