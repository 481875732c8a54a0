package console_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// login logs in as a browser does, and returns the cookie.
func login(t *testing.T, s *site, secret string) *http.Cookie {
	r := s.do(request(http.MethodPost, "/login", url.Values{"token": {secret}, "next": {"/jobs/report"}}.Encode(), asForm))
	require.Equal(t, http.StatusSeeOther, r.StatusCode)
	require.Equal(t, "/jobs/report", r.Header.Get("Location"))
	require.Len(t, r.Cookies(), 1)
	return r.Cookies()[0]
}

func withCookie(c *http.Cookie) func(*http.Request) {
	return func(r *http.Request) { r.AddCookie(&http.Cookie{Name: c.Name, Value: c.Value}) }
}

func TestLoginGivesASession(t *testing.T) {
	s := newSite(t, withTokens())
	r := s.get("/?q=report")
	require.Equal(t, http.StatusSeeOther, r.StatusCode)
	require.Equal(t, "/login?next=%2F%3Fq%3Dreport", r.Header.Get("Location"))
	require.Equal(t, http.StatusOK, s.get(r.Header.Get("Location")).StatusCode)

	cookie := login(t, s, operateSecret)
	require.True(t, cookie.HttpOnly)
	require.Equal(t, http.SameSiteStrictMode, cookie.SameSite)
	require.False(t, cookie.Secure, "the request was not encrypted")
	require.Empty(t, cookie.Path, "the directory of the form, whatever a proxy has removed")
	require.NotContains(t, cookie.Value, operateSecret)
	require.Equal(t, http.StatusOK, s.get("/", withCookie(cookie)).StatusCode)

	out := s.do(request(http.MethodPost, "/logout", "", withCookie(cookie)))
	require.Equal(t, http.StatusSeeOther, out.StatusCode)
	require.Negative(t, out.Cookies()[0].MaxAge)
	require.Equal(t, http.StatusSeeOther, s.get("/", withCookie(cookie)).StatusCode)
}

func TestPartOfAPageSendsTheBrowserToTheLogin(t *testing.T) {
	r := newSite(t, withTokens()).get("/?q=report", header("HX-Request", "true"))
	require.Equal(t, http.StatusUnauthorized, r.StatusCode, "a redirect would bring the form into the page")
	require.Equal(t, "/login?next=%2F%3Fq%3Dreport", r.Header.Get("HX-Redirect"))
}

func TestOperatorIsOneOnAPageThatIsNotThere(t *testing.T) {
	s := newSite(t, withTokens())
	for secret, may := range map[string]bool{operateSecret: true, readSecret: false} {
		r := s.get("/nothing", withCookie(login(t, s, secret)))
		require.Equal(t, http.StatusNotFound, r.StatusCode)
		page := text(t, r)
		require.Contains(t, page, "Sign out")
		require.Equal(t, !may, strings.Contains(page, "Read-only"))
	}
	require.NotContains(t, text(t, s.get("/login")), "Read-only", "of nobody it is not known")
}

func TestSessionCookieIsSecureOverTLS(t *testing.T) {
	s := newSite(t, withTokens())
	r := s.do(request(http.MethodPost, "/login", "token="+readSecret, asForm, header("X-Forwarded-Proto", "https")))
	require.True(t, r.Cookies()[0].Secure)
}

func TestLoginNeverTakesAGivenID(t *testing.T) {
	s := newSite(t, withTokens())
	planted := &http.Cookie{Name: "solotick_session", Value: "AAAAAAAAAAAAAAAAAAAAAAAAAA"}
	r := s.do(request(http.MethodPost, "/login", "token="+operateSecret, asForm, withCookie(planted)))
	require.Equal(t, http.StatusSeeOther, r.StatusCode)
	require.Len(t, r.Cookies(), 1)
	require.NotEqual(t, planted.Value, r.Cookies()[0].Value)
	require.Equal(t, http.StatusSeeOther, s.get("/", withCookie(planted)).StatusCode)

	first := r.Cookies()[0]
	second := s.do(request(http.MethodPost, "/login", "token="+operateSecret, asForm, withCookie(first))).Cookies()[0]
	require.NotEqual(t, first.Value, second.Value)
	require.Equal(t, http.StatusSeeOther, s.get("/", withCookie(first)).StatusCode, "a login ends the session before")
}

