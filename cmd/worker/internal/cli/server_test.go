package cli

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/console"
	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease/memlease"
)

const opsToken = "the-token-of-the-operators"

// workerSite is a worker's API over a store in memory, in which the job report has failed once.
type workerSite struct {
	*testing.T
	store *memlease.Store
	url   string
}

func newWorkerSite(t *testing.T) *workerSite {
	s := &workerSite{T: t, store: new(memlease.Store)}
	job, err := jobs.New("report", "0 2 * * *", func(context.Context, jobs.Run) error { return nil }, jobs.WithTimezone("Europe/Berlin"))
	require.NoError(t, err)
	now, _, err := s.store.Time(t.Context())
	require.NoError(t, err)
	tick := now.Add(-time.Minute).Truncate(time.Second).UnixMilli()
	_, err = s.store.Sync(t.Context(), []protocol.Sync{{Name: "report", Watermark: tick - 1000, Schedule: "Europe/Berlin 0 2 * * *"}})
	require.NoError(t, err)
	a, err := s.store.Claim(t.Context(), protocol.Claim{Name: "report", Tick: tick, Holder: "worker-1", Request: "r", TTL: time.Minute})
	require.NoError(t, err)
	grant := protocol.Grant{Name: "report", Tick: tick, Holder: "worker-1", Request: "r", Token: a.Token, Attempt: 1, TTL: time.Minute, Note: "the disk is full"}
	require.NoError(t, s.store.Settle(t.Context(), grant, "failed"))
	c, err := console.New(s.store, console.WithJobs(func() []*jobs.Job { return []*jobs.Job{job} }),
		console.WithTokens(console.Token{Name: "ops", Role: console.Operate, Value: opsToken}),
		console.WithExamination(func(context.Context) (console.Examination, error) {
			return console.Examination{Store: "redis.example:6379", Findings: []console.Finding{
				{Check: "memory", Result: "fail", Finding: "it evicts records", Change: "set noeviction"},
			}}, nil
		}))
	require.NoError(t, err)
	server := httptest.NewServer(c)
	t.Cleanup(func() { c.Close(); server.Close() })
	s.url = server.URL
	return s
}

// run runs a command that asks the worker.
func (s *workerSite) run(args ...string) (code int, stdout, stderr string) {
	return s.runAs(opsToken, append(args, "--server", s.url)...)
}

func (s *workerSite) runAs(token string, args ...string) (code int, stdout, stderr string) {
	var out, problems bytes.Buffer
	env := func(name string) (string, bool) { return token, name == "SOLOTICK_TOKEN" && token != "" }
	code = Main(s.Context(), "", args, &out, &problems, env)
	return code, out.String(), problems.String()
}

func TestServerAnswersWhatTheStoreWould(t *testing.T) {
	s := newWorkerSite(t)
	f, err := fleet.New(s.store)
	require.NoError(t, err)

	code, stdout, stderr := s.run("status")
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, "namespace default")
	require.Regexp(t, `report +0 2 \* \* \* Europe/Berlin`, stdout)
	code, stdout, _ = s.run("describe", "report")
	require.Zero(t, code)
	require.Regexp(t, `policies +overlap forbid; at_least_once, 3 takeovers at most`, stdout)
	require.Regexp(t, `(?m)^outcomes +1 failed`, stdout)
	code, stdout, _ = s.run("why", "report")
	require.Zero(t, code)
	require.Contains(t, stdout, "and it failed after ")

	code, stdout, _ = s.run("history", "report", "--output", "json")
	require.Zero(t, code)
	list, err := f.History(t.Context(), "report", 20)
	require.NoError(t, err)
	sent, err := fleet.Marshal(list)
	require.NoError(t, err)
	require.NoError(t, fleet.Unmarshal(sent, &list)) // times on the way are in whole milliseconds, and so is the time between them
	want, err := fleet.Marshal(list)
	require.NoError(t, err)
	require.JSONEq(t, string(want), stdout)
}

