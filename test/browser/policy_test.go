package browser

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestContentPolicyIsInForce(t *testing.T) {
	w := newFleet(t, demo(t)).start("eu-1")
	p := newTab(t, look{})
	w.signIn(p, "/")
	p.quiet(w.host)
	p.eval(`(() => {
		const s = document.createElement("script"); s.textContent = "document.documentElement.dataset.ran = 1"; document.body.append(s);
		const b = document.createElement("b"); b.setAttribute("onclick", "document.documentElement.dataset.ran = 1"); document.body.append(b); b.click();
		const l = document.createElement("link"); l.rel = "stylesheet"; l.href = "http://127.0.0.2:9/x.css"; document.body.append(l);
		return document.body.insertAdjacentHTML("beforeend", "<i style='color: red'>x</i>");
	})()`)
	assert.Nil(t, p.eval(`document.documentElement.dataset.ran ?? null`))
	refused := p.eval(`new Promise(done => { try { new Function("return 1")(); done("ran") } catch (e) { done(e.name) } })`)
	assert.Equal(t, "EvalError", refused)
	require.Eventually(t, func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		said := strings.Join(p.errors, "\n")
		return strings.Contains(said, "script-src") && strings.Contains(said, "style-src") && strings.Contains(said, "127.0.0.2")
	}, patience, patience/1000)
}

// TestHostilePageCanDoNothing has a page of another site try what the viewer's session would allow.
func TestHostilePageCanDoNothing(t *testing.T) {
	w := newFleet(t, demo(t)).start("eu-1")
	p := newTab(t, look{})
	w.signIn(p, "/jobs/tax-tables")
	target := w.url("/jobs/tax-tables/pause")
	site := http.NewServeMux()
	site.HandleFunc("/form", func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(rw, `<form method=post action="`+target+`"><input name=reason value=evil><button id=go>go</button></form>`)
	})
	site.HandleFunc("/frame", func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(rw, `<iframe src="`+w.url("/")+`"></iframe>`)
	})
	hostile := httptest.NewServer(site)
	defer hostile.Close()
	// The same machine under another name is another site, and its cookies are other ones.
	other := strings.Replace(hostile.URL, "127.0.0.1", "localhost", 1)
	for _, from := range []string{hostile.URL, other} {
		p.open(from + "/form")
		p.expectLoad(func() { p.click("#go") })
		p.open(from + "/frame")
		assert.Equal(t, "refused", p.eval(`(() => { try { return document.querySelector("iframe").contentDocument?.title ?? "refused" } catch (e) { return "refused" } })()`))
		for _, mode := range []string{"no-cors", "cors"} {
			p.eval(`fetch(` + quoted(target) + `, {method: "POST", mode: "` + mode + `", credentials: "include", headers: {"Content-Type": "application/x-www-form-urlencoded"}, body: "reason=evil"}).catch(() => 0).then(() => 0)`)
		}
		assert.Equal(t, "refused", p.eval(`fetch(`+quoted(w.url("/api/v1/jobs"))+`, {credentials: "include"}).then(r => r.text()).catch(() => "refused")`))
	}
	p.open(w.url("/jobs/tax-tables"))
	assert.Equal(t, "tax-tables", p.text("h1"), "the session is as it was")
	assert.NotContains(t, p.text("main"), "evil")
	assert.NotContains(t, p.text("main"), "paused")
}