func TestLoginNeverLeavesTheSite(t *testing.T) {
	s := newSite(t, withTokens())
	for _, next := range []string{
		"", "https://evil.example/", "//evil.example/", "/\\evil.example", "\\\\evil.example", "javascript:alert(1)", "/../..//evil.example", "evil.example",
		"/%2F/evil.example", "/a//evil.example", "///evil.example", "/\tevil", "/\r\nSet-Cookie: a=b", "http:evil.example", "/.//evil.example", ":",
	} {
		r := s.do(request(http.MethodPost, "/login", url.Values{"token": {readSecret}, "next": {next}}.Encode(), asForm))
		require.Equal(t, "/", r.Header.Get("Location"), "%q", next)
	}
}

func TestRightTokenIsAlwaysAccepted(t *testing.T) {
	s := newSite(t, withTokens())
	byLogin := func(secret, address string) int {
		return s.do(request(http.MethodPost, "/login", "token="+secret, asForm, from(address), header("Accept", "application/json"))).StatusCode
	}
	asBearer := func(secret, address string) int {
		return s.get("/api/v1/jobs", bearer(secret), from(address)).StatusCode
	}
	for _, try := range []func(secret, address string) int{byLogin, asBearer} {
		for i := range 3 {
			require.Equal(t, http.StatusTooManyRequests, exhausted(t, s, "192.0.2.1:1000"))
			require.Equal(t, http.StatusTooManyRequests, try("wrong", fmt.Sprintf("192.0.2.1:%d", 1001+i)))
		}
		for range 10 {
			require.Less(t, try(readSecret, "192.0.2.1:1002"), 400, "behind a proxy an address is everyone's")
		}
		require.Equal(t, http.StatusUnauthorized, try("wrong", "192.0.2.2:1000"), "another address is not concerned")
	}
	require.Equal(t, http.StatusTooManyRequests, exhausted(t, s, "[2001:db8::1]:1000"))
	require.Equal(t, http.StatusTooManyRequests, byLogin("wrong", "[2001:db8::77]:1000"), "one client has a whole network")
	r := s.do(request(http.MethodPost, "/login", "token=x", asForm, from("192.0.2.1:1003")))
	require.Equal(t, http.StatusTooManyRequests, r.StatusCode)
	require.NotEmpty(t, r.Header.Get("Retry-After"))
	require.Contains(t, text(t, r), "too many wrong tokens have come from this address")
}

// exhausted sends five wrong tokens from an address in both ways, and returns the status of one more.
func exhausted(t *testing.T, s *site, address string) (status int) {
	t.Helper()
	for i := range 6 {
		if i%2 == 0 {
			status = s.get("/api/v1/jobs", bearer("wrong"), from(address)).StatusCode
		} else {
			status = s.do(request(http.MethodPost, "/login", "token=wrong", asForm, from(address))).StatusCode
		}
	}
	return status
}

func TestWrongTokensAreLoggedAtABoundedRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		s := newSite(t, withTokens(), logTo(&log))
		guess := func(n int) {
			for i := range n {
				s.get("/api/v1/jobs", bearer("wrong"), from(fmt.Sprintf("192.0.%d.%d:1000", i/200, i%200)))
				s.do(request(http.MethodPost, "/login", "token=wrong", asForm, from(fmt.Sprintf("192.0.%d.%d:1000", i/200, i%200))))
			}
		}
		guess(500)
		require.Equal(t, 5, strings.Count(log.String(), "an unknown token was sent to the console"))
		require.Contains(t, log.String(), "address=192.0.0.0")
		require.Contains(t, log.String(), "path=/login")
		time.Sleep(16 * time.Second)
		guess(1)
		require.Equal(t, 6, strings.Count(log.String(), "an unknown token was sent to the console"))
		require.Contains(t, log.String(), "not_logged_before=995")
	})
}

