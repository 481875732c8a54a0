package http_test

import (
	"io"
	nethttp "net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/jobs/http"
)

// received is a request as the server saw it.
type received struct {
	method, host, path, body, query string
	header                          nethttp.Header
}

func receive(into chan<- received) nethttp.HandlerFunc {
	return func(w nethttp.ResponseWriter, r *nethttp.Request) {
		body, _ := io.ReadAll(r.Body)
		into <- received{r.Method, r.Host, r.URL.Path, string(body), r.URL.RawQuery, r.Header}
	}
}

func TestRequestSaysWhichRunItIs(t *testing.T) {
	requests := make(chan received, 1)
	require.NoError(t, do(t, t.Context(), http.Call{URL: serve(t, receive(requests))}))
	header := (<-requests).header
	for name, want := range map[string]string{
		"Idempotency-Key":        "billing/report/1774747800250",
		"Solotick-Namespace":     "billing",
		"Solotick-Job":           "report",
		"Solotick-Tick":          "2026-03-29T01:30:00.250Z",
		"Solotick-Fencing-Token": "1774747800250001",
		"Solotick-Attempt":       "2",
		"Solotick-Replica":       "a-1",
	} {
		require.Equal(t, []string{want}, header.Values(name), name)
	}
	require.True(t, strings.HasPrefix(header.Get("User-Agent"), "solotick"), header.Get("User-Agent"))
}

func TestRequestOfATracedRunHasItsSpan(t *testing.T) {
	requests := make(chan received, 2)
	handler, err := http.New(http.Call{URL: serve(t, receive(requests)), Headers: map[string]string{"traceparent": "own"}}, nil)
	require.NoError(t, err)
	traced := run
	traced.Traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	require.NoError(t, handler(t.Context(), traced))
	require.Equal(t, []string{traced.Traceparent}, (<-requests).header.Values("Traceparent"))
	require.NoError(t, handler(t.Context(), run))
	require.Equal(t, []string{"own"}, (<-requests).header.Values("Traceparent"))
}

func TestRequestCarriesThePayload(t *testing.T) {
	requests := make(chan received, 1)
	send := func(payload jobs.Payload, call http.Call) received {
		call.URL = serve(t, receive(requests))
		handler, err := http.New(call, nil)
		require.NoError(t, err)
		given := run
		given.Payload = payload
		require.NoError(t, handler(t.Context(), given))
		return <-requests
	}
	const header = "Solotick-Payload"
	r := send(`{"tenant": 7}`, http.Call{Method: "post"})
	require.Equal(t, []string{`{"tenant": 7}`, "application/json"}, []string{r.body, r.header.Get("Content-Type")})
	require.Empty(t, r.header.Values(header))
	r = send("two\nlines", http.Call{Method: "PUT"})
	require.Equal(t, []string{"two\nlines", "text/plain; charset=utf-8"}, []string{r.body, r.header.Get("Content-Type")})
	r = send("a: 1", http.Call{Method: "PATCH", Headers: map[string]string{"content-type": "application/yaml"}})
	require.Equal(t, "application/yaml", r.header.Get("Content-Type"), "the job's own")

	for _, call := range []http.Call{{}, {Method: "DELETE"}, {Method: "POST", Body: "own"}} {
		r = send("two\nlines", call)
		require.Equal(t, []string{call.Body, "dHdvCmxpbmVz"}, []string{r.body, r.header.Get(header)})
	}
	r = send("", http.Call{Method: "POST"})
	require.Empty(t, r.body)
	require.Empty(t, r.header.Values(header))
	_, err := http.New(http.Call{URL: "http://example.com", Headers: map[string]string{header: "x"}}, nil)
	require.ErrorContains(t, err, "is set for each run")
}

func TestNoHeaderOfTheRunCanBeSet(t *testing.T) {
	requests := make(chan received, 1)
	handler, err := http.New(http.Call{URL: serve(t, receive(requests))}, nil)
	require.NoError(t, err)
	keyed := run
	keyed.Key = "acme"
	require.NoError(t, handler(t.Context(), keyed))
	ours := 0
	for name := range (<-requests).header {
		if strings.HasPrefix(name, "Solotick-") || name == "Idempotency-Key" {
			ours++
			_, err := http.New(http.Call{URL: "http://example.com", Headers: map[string]string{name: "x"}}, nil)
			require.ErrorContains(t, err, "is set for each run", name)
		}
	}
	require.Equal(t, 8, ours)
}

func TestTickIsWrittenInUtc(t *testing.T) {
	requests := make(chan received, 1)
	handler, err := http.New(http.Call{URL: serve(t, receive(requests))}, nil)
	require.NoError(t, err)
	elsewhere := run
	elsewhere.Tick = time.Date(2026, 3, 29, 3, 0, 0, 0, time.FixedZone("", 2*3600))
	require.NoError(t, handler(t.Context(), elsewhere))
	require.Equal(t, "2026-03-29T01:00:00.000Z", (<-requests).header.Get("Solotick-Tick"))
}

func TestRequestIsWhatTheCallDescribes(t *testing.T) {
	requests := make(chan received, 1)
	url := serve(t, receive(requests))
	require.NoError(t, do(t, t.Context(), http.Call{
		Method: "put", URL: url + "/a/b?q=1",
		Headers: map[string]string{"content-type": "application/json", "X-Key": "k", "host": "other.example", "User-Agent": "me"},
		Body:    `{"full":true}`,
	}))
	got := <-requests
	require.Equal(t, "PUT", got.method)
	require.Equal(t, "/a/b", got.path)
	require.Equal(t, "q=1", got.query)
	require.Equal(t, `{"full":true}`, got.body)
	require.Equal(t, "other.example", got.host)
	require.Equal(t, "application/json", got.header.Get("Content-Type"))
	require.Equal(t, "k", got.header.Get("X-Key"))
	require.Equal(t, []string{"me"}, got.header.Values("User-Agent"))
}

func TestUserInformationBecomesBasicAuthentication(t *testing.T) {
	requests := make(chan received, 1)
	url := serve(t, receive(requests))
	require.NoError(t, do(t, t.Context(), http.Call{URL: strings.Replace(url, "//", "//user:pass@", 1)}))
	require.Equal(t, "Basic dXNlcjpwYXNz", (<-requests).header.Get("Authorization"))
}

func TestMethodFollowsTheBodyUnlessItIsSet(t *testing.T) {
	requests := make(chan received, 1)
	url := serve(t, receive(requests))
	for want, call := range map[string]http.Call{
		"GET":    {URL: url},
		"POST":   {URL: url, Body: "x"},
		"DELETE": {URL: url, Body: "x", Method: "DELETE"},
	} {
		require.NoError(t, do(t, t.Context(), call))
		require.Equal(t, want, (<-requests).method)
	}
}

func TestCallIsCopied(t *testing.T) {
	requests := make(chan received, 1)
	call := http.Call{URL: serve(t, receive(requests)), Headers: map[string]string{"X-Key": "before"},
		Success: []http.StatusRange{{200, 200}}}
	handler, err := http.New(call, nil)
	require.NoError(t, err)
	call.Headers["X-Key"], call.Success[0] = "after", http.StatusRange{From: 500, To: 500}
	require.NoError(t, handler(t.Context(), run))
	require.Equal(t, "before", (<-requests).header.Get("X-Key"))
}
