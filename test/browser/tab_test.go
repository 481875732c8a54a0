package browser

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// patience is how long something may take on a slow machine before a test gives up.
const patience = 2 * time.Minute

// tab is a page of the browser, with cookies of its own.
type tab struct {
	t       *testing.T
	c       *chrome
	session string
	context string // whose cookies and connections it shares
	loaded  chan struct{}

	mu       sync.Mutex
	errors   []string // of its console
	requests []string // the URLs that it asked for
}

// look says how a tab shows pages.
type look struct {
	width     int
	dark      bool
	withoutJS bool
	language  string
	context   string // of another tab; "" for one of its own
}

func newTab(t *testing.T, l look) *tab {
	t.Helper()
	c := browser(t)
	var context, target, attached struct{ BrowserContextID, TargetID, SessionID string }
	answer := func(into any, session, method string, params any) {
		t.Helper()
		result, err := c.call(session, method, params)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(result, into))
	}
	if context.BrowserContextID = l.context; l.context == "" {
		answer(&context, "", "Target.createBrowserContext", map[string]any{"disposeOnDetach": true})
	}
	answer(&target, "", "Target.createTarget", map[string]any{"url": "about:blank", "browserContextId": context.BrowserContextID})
	answer(&attached, "", "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true})
	p := &tab{t: t, c: c, session: attached.SessionID, context: context.BrowserContextID, loaded: make(chan struct{}, 1)}
	c.mu.Lock()
	c.tabs[p.session] = p
	c.mu.Unlock()
	t.Cleanup(func() {
		c.mu.Lock()
		delete(c.tabs, p.session)
		c.mu.Unlock()
		_, _ = c.call("", "Target.closeTarget", map[string]any{"targetId": target.TargetID})
		if l.context != "" {
			return
		}
		_, _ = c.call("", "Target.disposeBrowserContext", map[string]any{"browserContextId": context.BrowserContextID})
	})
	for _, domain := range []string{"Page", "Runtime", "Log", "Network"} {
		p.do(domain+".enable", nil)
	}
	if l.width == 0 {
		l.width = 1360
	}
	p.do("Emulation.setDeviceMetricsOverride", map[string]any{"width": l.width, "height": 900, "deviceScaleFactor": 1, "mobile": l.width < 600})
	scheme := "light"
	if l.dark {
		scheme = "dark"
	}
	p.do("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}})
	p.do("Emulation.setScriptExecutionDisabled", map[string]any{"value": l.withoutJS})
	if l.language == "" {
		l.language = "en"
	}
	p.do("Network.setExtraHTTPHeaders", map[string]any{"headers": map[string]string{"Accept-Language": l.language}})
	return p
}

func (p *tab) do(method string, params any) json.RawMessage {
	p.t.Helper()
	result, err := p.c.call(p.session, method, params)
	require.NoError(p.t, err)
	return result
}

// event notes what a test asks about later.
func (p *tab) event(method string, params json.RawMessage) {
	var e struct {
		Request          struct{ URL string }
		Type             string
		Args             []struct{ Value, Description any }
		Entry            struct{ Level, Text, URL string }
		ExceptionDetails struct{ Text string }
	}
	_ = json.Unmarshal(params, &e) // events differ: what one has not is empty
	p.mu.Lock()
	defer p.mu.Unlock()
	switch method {
	case "Page.loadEventFired":
		select {
		case p.loaded <- struct{}{}:
		default:
		}
	case "Network.requestWillBeSent":
		p.requests = append(p.requests, e.Request.URL)
	case "Runtime.exceptionThrown":
		p.errors = append(p.errors, "exception: "+e.ExceptionDetails.Text)
	case "Runtime.consoleAPICalled":
		if e.Type == "error" || e.Type == "warning" {
			text, _ := json.Marshal(e.Args)
			p.errors = append(p.errors, "console: "+string(text))
		}
	case "Log.entryAdded":
		if e.Entry.Level == "error" || e.Entry.Level == "warning" {
			p.errors = append(p.errors, "log: "+e.Entry.Text+" "+e.Entry.URL)
		}
	}
}

// open goes to a URL, and waits until it has loaded.
func (p *tab) open(at string) {
	p.t.Helper()
	p.expectLoad(func() { p.do("Page.navigate", map[string]any{"url": at}) })
}

// expectLoad does what makes the browser load another page, and waits for that.
func (p *tab) expectLoad(do func()) {
	p.t.Helper()
	select {
	case <-p.loaded:
	default:
	}
	do()
	select {
	case <-p.loaded:
	case <-time.After(patience):
		require.FailNow(p.t, "no page was loaded")
	}
}

// eval returns the value of an expression in the page. It works where scripts of the page do not.
func (p *tab) eval(expression string) any {
	p.t.Helper()
	var r struct {
		Result           struct{ Value any }
		ExceptionDetails *struct {
			Text      string
			Exception struct{ Description string }
		}
	}
	require.NoError(p.t, json.Unmarshal(p.do("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true, "allowUnsafeEvalBlockedByCSP": false}), &r))
	if r.ExceptionDetails != nil {
		require.FailNow(p.t, r.ExceptionDetails.Text, r.ExceptionDetails.Exception.Description)
	}
	return r.Result.Value
}

// await waits until an expression is true.
func (p *tab) await(expression string) {
	p.t.Helper()
	require.Eventually(p.t, func() bool { return p.eval("!!("+expression+")") == true }, patience, 50*time.Millisecond, expression+"\n"+p.text("main"))
}

// text returns what a person reads in an element; "" where there is none.
func (p *tab) text(selector string) string {
	p.t.Helper()
	s, _ := p.eval(`document.querySelector(` + quoted(selector) + `)?.innerText ?? ""`).(string)
	return s
}

// click clicks with the mouse in the middle of an element.
func (p *tab) click(selector string) {
	p.t.Helper()
	p.await(`document.querySelector(` + quoted(selector) + `)`)
	place, _ := p.eval(`(() => { const e = document.querySelector(` + quoted(selector) + `); e.scrollIntoView({block: "center"}); const r = e.getClientRects()[0]; return [r.x + r.width / 2, r.y + r.height / 2] })()`).([]any)
	require.Len(p.t, place, 2, selector)
	for _, kind := range []string{"mousePressed", "mouseReleased"} {
		p.do("Input.dispatchMouseEvent", map[string]any{"type": kind, "x": place[0], "y": place[1], "button": "left", "clickCount": 1})
	}
}

// key presses a key such as Tab or Enter.
func (p *tab) key(name string) {
	p.t.Helper()
	codes := map[string]int{"Tab": 9, "Enter": 13, "Escape": 27, " ": 32}
	down := map[string]any{"type": "keyDown", "key": name, "code": name, "windowsVirtualKeyCode": codes[name]}
	if name == "Enter" {
		down["text"] = "\r"
	}
	p.do("Input.dispatchKeyEvent", down)
	p.do("Input.dispatchKeyEvent", map[string]any{"type": "keyUp", "key": name, "code": name, "windowsVirtualKeyCode": codes[name]})
}

// write writes where the focus is.
func (p *tab) write(text string) { p.do("Input.insertText", map[string]any{"text": text}) }

// quiet fails the test if the console of the page said that anything is wrong, but for what has one
// of the texts, or a request went to another host.
func (p *tab) quiet(host string, but ...string) {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	require.Empty(p.t, without(p.errors, but...))
	for _, request := range p.requests {
		u, err := url.Parse(request)
		require.NoError(p.t, err)
		require.True(p.t, u.Host == host || strings.HasPrefix(request, "about:"), "a request left the host: %s", request)
	}
}

func quoted(s string) string {
	text, _ := json.Marshal(s)
	return string(text)
}

// without returns the list without what has one of the texts.
func without(list []string, texts ...string) (rest []string) {
	for _, s := range list {
		if !slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(s, text) }) {
			rest = append(rest, s)
		}
	}
	return rest
}