func TestPageOfAnotherSiteChangesNothing(t *testing.T) {
	s := newSite(t, withTokens())
	cookie := login(t, s, operateSecret)
	for _, c := range []struct {
		name    string
		changes []func(*http.Request)
		want    int
	}{
		{"this site", []func(*http.Request){header("Sec-Fetch-Site", "same-origin")}, http.StatusSeeOther},
		{"typed by the user", []func(*http.Request){header("Sec-Fetch-Site", "none")}, http.StatusSeeOther},
		{"an old browser, this site", []func(*http.Request){header("Origin", "http://localhost:8080")}, http.StatusSeeOther},
		{"another site", []func(*http.Request){header("Sec-Fetch-Site", "cross-site")}, http.StatusForbidden},
		{"another port", []func(*http.Request){header("Sec-Fetch-Site", "same-site")}, http.StatusForbidden},
		{"an old browser, another site", []func(*http.Request){header("Origin", "https://evil.example")}, http.StatusForbidden},
		{"a sandboxed frame", []func(*http.Request){header("Origin", "null")}, http.StatusForbidden},
	} {
		for _, path := range []string{"/jobs/report/pause", "/jobs/report/resume", "/logout"} {
			changes := append([]func(*http.Request){asForm, withCookie(cookie)}, c.changes...)
			r := s.do(request(http.MethodPost, path, "reason=x", changes...))
			require.Equal(t, c.want, r.StatusCode, "%s, %s: %s", c.name, path, text(t, r))
			if path == "/logout" && c.want == http.StatusSeeOther {
				cookie = login(t, s, operateSecret)
			}
		}
		r := s.do(request(http.MethodPost, "/login", "token="+readSecret, append([]func(*http.Request){asForm}, c.changes...)...))
		require.Equal(t, c.want, r.StatusCode, "%s, login", c.name)
	}
}

func TestActionsAreNeverDoneByGET(t *testing.T) {
	s := newSite(t, withTokens())
	s.store.claim(t, "report") // which can be cancelled
	for _, action := range []string{"pause", "resume", "trigger", "cancel"} {
		r := s.get("/jobs/report/"+action, bearer(operateSecret))
		require.Equal(t, http.StatusOK, r.StatusCode, "it asks")
		require.Equal(t, http.StatusMethodNotAllowed, s.get("/api/v1/jobs/report/"+action, bearer(operateSecret)).StatusCode)
	}
	require.Nil(t, s.decode(s.get("/api/v1/jobs/report/description", bearer(readSecret)))["paused"])
}

func TestEveryAnswerHasTheHeadersOfSafety(t *testing.T) {
	s := newSite(t, withTokens())
	for _, path := range []string{"/", "/login", "/nothing", "/api/v1/jobs", "//", "/static/none.css", "/jobs.json"} {
		h := s.get(path).Header
		policy := h.Get("Content-Security-Policy")
		require.Contains(t, policy, "frame-ancestors 'none'", path)
		require.NotContains(t, policy, "unsafe", path)
		require.Equal(t, "nosniff", h.Get("X-Content-Type-Options"), path)
		require.Equal(t, "no-referrer", h.Get("Referrer-Policy"), path)
		require.Empty(t, h.Get("Access-Control-Allow-Origin"), path)
	}
}

func TestNoTokenIsEverLogged(t *testing.T) {
	var log strings.Builder
	s := newSite(t, withTokens(), logTo(&log))
	_ = login(t, s, operateSecret)
	_ = s.do(request(http.MethodPost, "/login", "token=a-wrong-token-of-somebody", asForm))
	_ = s.get("/api/v1/jobs", bearer("another-wrong-token-here"))
	_ = s.get("/api/v1/jobs?token=" + operateSecret)
	require.Contains(t, log.String(), "somebody has logged in")
	require.Contains(t, log.String(), "an unknown token was sent to the console")
	for _, secret := range []string{operateSecret, "wrong"} {
		require.NotContains(t, log.String(), secret)
	}
}
