package console_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/console"
	"github.com/solotick/solotick/lease/memlease"
)

func from(address string) func(*http.Request) {
	return func(r *http.Request) { r.RemoteAddr = address }
}

func host(name string) func(*http.Request) { return func(r *http.Request) { r.Host = name } }

func to(ip string) func(*http.Request) {
	return func(r *http.Request) {
		address := &net.TCPAddr{IP: net.ParseIP(ip), Port: 8080}
		*r = *r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, address))
	}
}

func TestWithoutTokensOnlyThisMachineReads(t *testing.T) {
	s := newSite(t)
	for _, c := range []struct {
		name   string
		change func(*http.Request)
		want   int
	}{
		{"localhost", host("localhost"), 200},
		{"localhost with a port", host("localhost:8080"), 200},
		{"localhost as a full name", host("localhost.:8080"), 200},
		{"IPv4", host("127.0.0.1:8080"), 200},
		{"another loopback address", host("127.8.8.8:8080"), 200},
		{"IPv6", host("[::1]:8080"), 200},
		{"a connection by IPv6", func(r *http.Request) { to("::1")(r); from("[::1]:4000")(r) }, 200},
		{"IPv4 within IPv6", func(r *http.Request) { to("::ffff:127.0.0.1")(r); from("[::ffff:127.0.0.1]:4000")(r) }, 200},

		{"a name that was rebound", host("evil.example"), 403},
		{"a name that was rebound, with a port", host("evil.example:8080"), 403},
		{"a name like localhost", host("localhost.evil.example:8080"), 403},
		{"a name that begins with an address", host("127.0.0.1.evil.example"), 403},
		{"no host", host(""), 403},
		{"a public address as host", host("192.0.2.1:8080"), 403},
		{"user and host", host("localhost@evil.example"), 403},
		{"any address", host("0.0.0.0:8080"), 403},
		{"another machine", from("192.0.2.7:4000"), 403},
		{"a client that is not known", from(""), 403},
		{"a client without a port", from("127.0.0.1"), 403},
		{"a socket in the file system", from("@"), 403},
		{"an address of another network", to("192.0.2.1"), 403},
		{"a server that does not say where it listens", func(r *http.Request) {
			*r = *r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, nil))
		}, 403},
		{"a proxy with Forwarded", header("Forwarded", "for=192.0.2.7"), 403},
		{"a proxy with X-Forwarded-For", header("X-Forwarded-For", "192.0.2.7"), 403},
		{"a proxy that says nothing", header("X-Forwarded-For", ""), 403},
		{"a proxy with X-Forwarded-Host", header("X-Forwarded-Host", "cron.example"), 403},
		{"a proxy with X-Real-IP", header("X-Real-IP", "192.0.2.7"), 403},
		{"a proxy with Via", header("Via", "1.1 gateway"), 403},
		{"a proxy with X-Forwarded-Proto", header("X-Forwarded-Proto", "https"), 403},
		{"a proxy of Cloudflare", header("CF-Connecting-IP", "192.0.2.7"), 403},
	} {
		for _, path := range []string{"/", "/api/v1/jobs", "/events?job=-"} {
			want := c.want
			if path == "/events?job=-" && want == 200 {
				want = 400 // a stream would last: that it is refused for its query is enough
			}
			require.Equal(t, want, s.get(path, c.change).StatusCode, "%s, %s", c.name, path)
		}
		require.Equal(t, http.StatusForbidden, s.do(request(http.MethodPost, "/api/v1/jobs/report/pause", "", c.change)).StatusCode, c.name)
	}
}

func TestEveryPathNeedsTheRoleThatItSays(t *testing.T) {
	s := newSite(t, withTokens())
	for i, route := range console.Routes() {
		path, method := console.PathOf(route), route.Method
		nobody := s.do(request(method, path, "", asJSON))
		wrong := s.do(request(method, path, "", asJSON, bearer("not-a-token-at-all-0"), from(fmt.Sprintf("192.0.2.%d:1000", i))))
		reader := 0
		if route.Needs == console.Operate {
			reader = s.do(request(method, path, "", asJSON, bearer(readSecret))).StatusCode
		}
		if route.Open {
			require.NotEqual(t, http.StatusForbidden, nobody.StatusCode, "%v", route)
			continue
		}
		require.Contains(t, []int{http.StatusUnauthorized, http.StatusSeeOther}, nobody.StatusCode, "%v", route)
		if nobody.StatusCode == http.StatusSeeOther {
			require.Contains(t, nobody.Header.Get("Location"), "/login?next=", "%v", route)
		}
		require.Equal(t, http.StatusUnauthorized, wrong.StatusCode, "%v", route)
		require.Equal(t, `Bearer realm="solotick"`, wrong.Header.Get("WWW-Authenticate"))
		if route.Needs == console.Operate {
			require.Equal(t, http.StatusForbidden, reader, "%v", route)
		}
	}
}

