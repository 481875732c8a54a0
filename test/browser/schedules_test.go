package browser

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestScheduleInTheStoreIsCreatedAndEdited(t *testing.T) {
	w := newFleet(t, `
redis: {url: "${REDIS_URL}"}
jobs:
  - {name: customer-report, schedules: stored, timezone: Asia/Shanghai, exec: {command: [sleep, "0.1"]}}
`).start("eu-1")
	p := newTab(t, look{width: 390})
	w.signIn(p, "/")
	p.expectLoad(func() { p.click(`a[href="/jobs/customer-report/schedules"]`) })
	assert.Contains(t, p.text("main"), "There is no schedule yet.")
	p.expectLoad(func() { p.click(`a[href="/jobs/customer-report/create"]`) })

	p.click("#key")
	p.write("acme")
	p.click("#cron")
	p.write("61 7 * * 1-5")
	p.await(`document.querySelector("#preview .wrong")`)
	p.eval(`document.querySelector("#cron").select()`)
	p.write("0 7 * * 1-5")
	p.await(`document.querySelectorAll("#preview time").length === 5`)
	assert.Contains(t, p.text("#preview"), "07:00:00 CST", "in the time zone of the job")
	assert.Equal(t, "cron", p.eval(`document.activeElement.id`))
	p.click("#end")
	p.write("soon")
	p.click("#payload")
	p.write("the secret of acme")
	p.expectLoad(func() { p.click("main form button") })
	assert.Contains(t, p.text("#end-hint"), "must be a time such as")
	p.await(`document.querySelector("#preview .wrong")`)
	assert.Equal(t, "the secret of acme", p.eval(`document.querySelector("#payload").value`))
	assert.Empty(t, violations(p))
	p.eval(`document.querySelector("#end").value = ""`)
	p.expectLoad(func() { p.click("main form button") })
	require.Equal(t, "customer-report/acme", p.text("h1"))
	assert.Contains(t, p.text("main"), "18 B")
	assert.NotContains(t, p.text("main"), "secret")
	assert.Empty(t, violations(p))

	p.expectLoad(func() { p.click(`a[href$="/acme/edit"]`) })
	other := newTab(t, look{context: p.context})
	other.open(w.url("/jobs/customer-report/schedules/acme/edit"))
	for i, tab := range []*tab{other, p} {
		tab.eval(`document.querySelector("#cron").value = "` + []string{"@every 1s", "@daily"}[i] + `"`)
		tab.expectLoad(func() { tab.click("main form button") })
	}
	assert.Contains(t, p.text("[role=alert]"), "Somebody else has changed this schedule meanwhile")
	other.await(`document.querySelector("tbody tr use")`) // its runs appear while it is looked at
	assert.NotEmpty(t, other.text(`tbody [data-label="Replica"]`))

	p.open(w.url("/jobs/customer-report/schedules"))
	p.click("#prefix")
	p.write("b")
	p.await(`document.querySelector("#live").innerText.includes("No key begins like that.")`)
	p.eval(`document.querySelector("#prefix").value = ""`)
	p.write("ac")
	p.await(`location.search === "?prefix=ac" && document.querySelector("tbody").innerText.includes("every second")`)
	assert.Empty(t, violations(p))
	p.quiet(w.host, "400", "409")
	other.quiet(w.host)
}
