package config

import (
	"context"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/jobs"
)

// The pages with blocks of YAML that have the same job in Go below them.
var pagesInBoth = []string{"policies.md", "migrate/shedlock.md", "migrate/quartz.md", "migrate/xxl-job.md"}

type makeJob = func() (*jobs.Job, error)

func work(context.Context, jobs.Run) error { return nil }

// inGo has the blocks of Go of those pages word for word, in the same order, so that they are
// compiled.
var inGo = []makeJob{
	func() (*jobs.Job, error) {
		reindex := work
		return jobs.New("reindex", "*/5 * * * *", reindex,
			jobs.WithOverlap(jobs.Queue)) // or Forbid, Allow, Replace
	},
	func() (*jobs.Job, error) {
		invoice := work
		return jobs.New("invoice", "0 * * * *", invoice,
			jobs.WithMisfire(jobs.MisfireAll, 10*time.Second), // or MisfireSkip, MisfireLatest; and the grace
			jobs.WithCatchUp(24*time.Hour, 100))               // the window, and at most so many
	},
	func() (*jobs.Job, error) {
		importAll := work
		return jobs.New("import", "@hourly", importAll,
			jobs.WithTimeout(10*time.Minute),
			jobs.WithRetry(jobs.Retry{MaxAttempts: 3, Backoff: time.Second, MaxBackoff: time.Minute}))
	},
	func() (*jobs.Job, error) {
		newsletter := work
		return jobs.New("newsletter", "0 9 * * 1", newsletter,
			jobs.WithDelivery(jobs.AtMostOnce))
	},
	func() (*jobs.Job, error) {
		backup := work
		return jobs.New("backup", "0 1 * * *", backup,
			jobs.WithMaxTakeovers(1))
	},
	func() (*jobs.Job, error) {
		rates := work
		return jobs.New("rates", "H 6 * * 1-5", rates,
			jobs.WithTimezone("Europe/Berlin"),
			jobs.WithJitter(30*time.Second))
	},
	func() (*jobs.Job, error) {
		render := work
		return jobs.New("render", "@every 10m", render,
			jobs.WithGroups("gpu", "eu"),
			jobs.WithWeight(4)) // of scheduler.WithMaxRuns, which is the replica's
	},
	func() (*jobs.Job, error) {
		reindex := work
		spec := jobs.Defaults()
		spec.Name, spec.Schedule = "reindex", "*/5 * * * *"
		spec.Paused = true
		return jobs.FromSpec(spec, reindex)
	},
	func() (*jobs.Job, error) {
		reindex := work
		return jobs.New("reindex", "@daily", reindex,
			jobs.WithRate(jobs.Rate{Count: 1, Per: 10 * time.Minute}, 3))
	},
	func() (*jobs.Job, error) {
		consume := work
		return jobs.New("consumer", "", consume,
			jobs.WithLeader(),
			jobs.WithRetry(jobs.Retry{MaxAttempts: 1, Backoff: time.Second, MaxBackoff: time.Minute}))
	},
	func() (*jobs.Job, error) {
		syncAll := work
		spec := jobs.Defaults()
		spec.Name, spec.Schedule = "sync", "@every 1m"
		spec.History, spec.HistoryBytes = 256, 256<<10 // jobs.WithHistory(256) sets the first alone
		return jobs.FromSpec(spec, syncAll)
	},
	func() (*jobs.Job, error) {
		nightlyReport := work
		return jobs.New("nightly-report", "0 0 2 * * *", nightlyReport,
			jobs.WithTimezone("Europe/Berlin"),
			jobs.WithTimeout(30*time.Minute))
	},
	func() (*jobs.Job, error) {
		importAll := work
		return jobs.New("import", "0 0/15 8-18 ? * MON-FRI", importAll,
			jobs.WithTimezone("Europe/Berlin"),
			jobs.WithOverlap(jobs.Queue),
			jobs.WithMisfire(jobs.MisfireLatest, time.Minute))
	},
	func() (*jobs.Job, error) {
		settleOrders := work
		return jobs.New("settle-orders", "0 0/5 * * * ?", settleOrders,
			jobs.WithTimezone("Asia/Shanghai"),
			jobs.WithOverlap(jobs.Queue),
			jobs.WithMisfire(jobs.MisfireLatest, 10*time.Second),
			jobs.WithTimeout(2*time.Minute),
			jobs.WithRetry(jobs.Retry{MaxAttempts: 3, Backoff: time.Second, MaxBackoff: time.Minute}))
	},
}

func TestPoliciesMeanTheSameInGoAndYAML(t *testing.T) {
	source, err := os.ReadFile("policies_test.go")
	require.NoError(t, err)
	written := map[string]bool{} // keys
	n := 0
	for _, page := range pagesInBoth {
		text, err := os.ReadFile("../docs/" + page)
		require.NoError(t, err)
		blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```\n\n```go\n(.*?)```").FindAllStringSubmatch(string(text), -1)
		require.NotEmpty(t, blocks)
		require.Len(t, blocks, strings.Count(string(text), "```yaml"), "%s: each block of YAML is followed by one of Go", page)
		for _, block := range blocks {
			for statement := range strings.SplitSeq(strings.TrimSpace(block[2]), "\njobs.") { // a block may have several jobs
				if !strings.Contains(squeeze(string(source)), squeeze(strings.TrimPrefix(statement, "jobs."))) {
					t.Errorf("%s: not compiled here: %s", page, statement)
				}
			}
			cfg, err := Parse(page, []byte("jobs:\n"+block[1]), nil)
			require.NoError(t, err)
			for _, inYAML := range cfg.Jobs {
				require.Less(t, n, len(inGo))
				job, err := inGo[n]()
				require.NoError(t, err)
				inYAML.Spec.Definition, inYAML.Spec.Details = "", nil // what the job does
				require.Equal(t, job.Spec(), inYAML.Spec, block[1])
				n++
			}
			for _, key := range regexp.MustCompile(`(?m)^  (\w+):`).FindAllStringSubmatch(block[1], -1) {
				written[key[1]] = true
			}
		}
	}
	require.Len(t, inGo, n)
	for _, r := range rowsOf(jobKeys, "", &Job{Spec: jobs.Defaults()}) {
		if r.policy && !strings.Contains(r.path, ".") {
			require.True(t, written[r.path], "no block has %s", r.path)
		}
	}
}

// squeeze removes the space, so that indentation does not count.
func squeeze(code string) string { return regexp.MustCompile(`\s+`).ReplaceAllString(code, "") }