func TestWrongAuthorizationsAreRefused(t *testing.T) {
	s := newSite(t, withTokens())
	for i, value := range []string{
		"", "Bearer", "Bearer ", "Basic b3BzOm9wcw==", operateSecret, "bearer" + operateSecret, "Bearer " + operateSecret[1:], "Bearer " + operateSecret + "x",
		"Bearer  x " + operateSecret, "Bearer " + operateSecret + " x", "Token " + operateSecret, "Bearer \x00", "Bearer ops",
	} {
		require.Equal(t, http.StatusUnauthorized, s.get("/api/v1/jobs", header("Authorization", value), from(fmt.Sprintf("192.0.2.%d:1000", i))).StatusCode, "%q", value)
	}
	twice := func(r *http.Request) {
		r.Header["Authorization"] = []string{"Bearer " + readSecret, "Bearer " + operateSecret}
	}
	require.Equal(t, http.StatusUnauthorized, s.get("/api/v1/jobs", twice).StatusCode)
	require.Equal(t, http.StatusOK, s.get("/api/v1/jobs", header("Authorization", "bearer "+readSecret)).StatusCode, "the scheme has no case")
	require.Equal(t, http.StatusUnauthorized, s.get("/api/v1/jobs?token="+operateSecret).StatusCode, "a token in a URL counts for nothing")
}

func TestReadOnlyRefusesEveryRole(t *testing.T) {
	s := newSite(t, withTokens(), console.WithReadOnly())
	for _, route := range console.Routes() {
		if route.Needs == console.Operate {
			r := s.do(request(route.Method, console.PathOf(route), "", bearer(operateSecret)))
			require.Equal(t, http.StatusForbidden, r.StatusCode, "%v", route)
		}
	}
	require.Equal(t, http.StatusOK, s.get("/api/v1/jobs", bearer(operateSecret)).StatusCode)
}

func TestProgramDecidesWhoMay(t *testing.T) {
	role := console.Role("")
	s := newSite(t, console.WithAccess(func(*http.Request) console.Caller { return console.Caller{Name: "jo@example.com", Role: role} }))
	away := func(r *http.Request) { from("192.0.2.7:4000")(r); host("cron.example")(r) }
	require.Equal(t, http.StatusForbidden, s.get("/api/v1/jobs", away).StatusCode)
	role = "admin"
	require.Equal(t, http.StatusForbidden, s.get("/api/v1/jobs", away).StatusCode, "there is no such role")
	role = console.Read
	require.Equal(t, http.StatusOK, s.get("/api/v1/jobs", away).StatusCode)
	require.Equal(t, http.StatusForbidden, s.do(request(http.MethodPost, "/api/v1/jobs/report/pause", "", away)).StatusCode)
	role = console.Operate
	r := s.do(request(http.MethodPost, "/api/v1/jobs/report/pause", "", away))
	require.Equal(t, http.StatusOK, r.StatusCode)
	require.Equal(t, "jo-example.com", s.decode(r)["pause"].(map[string]any)["by"])
}

func TestTokenFileIsReadAgain(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	write := func(secret string) { require.NoError(t, os.WriteFile(file, []byte(secret), 0o600)) }
	write("the-first-secret-of-ops\n")
	s := newSite(t, console.WithTokens(console.Token{Name: "ops", Role: console.Operate, File: file}))
	status := func(secret string) int { return s.get("/api/v1/jobs", bearer(secret)).StatusCode }
	become := func(accepted bool, secret string) {
		t.Helper()
		require.Eventually(t, func() bool { return (status(secret) == http.StatusOK) == accepted }, 30*time.Second, 50*time.Millisecond)
	}
	require.Equal(t, http.StatusOK, status("the-first-secret-of-ops"))
	cookie := login(t, s, "the-first-secret-of-ops")
	require.Equal(t, http.StatusOK, s.get("/", withCookie(cookie)).StatusCode)

	write("the-second-secret-of-ops")
	become(true, "the-second-secret-of-ops")
	require.GreaterOrEqual(t, status("the-first-secret-of-ops"), http.StatusUnauthorized)
	require.Equal(t, http.StatusSeeOther, s.get("/", withCookie(cookie)).StatusCode, "the session was of the old secret")

	require.NoError(t, os.Remove(file))
	become(false, "the-second-secret-of-ops")
	write("short")
	require.Never(t, func() bool { return status("short") == http.StatusOK }, 2*time.Second, 200*time.Millisecond)
	write("the-third-secret-of-ops")
	become(true, "the-third-secret-of-ops")
}

func TestStrangersLearnNothingOfTheFleet(t *testing.T) {
	store, err := memlease.New("secret-project")
	require.NoError(t, err)
	c, err := console.New(store, withTokens())
	require.NoError(t, err)
	t.Cleanup(c.Close)
	s := &site{T: t, console: c}
	html := header("Accept", "text/html")
	known := text(t, s.get("/jobs", html, bearer(readSecret)))
	require.Contains(t, known, "secret-project")
	require.Contains(t, known, "Fleet time")
	for _, path := range []string{"/login", "/no-such-page"} {
		page := text(t, s.get(path, html))
		require.Contains(t, page, "</html>")
		require.NotContains(t, page, "secret-project", path)
		require.NotContains(t, page, "Fleet time", path)
	}
}
