package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/cmd/worker/internal/filetest"
	"github.com/solotick/solotick/cmd/worker/internal/workertest"
)

// newReports is a site whose worker has a job with stored schedules.
func newReports(t *testing.T) *site {
	s := newSite(t)
	s.path = filetest.Config(t, fmt.Sprintf("namespace: billing\nredis: {url: %q}\nlease: {ttl: 3s}\nhttp: {addr: '127.0.0.1:0'}\njobs:\n", s.server.URL())+
		"- {name: customer-report, schedules: stored, timezone: Europe/Berlin, jitter: 1s, log: {message: report}}\n"+
		"- {name: hourly, schedule: '@hourly', log: {message: x}}\n")
	return s
}

// does calls a command that succeeds.
func (s *site) does(args ...string) string {
	s.Helper()
	r := s.ask(append([]string{"schedules"}, args...)...)
	require.Equal(s, 0, r.Code, r.Stderr)
	return r.Stdout
}

func TestSchedulesArePutShownAndDeleted(t *testing.T) {
	s := newReports(t)
	const revision = `[0-9a-f]{12}`
	out := s.does("put", "customer-report", "acme", "--cron", "0 7 * * *", "--timezone", "Asia/Shanghai", "--payload", `{"format": "pdf"}`)
	require.Regexp(t, `^acme: created, revision `+revision+`, next tick \d{4}-\d\d-\d\d 07:00:00 \+0800\n$`, out)
	again := s.does("put", "customer-report", "acme", "--cron", "0 7 * * *", "--timezone", "Asia/Shanghai", "--payload", `{"format": "pdf"}`)
	require.Equal(t, strings.Replace(out, "created", "unchanged", 1), again)
	file := filepath.Join(t.TempDir(), "payload")
	require.NoError(t, os.WriteFile(file, []byte("7"), 0o600))
	out = s.does("put", "customer-report", "once", "--at", "2099-12-01 08:00", "--payload", "@"+file, "--end", "2100-01-01")
	require.Contains(t, out, "next tick 2099-12-01 08:00:00 +0100", "in the job's time zone")

	var row struct {
		Key, Cron, At, Timezone, Payload, End, Revision, Next string
		UpdatedBy                                             string `json:"updated_by"`
		Coming                                                []string
	}
	s.json(&row, "schedules", "get", "customer-report", "once")
	require.Equal(t, []string{"", "2099-12-01T07:00:00.000Z", "Europe/Berlin", "7", "2099-12-31T23:00:00.000Z"}, []string{row.Cron, row.At, row.Timezone, row.Payload, row.End})
	require.Equal(t, []string{"2099-12-01T07:00:00.000Z"}, row.Coming)
	require.Equal(t, row.At, row.Next)
	require.Regexp(t, `^ops1-at-`, row.UpdatedBy)
	text := s.does("get", "customer-report", "acme")
	for _, want := range []string{"customer-report/acme", "0 7 * * * Asia/Shanghai\n", "every day at 07:00\n", `{"format": "pdf"}`, "by ops1-at-", "no tick runs", "07:00:00 +0800\n"} {
		require.Contains(t, text, want)
	}

	list := s.does("list", "customer-report")
	require.Regexp(t, `(?m)^acme +0 7 \* \* \* +Asia/Shanghai +\S+ 07:00:00 \+0800 +- +17 B `, list)
	require.Regexp(t, `(?m)^once +@at 2099-12-01T07:00:00Z +Europe/Berlin `, list)
	require.NotContains(t, s.does("list", "customer-report", "--prefix", "ac"), "once")

	r := s.ask("schedules", "put", "customer-report", "acme", "--cron", "@daily", "--if-revision", "0123456789ab")
	require.Equal(t, 1, r.Code)
	require.Contains(t, r.Stderr, `schedule "acme" is not as expected, so nothing was changed: worker schedules get customer-report acme shows what is there`)
	r = s.ask("schedules", "put", "customer-report", "acme", "--cron", "@daily", "--if-absent")
	require.Equal(t, 1, r.Code)
	require.Contains(t, s.does("put", "customer-report", "once", "--cron", "@daily", "--if-revision", row.Revision), "once: changed")

	require.Equal(t, "acme is deleted\n", s.does("delete", "customer-report", "acme", "--reason", "the contract has ended"))
	for _, command := range []string{"delete", "get", "pause", "resume", "trigger"} {
		r := s.ask("schedules", command, "customer-report", "acme")
		require.Equal(t, 1, r.Code, command)
		require.Contains(t, r.Stderr, `job customer-report has no schedule "acme": worker schedules list customer-report shows those that are there`, command)
	}
	audit := s.ask("audit").Stdout
	require.Regexp(t, `deleted +customer-report/acme +the contract has ended\n`, audit)
	require.Regexp(t, `scheduled +customer-report/acme \(0 7 \* \* \*\)`, audit)
}