func TestServerDoesWhatItIsAsked(t *testing.T) {
	s := newWorkerSite(t)
	code, stdout, stderr := s.run("pause", "report", "--reason", "the database moves")
	require.Zero(t, code, stderr)
	require.Regexp(t, `report is paused: by ops since .*, the database moves`, stdout)
	code, stdout, _ = s.run("trigger", "report", "--key", "deploy-1")
	require.Zero(t, code)
	require.Contains(t, stdout, "default/report/")
	code, _, stderr = s.run("trigger", "report", "--key", "deploy-1")
	require.Zero(t, code)
	require.Contains(t, stderr, "an earlier trigger had this key")
	require.Contains(t, stderr, "no live replica serves this job")
	code, stdout, stderr = s.run("cancel", "report")
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, "cancelled")
	code, _, stderr = s.run("cancel", "report")
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "nothing to cancel")
	code, stdout, _ = s.run("resume", "report")
	require.Zero(t, code)
	require.Contains(t, stdout, "report is resumed; it was paused by ops")
}

func TestServerRepairsForgetsAuditsAndExamines(t *testing.T) {
	s := newWorkerSite(t)
	now, _, err := s.store.Time(t.Context())
	require.NoError(t, err)
	_, err = s.store.Sync(t.Context(), []protocol.Sync{{Name: "stuck", Watermark: now.Add(8 * time.Hour).UnixMilli()}, {Name: "old", Watermark: now.UnixMilli()}})
	require.NoError(t, err)
	code, stdout, stderr := s.run("repair", "stuck", "--reason", "the clock")
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, "stuck is repaired: its watermark was ")
	code, stdout, _ = s.run("repair", "stuck")
	require.Zero(t, code)
	require.Contains(t, stdout, "nothing was changed")
	code, stdout, stderr = s.run("forget", "old", "--yes", "--output", "json")
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, `"by": "ops"`)
	code, _, stderr = s.run("forget", "old", "--yes")
	require.Equal(t, 2, code)
	require.Contains(t, stderr, "there is no job old")

	code, stdout, stderr = s.run("audit")
	require.Zero(t, code, stderr)
	require.Regexp(t, `ops +api +forgotten +old`, stdout)
	require.Regexp(t, `ops +api +repaired +stuck +the clock`, stdout)
	code, _, stderr = s.run("audit", "--budget", "1MiB")
	require.Equal(t, 2, code)
	require.Contains(t, stderr, "--budget: does not go with --server")

	code, stdout, stderr = s.run("doctor")
	require.Equal(t, 1, code)
	require.Regexp(t, `memory +fail +it evicts records\n +change: set noeviction`, stdout)
	require.Contains(t, stderr, "1 check failed, of Redis at redis.example:6379 and the fleet")
	code, stdout, _ = s.run("doctor", "--output", "json")
	require.Equal(t, 1, code)
	require.Contains(t, stdout, `"result": "fail"`)
	code, _, stderr = s.run("doctor", "--config", "x.yaml")
	require.Equal(t, 2, code)
	require.Contains(t, stderr, "--config: does not go with --server")
}

func TestTriggerOfAServerSurvivesALostReply(t *testing.T) {
	s := newWorkerSite(t)
	lost := 0
	worker, err := url.Parse(s.url)
	require.NoError(t, err)
	proxy := httputil.NewSingleHostReverseProxy(worker)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && lost < 2 { // it is done, and nobody gets the answer
			lost++
			proxy.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	code, stdout, stderr := s.runAs(opsToken, "trigger", "report", "--server", front.URL)
	require.Zero(t, code, stderr)
	require.Equal(t, 2, lost)
	require.NotContains(t, stderr, "earlier trigger")
	require.Contains(t, stdout, "default/report/")
	r, err := s.store.Inspect(t.Context(), "report")
	require.NoError(t, err)
	require.Len(t, r.Open, 1)
}

func TestServerThatRefusesIsNamedWithTheReason(t *testing.T) {
	s := newWorkerSite(t)
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/away/api/v1/replicas" {
			http.Redirect(w, r, s.url, http.StatusFound)
			return
		}
		_, _ = w.Write([]byte("<html>"))
	}))
	t.Cleanup(other.Close)
	file := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(file, []byte(opsToken+"\n"), 0o600))
	for _, c := range []struct {
		name, token string
		args        []string
		code        int
		want        string
	}{
		{"no token", "", []string{"status", "--server", s.url}, 1, "this needs a bearer token, or a login: set SOLOTICK_TOKEN or --token-file"},
		{"a wrong token", "wrong-wrong-wrong-wrong", []string{"status", "--server", s.url}, 1, "the token is not known"},
		{"a token in a file", "", []string{"status", "--server", s.url, "--token-file", file}, 0, ""},
		{"a file that is missing", "", []string{"status", "--server", s.url, "--token-file", "/no/such"}, 2, "--token-file: open /no/such"},
		{"a token without a server", "", []string{"status", "--token-file", file}, 2, "--token-file: needs --server"},
		{"an unknown job", opsToken, []string{"why", "nothing", "--server", s.url}, 2, "there is no job nothing"},
		{"a name that is none", opsToken, []string{"why", "../x", "--server", s.url}, 2, `"../x" must`},
		{"another program", opsToken, []string{"status", "--server", other.URL}, 1, "the answer is not that of a worker's API"},
		{"a redirect", opsToken, []string{"status", "--server", other.URL + "/away"}, 1, "302 Found"},
		{"nobody", opsToken, []string{"status", "--server", "http://127.0.0.1:1"}, 1, "connection refused"},
		{"no URL", opsToken, []string{"status", "--server", "localhost:8080"}, 2, "--server: \"localhost:8080\" must be a URL"},
		{"a password in the URL", opsToken, []string{"status", "--server", "http://ops:secret@localhost"}, 2, "must not have a user or password"},
		{"a store as well", opsToken, []string{"status", "--server", s.url, "--redis", "redis://localhost"}, 2, "--redis: does not go with --server"},
		{"another caller", opsToken, []string{"pause", "report", "--by", "jo", "--server", s.url}, 2, "--by: does not go with --server: the token says who asks"},
	} {
		code, _, stderr := s.runAs(c.token, c.args...)
		require.Equal(t, c.code, code, "%s: %s", c.name, stderr)
		require.Contains(t, stderr, c.want, c.name)
		require.NotContains(t, stderr, opsToken, c.name)
	}
}

