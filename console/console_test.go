package console_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/console"
	"github.com/solotick/solotick/lease/memlease"
)

func TestSameURLAnswersInThreeForms(t *testing.T) {
	s := newSite(t)
	for _, c := range []struct{ path, accept, want string }{
		{"/", "", "text/html; charset=utf-8"},
		{"/", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "text/html; charset=utf-8"},
		{"/", "*/*", "text/html; charset=utf-8"},
		{"/", "application/json", "application/json"},
		{"/", "text/html;q=0.5, application/json", "application/json"},
		{"/", "text/*;q=0.2, text/html;q=0, application/json;q=0.1", "text/plain; charset=utf-8"},
		{"/jobs.json", "text/html", "application/json"},
		{"/jobs.txt", "application/json", "text/plain; charset=utf-8"},
	} {
		r := s.get(c.path, header("Accept", c.accept))
		require.Equal(t, http.StatusOK, r.StatusCode, "%s %s: %s", c.path, c.accept, text(t, r))
		require.Equal(t, c.want, r.Header.Get("Content-Type"), "%s %s", c.path, c.accept)
	}
	require.Equal(t, http.StatusNotAcceptable, s.get("/", header("Accept", "image/png")).StatusCode)
}

func TestAPIHasTheJobsOfThePage(t *testing.T) {
	s := newSite(t)
	page, api := s.decode(s.get("/jobs.json")), s.decode(s.get("/api/v1/jobs"))
	require.Equal(t, page["total"], api["total"])
	require.Len(t, api["jobs"], 2)
	require.Contains(t, text(t, s.get("/")), "report")
}

func TestNewNamesEveryFault(t *testing.T) {
	_, err := console.New(nil, nil, console.WithJobs(nil), console.WithLogger(nil), console.WithPrefix("cron/"),
		console.WithTokens(console.Token{Name: "no name", Role: "admin", Value: "short"}))
	require.Error(t, err)
	for _, want := range []string{"options[0]", "jobs: nil", "logger: nil", `prefix: "cron/"`, "store: nil"} {
		require.ErrorContains(t, err, want)
	}
	_, err = console.New(new(memlease.Store), console.WithTokens(
		console.Token{Name: "no name", Role: "admin", Value: "too-short"}, console.Token{Name: "a", Role: console.Read}))
	for _, want := range []string{`tokens[0].name: "no name"`, `tokens[0].role: "admin"`, "tokens[0].value: (hidden)", "tokens[1].value: must be given"} {
		require.ErrorContains(t, err, want)
	}
	require.NotContains(t, err.Error(), "too-short")
}

func TestErrorsAreProblemDocuments(t *testing.T) {
	s := newSite(t)
	r := s.get("/api/v1/jobs?limit=0&colour=red")
	require.Equal(t, http.StatusBadRequest, r.StatusCode)
	require.Equal(t, "application/problem+json", r.Header.Get("Content-Type"))
	var p struct {
		Type, Title string
		Status      int
		Errors      []struct{ Field, Value, Rule string }
	}
	require.NoError(t, json.Unmarshal([]byte(text(t, r)), &p))
	require.Equal(t, http.StatusBadRequest, p.Status)
	require.Equal(t, "about:blank", p.Type)
	require.Len(t, p.Errors, 2)
	require.Equal(t, http.StatusNotFound, s.get("/api/v1/nothing").StatusCode)
	r = s.do(request(http.MethodDelete, "/api/v1/jobs", ""))
	require.Equal(t, http.StatusMethodNotAllowed, r.StatusCode)
	require.Equal(t, "GET", r.Header.Get("Allow"))
}
