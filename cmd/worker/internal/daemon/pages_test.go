package daemon

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/config"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease/memlease"
)

// servePages serves the console of a configuration as the worker does, and returns its URL.
func servePages(t *testing.T, cfg config.Server) (url string, p *pages) {
	p, err := newPages(new(memlease.Store), cfg, new(jobs.Registry), quiet, nil)
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := newServer(cfg, newHandler(newScrapes(prometheus.NewRegistry(), quiet), func() string { return "" }, p.console), quiet)
	s.http.RegisterOnShutdown(p.console.Close)
	s.serve(listener, func(err error) { t.Error(err) })
	t.Cleanup(func() {
		require.NoError(t, s.stop(context.Background()))
		p.console.Close()
	})
	return "http://" + listener.Addr().String(), p
}

func get(t *testing.T, url, token string) (int, string) {
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	body, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	return answer.StatusCode, string(body)
}

func TestPageOfAWorkerShowsItsJobs(t *testing.T) {
	url, p := servePages(t, config.Server{})
	status, body := get(t, url+"/jobs.json", "")
	require.Equal(t, http.StatusOK, status, body)
	require.NotContains(t, body, "after-the-reload")

	job, err := jobs.New("after-the-reload", "@hourly", func(context.Context, jobs.Run) error { return nil })
	require.NoError(t, err)
	registry := new(jobs.Registry)
	require.NoError(t, registry.Add(job))
	p.registry.Store(registry)
	require.Eventually(t, func() bool {
		_, body := get(t, url+"/jobs.json", "")
		return strings.Contains(body, "after-the-reload")
	}, 30*time.Second, 100*time.Millisecond)
}

func TestTokensAreThoseOfTheConfiguration(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ops")
	require.NoError(t, os.WriteFile(file, []byte("a-token-in-a-file\n"), 0o600))
	url, _ := servePages(t, config.Server{Tokens: []config.Token{
		{Name: "ops", Role: "operate", File: file}, {Name: "reader", Role: "read", Value: config.NewSecret("a-token-that-reads")},
	}})
	status, _ := get(t, url+"/api/v1/jobs", "")
	require.Equal(t, http.StatusUnauthorized, status)
	for _, token := range []string{"a-token-in-a-file", "a-token-that-reads"} {
		status, body := get(t, url+"/api/v1/jobs", token)
		require.Equal(t, http.StatusOK, status, body)
	}
	status, _ = get(t, url+"/healthz", "")
	require.Equal(t, http.StatusOK, status)
}

func TestTokenFileThatIsMissingIsNamed(t *testing.T) {
	_, err := newPages(new(memlease.Store), config.Server{Tokens: []config.Token{{Name: "ops", Role: "operate", File: "/no/such/file"}}},
		new(jobs.Registry), quiet, nil)
	require.ErrorContains(t, err, "http: console: tokens[0].file: open /no/such/file")
}

func TestStopEndsTheStreamsOfAWorker(t *testing.T) {
	p, err := newPages(new(memlease.Store), config.Server{}, new(jobs.Registry), quiet, nil)
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := newServer(config.Server{}, p.console, quiet)
	s.http.RegisterOnShutdown(p.console.Close)
	s.serve(listener, func(err error) { t.Error(err) })
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+listener.Addr().String()+"/api/v1/events", nil)
	require.NoError(t, err)
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer func() { _ = answer.Body.Close() }()
	require.Equal(t, http.StatusOK, answer.StatusCode)

	require.NoError(t, s.stop(context.Background()))
	_, err = io.Copy(io.Discard, answer.Body)
	require.NoError(t, err, "the stream ends, and is not cut")
}
