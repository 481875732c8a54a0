package daemon

import (
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/config"
)

func TestPageAnswersAllPathsButThreeEndpoints(t *testing.T) {
	reason := ""
	page := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { text(w, http.StatusTeapot, "the page\n") })
	handler := newHandler(newScrapes(prometheus.NewRegistry(), quiet), func() string { return reason }, page)
	ask := func(method, path string) (int, string) {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(method, path, nil))
		return w.Code, w.Body.String()
	}
	for path, want := range map[string]int{
		"/metrics": 200, "/healthz": 200, "/readyz": 200,
		"/": 418, "/metrics/": 418, "/api/v1/jobs": 418, "/debug/pprof/": 418, "/index.html": 418,
	} {
		code, _ := ask(http.MethodGet, path)
		require.Equal(t, want, code, path)
	}
	code, _ := ask(http.MethodPost, "/readyz")
	require.Equal(t, http.StatusTeapot, code, "the page answers what it does not know")

	reason = "draining"
	code, body := ask(http.MethodGet, "/readyz")
	require.Equal(t, http.StatusServiceUnavailable, code)
	require.Equal(t, "draining\n", body)
	code, _ = ask(http.MethodGet, "/healthz")
	require.Equal(t, http.StatusOK, code, "a process that drains lives")
}

func TestFreeDefaultAddressIsUsed(t *testing.T) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	addr := free.Addr().String()
	require.NoError(t, free.Close())
	listener, err := newServer(config.Server{Addr: config.Address{HostPort: addr}}, nil, quiet).bind(t.Context())
	require.NoError(t, err)
	require.Equal(t, addr, listener.Addr().String())
	require.NoError(t, listener.Close())
}

func TestAddressWithoutInterfaceIsRefused(t *testing.T) {
	_, err := newServer(config.Server{Addr: config.Address{HostPort: "192.0.2.1:80", Given: true}}, nil, quiet).bind(t.Context())
	require.ErrorContains(t, err, "http.addr: cannot listen on 192.0.2.1:80: ")
	require.ErrorContains(t, err, "choose another address with --http or http.addr")
}

func TestServerFailureIsReported(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	failed := make(failures, 1)
	s := newServer(config.Server{}, http.NotFoundHandler(), quiet)
	s.serve(listener, failed.report)
	require.NoError(t, listener.Close())
	select {
	case err := <-failed:
		require.ErrorContains(t, err, "serve HTTP on "+listener.Addr().String())
	case <-time.After(30 * time.Second):
		require.Fail(t, "no failure was reported")
	}
	require.NoError(t, s.stop(t.Context()))
}