func TestWrongSchedulesAreErrorsOfTheCommandLine(t *testing.T) {
	s := newReports(t)
	for name, test := range map[string]struct {
		args []string
		want []string
	}{
		"all faults": {[]string{"put", "customer-report", "a b", "--cron", "61 * * * *", "--timezone", "Mars/Base", "--start", "2099-02-01", "--end", "2099-01-01"},
			[]string{`KEY: "a b" must start`, `--cron: "61 * * * *" has "61" in the minute field`, `--timezone: "Mars/Base" must be`, `--end: "2099-01-01`, "Run 'worker schedules put --help'"}},
		"times":       {[]string{"put", "customer-report", "a", "--at", "soon", "--start", "08:00"}, []string{`--at: "soon" must be a time`, `--start: "08:00" must be a time`}},
		"past":        {[]string{"put", "customer-report", "a", "--at", "2020-01-01 08:00"}, []string{`--at: "@at 2020-01-01T07:00:00Z" must have a tick to come`}},
		"neither":     {[]string{"put", "customer-report", "a"}, []string{`--cron: "" must be there, or else at`}},
		"jitter":      {[]string{"put", "customer-report", "a", "--cron", "* * * * * *"}, []string{"must have more than the job's jitter, 1s"}},
		"payload":     {[]string{"put", "customer-report", "a", "--cron", "@daily", "--payload", "@/no/such"}, []string{"--payload: open /no/such"}},
		"no key":      {[]string{"put", "customer-report", "--cron", "@daily"}, []string{"put takes JOB KEY, and got 1 argument"}},
		"no job":      {[]string{"put", "custom-report", "a", "--cron", "@daily"}, []string{"did you mean customer-report?"}},
		"neither all": {[]string{"pause", "customer-report"}, []string{"give either a KEY or --prefix"}},
		"limit":       {[]string{"list", "customer-report", "--limit", "0"}, []string{"--limit: 0 must be from 1 to 10000"}},
		"no command":  {nil, []string{"which command of schedules?"}},
		"misspelt":    {[]string{"exprot"}, []string{`unknown command "exprot"; did you mean export?`}},
		"own":         {[]string{"put", "hourly", "a", "--cron", "@daily"}, []string{"hourly: has a schedule of its own: write schedules: stored in place of schedule"}},
	} {
		r := s.ask(append([]string{"schedules"}, test.args...)...)
		require.Equal(t, 2, r.Code, name)
		require.Empty(t, r.Stdout, name)
		for _, want := range test.want {
			require.Contains(t, r.Stderr, want, name)
		}
	}
}

func TestSchedulesArePausedByPrefix(t *testing.T) {
	s := newReports(t)
	for _, key := range []string{"eu-a", "eu-b", "us-a"} {
		s.does("put", "customer-report", key, "--cron", "@hourly")
	}
	require.Equal(t, "us-a is paused\n", s.does("pause", "customer-report", "us-a", "--reason", "not paid"))
	require.Equal(t, "2 schedules paused\n", s.does("pause", "customer-report", "--prefix", "eu-"))
	require.Contains(t, s.does("list", "customer-report", "--prefix", "eu-b"), "paused by ops1-at-")
	require.Contains(t, s.does("get", "customer-report", "us-a"), "not paid")
	require.Equal(t, "us-a is resumed\n", s.does("resume", "customer-report", "us-a"))
	require.Equal(t, "us-a was not paused\n", s.does("resume", "customer-report", "us-a"))
	var j struct {
		Prefix  string
		Paused  bool
		Changed int
	}
	s.json(&j, "schedules", "resume", "customer-report", "--prefix", "")
	require.Equal(t, 2, j.Changed)
	require.Regexp(t, `resumed +customer-report \(2 schedules\)`, s.ask("audit").Stdout)
}

