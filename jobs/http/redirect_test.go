package http_test

import (
	"fmt"
	nethttp "net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/jobs/http"
)

func TestRedirectsAreFollowedOnTheSameHostOnly(t *testing.T) {
	var reachedOther atomic.Bool
	other := serve(t, func(nethttp.ResponseWriter, *nethttp.Request) { reachedOther.Store(true) })

	for _, test := range []struct {
		method  string
		code    int
		away    bool
		success []http.StatusRange
		follow  bool
		ok      bool
	}{
		{method: "GET", code: 302, follow: true, ok: true},
		{method: "GET", code: 307, follow: true, ok: true},
		{method: "HEAD", code: 301, follow: true, ok: true},
		{method: "GET", code: 302, away: true},
		{method: "POST", code: 302},
		{method: "POST", code: 303},
		{method: "POST", code: 307},
		{method: "PUT", code: 308},
		{method: "DELETE", code: 301},
		{method: "OPTIONS", code: 302},
		{method: "POST", code: 303, success: []http.StatusRange{{303, 303}}, ok: true},
		{method: "GET", code: 302, success: []http.StatusRange{{200, 399}}, ok: true},
	} {
		t.Run(fmt.Sprint(test.method, test.code, test.away, test.success), func(t *testing.T) {
			var followed atomic.Bool
			url := serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
				switch {
				case r.URL.Path == "/there":
					followed.Store(true)
				case test.away:
					nethttp.Redirect(w, r, other, test.code)
				default:
					nethttp.Redirect(w, r, "/there", test.code)
				}
			})
			err := do(t, t.Context(), http.Call{Method: test.method, URL: url, Success: test.success,
				Headers: map[string]string{"X-Key": "secret"}})
			require.Equal(t, test.follow, followed.Load())
			if test.ok {
				require.NoError(t, err)
				return
			}
			require.Equal(t, test.code, requireStatus(t, err).Code)
			require.ErrorContains(t, err, "redirects are followed for GET and HEAD on the same host only")
		})
	}
	require.False(t, reachedOther.Load())
}

func TestRedirectsInACircleEnd(t *testing.T) {
	var requests atomic.Int32
	url := serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		requests.Add(1)
		nethttp.Redirect(w, r, "/again?key=secret", nethttp.StatusFound)
	})
	err := do(t, t.Context(), http.Call{URL: url})
	require.EqualError(t, err, "GET "+url+": more than 10 redirects")
	requirePermanent(t, true, err)
	require.EqualValues(t, 11, requests.Load())
}

func TestRedirectOnTheSameHostKeepsTheCredentials(t *testing.T) {
	url := ""
	url = serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		user, password, _ := r.BasicAuth()
		switch {
		case user != "user" || password != "pw":
			w.WriteHeader(nethttp.StatusUnauthorized)
		case r.URL.Path == "/":
			w.Header().Set("Location", url+"/there") // absolute
			w.WriteHeader(nethttp.StatusFound)
		}
	})
	require.NoError(t, do(t, t.Context(), http.Call{URL: strings.Replace(url, "://", "://user:pw@", 1) + "/"}))
}
