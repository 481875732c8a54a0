package browser

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// saysThatTheWorkerIsGone waits until the page says that its worker does not answer, which takes ten seconds at most.
func (p *tab) saysThatTheWorkerIsGone() {
	p.t.Helper()
	require.Eventually(p.t, func() bool { return strings.Contains(p.text("main"), "The worker does not answer") }, 10*time.Second, 50*time.Millisecond)
}

// goesOn waits until the page says so no more and shows something new.
func (p *tab) goesOn() {
	p.t.Helper()
	p.await(`!document.querySelector("main").innerText.includes("does not answer")`)
	before, _ := p.eval(`document.querySelector("tbody time").dateTime`).(string)
	p.await(`document.querySelector("tbody time").dateTime !== ` + quoted(before))
	p.stayed()
}

func TestPageOfAGoneWorkerSaysSo(t *testing.T) {
	f := newFleet(t, demo(t))
	w := f.start("eu-1")
	p := newTab(t, look{})
	w.signIn(p, "/?q=heartbeat")
	p.await(`document.querySelector("tbody time")`)
	p.stay()
	w.signal(syscall.SIGSTOP)
	p.saysThatTheWorkerIsGone()
	w.signal(syscall.SIGCONT)
	p.goesOn()

	w.kill()
	p.saysThatTheWorkerIsGone()
	f.startAt("eu-2", w.host)
	p.goesOn()
}

func TestLoginNeverAppearsWithinAPage(t *testing.T) {
	f := newFleet(t, demo(t))
	w := f.start("eu-1")
	p := newTab(t, look{})
	w.signIn(p, "/?q=heartbeat")
	p.await(`document.querySelector("tbody time")`)
	w.kill()
	config, err := os.ReadFile(f.config)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(f.config, []byte(strings.ReplaceAll(string(config), operateToken, "another-"+operateToken)), 0o600))
	p.eval(`new MutationObserver(() => { if (document.querySelector("#token") && document.querySelector("nav [aria-current]")) window.name = "within" }).observe(document.body, {subtree: true, childList: true})`)
	f.startAt("eu-2", w.host)
	p.await(`location.pathname === "/login" && document.querySelector("#token")`)
	assert.Equal(t, "?next=%2F%3Fq%3Dheartbeat", p.eval(`location.search`))
	assert.Empty(t, p.eval(`window.name`), "the form is a page of its own")
}