func TestSchedulesAreExportedAndImported(t *testing.T) {
	s := newReports(t)
	file := filepath.Join(t.TempDir(), "schedules.ndjson")
	var lines strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&lines, `{"key": "k%d", "cron": "H 7 * * *", "payload": "%d"}`+"\n", i, i)
	}
	require.NoError(t, os.WriteFile(file, []byte(lines.String()+"{\"key\": \"bad\", \"cron\": \"7\"}\n{\"ky\": 1}\n"), 0o600))
	r := s.ask("schedules", "import", "customer-report", file)
	require.Equal(t, 1, r.Code)
	require.Equal(t, "1000 created, 0 changed, 0 unchanged, 2 failed\n", r.Stdout)
	require.Contains(t, r.Stderr, `line 1001: schedule "bad": cron: "7" must have 5 fields`)
	require.Contains(t, r.Stderr, `line 1002: json: unknown field "ky"`)
	require.Contains(t, r.Stderr, "worker: 2 schedules could not be put\n")

	r = s.ask("schedules", "export", "customer-report")
	require.Equal(t, "1000 schedules\n", r.Stderr)
	require.Equal(t, 1000, strings.Count(r.Stdout, "\n"))
	require.NoError(t, os.WriteFile(file, []byte(r.Stdout), 0o600))
	require.Equal(t, "0 created, 0 changed, 1000 unchanged, 0 failed\n", s.does("import", "customer-report", file))
	require.Equal(t, 111, strings.Count(s.does("export", "customer-report", "--prefix", "k1"), "\n"))

	var page struct {
		Schedules []struct{ Key string }
		Next      string
	}
	seen := map[string]bool{}
	for after := ""; ; {
		s.json(&page, "schedules", "list", "customer-report", "--limit", "300", "--after", after)
		for _, row := range page.Schedules {
			seen[row.Key] = true
		}
		if after = page.Next; after == "" {
			break
		}
	}
	require.Len(t, seen, 1000)
}

func TestSchedulesOfTheStoreRunOnAWorker(t *testing.T) {
	s := newReports(t)
	w := workertest.Start(t, s.path)
	w.Ready(http.StatusOK)
	s.does("put", "customer-report", "acme", "--cron", "@every 2s", "--payload", "7")
	first := w.Await("report", "job", "customer-report", "key", "acme")
	w.Await("tick settled", "job", "customer-report", "key", "acme", "outcome", "succeeded")
	require.Contains(t, s.ask("history", "customer-report/acme").Stdout, "succeeded")
	why := s.ask("why", "customer-report/acme")
	require.Zero(t, why.Code, why.Stderr)
	require.Contains(t, why.Stdout, "customer-report/acme, tick of ")
	describe := s.ask("describe", "customer-report/acme").Stdout
	require.Regexp(t, `(?m)^served by +`+first["replica"].(string)+`$`, describe)
	require.Contains(t, describe, "as in this configuration")
	require.Contains(t, describe, "misfire latest after 10s", "the policies of the job")
	require.NotContains(t, s.ask("why", "customer-report/acme", "2099-01-01T00:00:00Z").Stdout, "serves")
	require.Zero(t, s.ask("pause", "customer-report", "--reason", "the database moves").Code)
	require.Contains(t, s.ask("why", "customer-report/acme", "2099-01-01T00:00:00Z").Stdout, "the database moves")
	require.Zero(t, s.ask("resume", "customer-report").Code)

	s.does("put", "customer-report", "acme", "--cron", "@yearly")
	time.Sleep(time.Second)
	ran := len(w.All("report", "key", "acme"))
	time.Sleep(3 * time.Second)
	require.Len(t, w.All("report", "key", "acme"), ran, "the change acts at once")
	r := s.ask("schedules", "trigger", "customer-report", "acme", "--wait", "--timeout", "20s")
	require.Zero(t, r.Code, r.Stderr)
	require.Empty(t, r.Stderr, "a replica serves it")
	require.Len(t, w.All("report", "key", "acme"), ran+1)
	s.does("put", "customer-report", "once", "--at", time.Now().Add(3*time.Second).Format(time.RFC3339))
	w.Await("report", "key", "once")
}
