package browser

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPagesWorkWithoutJavaScript(t *testing.T) {
	w := newFleet(t, demo(t)).start("eu-1")
	p := newTab(t, look{withoutJS: true})
	w.signIn(p, "/")

	p.click("#q")
	p.write("ledger")
	p.expectLoad(func() { p.key("Enter") })
	assert.Contains(t, p.text("table"), "export-ledger")
	assert.Contains(t, p.text("table"), "ledger-close")
	assert.NotContains(t, p.text("table"), "sync-crm")

	p.expectLoad(func() { p.click(`thead a[href*="sort=-name"]`) })
	require.Less(t, strings.Index(p.text("table"), "ledger-close"), strings.Index(p.text("table"), "export-ledger"))

	p.expectLoad(func() { p.click(`a[href^="/jobs/ledger-close"]`) })
	p.expectLoad(func() { p.click(`a[href^="/jobs/ledger-close/pause"]`) })
	assert.Contains(t, p.text("main"), "Ticks that come due are skipped")
	p.click("#reason")
	p.write("books are open")
	p.expectLoad(func() { p.click("main form button") })
	assert.Contains(t, p.text("main"), "paused by operator")
	assert.Contains(t, p.text("main"), "books are open")

	p.expectLoad(func() { p.click(`a[href^="/jobs/ledger-close/resume"]`) })
	p.expectLoad(func() { p.click("main form button") })
	assert.NotContains(t, p.text("main"), "paused by operator")

	p.expectLoad(func() { p.click(`nav a[href^="/audit"]`) })
	assert.Contains(t, p.text("table"), "books are open")
	assert.Contains(t, p.text("table"), "operator")

	p.open(w.url("/timeline?q=ledger"))
	calendar, _ := p.eval(`document.querySelector('a[href*=".ics"]').getAttribute("href")`).(string)
	assert.Contains(t, string(w.get(calendar)), "BEGIN:VCALENDAR")

	p.open(w.url("/?lang=zh"))
	assert.Contains(t, p.text("h1"), "任务")
	p.expectLoad(func() { p.click(`nav a[href^="/fleet"]`) })
	assert.Contains(t, p.text("h1"), "集群", "the choice goes along")
	p.quiet(w.host)
}

func TestBulkActionsChangeWhatWasShown(t *testing.T) {
	w := newFleet(t, demo(t)).start("eu-1")
	p := newTab(t, look{})
	w.signIn(p, "/?q=ledger")
	p.expectLoad(func() { p.click(`a[href^="/actions/pause"]`) })
	assert.Contains(t, p.text("h1"), "2 jobs")
	assert.Contains(t, p.text(".names"), "ledger-close")
	p.click("#reason")
	p.write("year end")
	p.expectLoad(func() { p.click("main form button") })
	assert.Contains(t, p.text("main"), "Done for 2")
	p.open(w.url("/?state=paused"))
	assert.Contains(t, p.text("table"), "2 of")
	assert.Contains(t, p.text("table"), "year end")
	p.quiet(w.host)
}

func TestKeyboardAloneReachesEverything(t *testing.T) {
	w := newFleet(t, demo(t)).start("eu-1")
	p := newTab(t, look{})
	w.signIn(p, "/")

	p.key("Tab")
	require.Equal(t, "Skip to the content", p.eval(`document.activeElement.innerText`))
	p.key("Enter")
	p.key("Tab")
	require.Equal(t, "q", p.eval(`document.activeElement.id`), "the link skips what is the same on each page")

	p.write("tax")
	p.await(`location.search.includes("q=tax") && document.querySelectorAll("tbody tr").length === 1`)
	require.Equal(t, "q", p.eval(`document.activeElement.id`), "the focus stays while the list changes")

	// Each stop can be seen, and one of them opens the job.
	for range 40 {
		p.key("Tab")
		require.NotEqual(t, "none", p.eval(`getComputedStyle(document.activeElement).outlineStyle`), p.eval(`document.activeElement.outerHTML`))
		if p.eval(`document.activeElement.innerText`) == "tax-tables" {
			break
		}
	}
	p.expectLoad(func() { p.key("Enter") })
	require.Equal(t, "tax-tables", p.text("h1"))
	for p.eval(`document.activeElement.innerText`) != "Trigger" {
		p.key("Tab")
	}
	p.expectLoad(func() { p.key("Enter") })
	p.await(`document.activeElement.id === "reason"`) // writing can begin at once
	p.write("new rates")
	for p.eval(`document.activeElement.type`) != "submit" { // the payload comes before it
		p.key("Tab")
	}
	p.expectLoad(func() { p.key("Enter") })
	p.await(`document.querySelector("tbody")?.innerText.includes("triggered")`)
	p.quiet(w.host)
}