func TestServerKeepsSchedulesAsTheStoreDoes(t *testing.T) {
	s := newWorkerSite(t)
	_, err := s.store.Sync(t.Context(), []protocol.Sync{{Name: "tenants", Watermark: time.Now().UnixMilli(), Schedule: "Europe/Berlin @stored", Revision: "r", Defines: true}})
	require.NoError(t, err)
	does := func(want string, args ...string) {
		t.Helper()
		code, stdout, stderr := s.run(append([]string{"schedules"}, args...)...)
		require.Zero(t, code, stderr)
		require.Regexp(t, want, stdout)
	}
	fails := func(code int, want string, args ...string) {
		t.Helper()
		got, _, stderr := s.run(args...)
		require.Equal(t, code, got, stderr)
		require.Contains(t, stderr, want)
	}
	does(`^acme: created, revision [0-9a-f]{12}, next tick \S+ 07:00:00 \+0[12]00\n$`, "put", "tenants", "acme", "--cron", "0 7 * * *", "--payload", "7", "--reason", "new")
	does("^acme: unchanged", "put", "tenants", "acme", "--cron", "0 7 * * *", "--payload", "7")
	fails(1, "another revision", "schedules", "put", "tenants", "acme", "--cron", "@daily", "--if-revision", "0123456789ab")
	fails(1, "another revision", "schedules", "put", "tenants", "acme", "--cron", "@daily", "--if-absent")
	fails(1, `cron: "61 * * * *" has "61" in the minute field`, "schedules", "put", "tenants", "acme", "--cron", "61 * * * *")
	does("by ops\n", "get", "tenants", "acme")
	does(`acme +0 7 \* \* \* +Europe/Berlin`, "list", "tenants", "--prefix", "ac")
	does("acme is paused", "pause", "tenants", "acme", "--reason", "not paid")
	does("acme is resumed", "resume", "tenants", "acme")
	does("^default/tenants/acme/", "trigger", "tenants", "acme")
	record, err := s.store.Inspect(t.Context(), "tenants/acme")
	require.NoError(t, err)
	require.Len(t, record.Open, 1)
	code, stdout, stderr := s.run("history", "tenants/acme")
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, "waiting")
	does("acme is deleted", "delete", "tenants", "acme", "--reason", "gone")
	fails(1, `job tenants has no schedule "acme"`, "schedules", "get", "tenants", "acme")
	fails(1, `job tenants has no schedule "acme"`, "schedules", "delete", "tenants", "acme")
	fails(2, "--server: export of many schedules asks the store", "schedules", "export", "tenants")
	fails(2, "--server: pause of many schedules asks the store", "schedules", "pause", "tenants", "--prefix", "")
}
