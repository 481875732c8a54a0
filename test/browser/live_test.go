package browser

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// stay marks the page, so that stayed can say whether it was loaded again.
func (p *tab) stay()   { p.eval(`document.documentElement.dataset.same = "yes"`) }
func (p *tab) stayed() { require.Equal(p.t, "yes", p.eval(`document.documentElement.dataset.same`)) }

func TestChangesArriveWithoutReload(t *testing.T) {
	f := newFleet(t, demo(t))
	w := f.start("eu-1")
	p := newTab(t, look{})
	w.signIn(p, "/?q=heartbeat")
	p.stay()
	p.await(`document.querySelectorAll("tbody .strip use.succeeded").length >= 3`)
	before := p.eval(`document.querySelector("tbody time").dateTime`)
	p.await(`document.querySelector("tbody time").dateTime !== ` + quoted(before.(string)))
	p.stayed()

	// A menu that somebody has opened and a text that they write stay as they are.
	p.open(w.url("/"))
	p.stay()
	p.click(".menu summary")
	p.click("#q")
	p.write("heart")
	p.await(`document.querySelectorAll("tbody tr").length === 1`)
	next := p.eval(`document.querySelector("tbody time").dateTime`)
	p.await(`document.querySelector("tbody time")?.dateTime !== ` + quoted(next.(string)))
	assert.Equal(t, "heart", p.eval(`document.querySelector("#q").value`))
	assert.Equal(t, true, p.eval(`document.querySelector(".menu").open`))
	assert.Contains(t, p.eval(`location.search`), "q=heart", "what is shown can be linked to")
	p.stayed()
	p.quiet(w.host)
}

func TestDeadAndFrozenReplicasAreShown(t *testing.T) {
	f := newFleet(t, demo(t))
	w, dead, frozen := f.start("eu-1"), f.start("eu-2"), f.start("eu-3")
	p := newTab(t, look{})
	w.signIn(p, "/fleet")
	p.stay()
	p.await(`document.querySelectorAll("tbody tr").length === 3`)
	dead.kill()
	frozen.signal(syscall.SIGSTOP)
	defer frozen.signal(syscall.SIGCONT)
	for _, id := range []string{"eu-2", "eu-3"} {
		p.await(`/gone|missed a heartbeat/.test([...document.querySelectorAll("tbody tr")].find(r => r.innerText.includes("` + id + `"))?.innerText)`)
	}
	p.stayed()
	assert.NotContains(t, p.eval(`[...document.querySelectorAll("tbody tr")].find(r => r.innerText.includes("eu-1")).innerText`), "gone")
	p.quiet(w.host)
}

func TestStoreThatIsAwayIsSaid(t *testing.T) {
	f := newFleet(t, demo(t))
	w := f.start("eu-1")
	p := newTab(t, look{})
	w.signIn(p, "/")
	f.redis.Freeze()
	p.stay()
	p.await(`document.querySelector("[role=status]")?.innerText.includes("does not answer")`)
	assert.Contains(t, p.text("table"), "heartbeat-probe", "what was known is shown")
	p.open(w.url("/fleet"))
	assert.Contains(t, p.text("main"), "does not answer")
	f.redis.Thaw()
	p.open(w.url("/"))
	p.await(`!document.querySelector("[role=status]")`)
}

func TestHiddenTabsLeaveConnectionsToOthers(t *testing.T) {
	w := newFleet(t, demo(t)).start("eu-1")
	first := newTab(t, look{})
	w.signIn(first, "/?q=heartbeat")
	for range 8 { // a browser has six connections to a host
		p := newTab(t, look{context: first.context})
		p.open(w.url("/?q=heartbeat"))
		p.eval(`Object.defineProperty(document, "hidden", {value: true, configurable: true}); document.dispatchEvent(new Event("visibilitychange"))`)
	}
	// A tab that nobody sees does not poll.
	first.eval(`window.asked = 0; document.addEventListener("htmx:beforeSend", () => window.asked++)`)
	first.eval(`{const e = document.querySelector("[hx-trigger*=every]"); e.setAttribute("hx-trigger", "every 50ms"); htmx.process(e);}`)
	first.eval(`Object.defineProperty(document, "hidden", {value: false, configurable: true})`)
	first.await(`window.asked > 1`)
	first.eval(`Object.defineProperty(document, "hidden", {value: true, configurable: true})`)
	assert.Zero(t, first.eval(`{window.asked = 0; new Promise((done) => setTimeout(() => done(window.asked), 500))}`))

	// One that is seen again goes on.
	first.stay()
	for _, hidden := range []string{"true", "false"} {
		first.eval(`Object.defineProperty(document, "hidden", {value: ` + hidden + `, configurable: true}); document.dispatchEvent(new Event("visibilitychange"))`)
	}
	before, _ := first.eval(`document.querySelector("tbody time").dateTime`).(string)
	first.await(`document.querySelector("tbody time").dateTime !== ` + quoted(before))
	first.stayed()
	first.quiet(w.host)
}
