package console_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/console"
)

func TestSessionIsGoodAtEveryWorker(t *testing.T) {
	first, second := newSite(t, withTokens()), newSite(t, withTokens())
	cookie := login(t, first, operateSecret)
	for range 2 {
		for _, s := range []*site{first, second} {
			require.Equal(t, http.StatusOK, s.get("/", withCookie(cookie)).StatusCode)
			require.Equal(t, http.StatusSeeOther, s.do(request(http.MethodPost, "/jobs/report/pause", "reason=x", asForm, withCookie(cookie))).StatusCode, "with its role")
		}
	}
}

// A browser keeps one cookie of a name for all ports of a host.
func TestWorkersOfAHostKeepEachOthersSessions(t *testing.T) {
	of := func(name, secret string) *site {
		return newSite(t, console.WithTokens(console.Token{Name: name, Role: console.Read, Value: secret}))
	}
	first, second := of("a", readSecret), of("b", operateSecret)
	kept := map[string]*http.Cookie{}
	both := func(r *http.Request) {
		for _, c := range kept {
			withCookie(c)(r)
		}
	}
	keep := func(r answer) {
		for _, c := range r.Cookies() {
			if kept[c.Name] = c; c.MaxAge < 0 {
				delete(kept, c.Name)
			}
		}
	}
	keep(first.do(request(http.MethodPost, "/login", "token="+readSecret, asForm, both)))
	keep(second.do(request(http.MethodPost, "/login", "token="+operateSecret, asForm, both)))
	require.Equal(t, http.StatusOK, first.get("/", both).StatusCode)
	require.Equal(t, http.StatusOK, second.get("/", both).StatusCode)
	keep(second.do(request(http.MethodPost, "/logout", "", both)))
	require.Equal(t, http.StatusOK, first.get("/", both).StatusCode)
	require.Equal(t, http.StatusSeeOther, second.get("/", both).StatusCode)
}

func TestSessionFollowsItsToken(t *testing.T) {
	cookie := login(t, newSite(t, withTokens()), operateSecret)
	changed := func(tokens ...console.Token) *site { return newSite(t, console.WithTokens(tokens...)) }
	pause := func(s *site) int {
		return s.do(request(http.MethodPost, "/jobs/report/pause", "reason=x", asForm, withCookie(cookie))).StatusCode
	}
	s := changed(console.Token{Name: "renamed", Role: console.Read, Value: operateSecret})
	require.Equal(t, http.StatusOK, s.get("/", withCookie(cookie)).StatusCode)
	require.Equal(t, http.StatusForbidden, pause(s), "the role that the token has now")
	for _, gone := range []*site{
		changed(console.Token{Name: "ops", Role: console.Operate, Value: operateSecret + "-2"}),
		changed(console.Token{Name: "reader", Role: console.Read, Value: readSecret}),
	} {
		require.Equal(t, http.StatusSeeOther, gone.get("/", withCookie(cookie)).StatusCode)
		require.Equal(t, http.StatusUnauthorized, pause(gone))
	}
}

func TestSessionEndsAfterTwelveHours(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := newSite(t, withTokens()), newSite(t, withTokens())
		cookie := login(t, first, readSecret)
		time.Sleep(12*time.Hour - time.Second)
		require.Equal(t, http.StatusOK, second.get("/", withCookie(cookie)).StatusCode)
		time.Sleep(time.Second)
		for _, s := range []*site{first, second} {
			require.Equal(t, http.StatusSeeOther, s.get("/", withCookie(cookie)).StatusCode)
		}
	})
}

func TestAlteredSessionIsRefused(t *testing.T) {
	s := newSite(t, withTokens())
	cookie := login(t, s, readSecret)
	for i := range cookie.Value {
		for _, c := range []string{"A", "1", ".", ""} {
			altered := cookie.Value[:i] + c + cookie.Value[i+1:]
			if altered != cookie.Value {
				require.Equal(t, http.StatusSeeOther, s.get("/", withCookie(&http.Cookie{Name: cookie.Name, Value: altered})).StatusCode, altered)
			}
		}
	}
	operate := login(t, s, operateSecret)
	for _, value := range []string{"", ".", "..", cookie.Value + ".", operate.Value, strings.ToUpper(cookie.Value)} {
		require.Equal(t, http.StatusSeeOther, s.get("/", withCookie(&http.Cookie{Name: cookie.Name, Value: value})).StatusCode, value)
	}
}

func TestLoginEndsTheSessionOfAnotherToken(t *testing.T) {
	s := newSite(t, withTokens())
	reader := login(t, s, readSecret)
	r := s.do(request(http.MethodPost, "/login", "token="+operateSecret, asForm, withCookie(reader)))
	require.Len(t, r.Cookies(), 2)
	require.Equal(t, reader.Name, r.Cookies()[0].Name)
	require.Negative(t, r.Cookies()[0].MaxAge)
	require.Equal(t, http.StatusOK, s.get("/", withCookie(r.Cookies()[1])).StatusCode)
	require.Equal(t, http.StatusSeeOther, s.get("/", withCookie(reader)).StatusCode)
}
