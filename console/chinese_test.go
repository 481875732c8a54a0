package console_test

import (
	"context"
	"errors"
	"fmt"
	"html"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/console"
	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease/memlease"
	"github.com/solotick/solotick/scheduler"
)

var (
	// elsewhere match what is not the console's own: parts of a configuration, output, what others
	// have said, and what is marked as English. Each begins with a literal, so that the search is fast.
	elsewhere = []*regexp.Regexp{
		regexp.MustCompile(`(?s)<code.*?</code>`), regexp.MustCompile(`(?s)<pre.*?</pre>`), regexp.MustCompile(`(?s)<select.*?</select>`),
		regexp.MustCompile(`“[^”]*”`), regexp.MustCompile(`(?s)&#34;.*?&#34;`), regexp.MustCompile(`(?s)<span[^>]* lang="en"[^>]*>.*?</span>`),
		regexp.MustCompile(`(?s)<div[^>]* lang="en"[^>]*>.*?</div>`), regexp.MustCompile(`(?s)<ul[^>]* lang="en"[^>]*>.*?</ul>`),
	}
	tags     = regexp.MustCompile(`(?s)<[^>]*>`)
	labels   = regexp.MustCompile(` (?:title|aria-label|placeholder|data-label)="([^"]*)"`)
	sentence = regexp.MustCompile(`[A-Za-z]{2,} [a-z]{2,}`)
	digits   = regexp.MustCompile(`\d+`)
	verdict  = regexp.MustCompile(`<h1><span class="o ([a-z_]+)"`)
	links    = regexp.MustCompile(`href="(/[^"#]*)`)
)

// englishIn returns the texts of a page that are in English.
func englishIn(page string) (list []string) {
	own := page
	for _, e := range elsewhere {
		own = e.ReplaceAllString(own, "\n")
	}
	texts := tags.ReplaceAllString(own, "\n")
	for _, found := range labels.FindAllStringSubmatch(own, -1) {
		texts += "\n" + found[1]
	}
	for line := range strings.SplitSeq(texts, "\n") {
		if line = html.UnescapeString(strings.TrimSpace(line)); sentence.MatchString(line) {
			list = append(list, line)
		}
	}
	return list
}

// crowd lets a fleet with jobs of every fate run for some minutes. Its jobs and people have names
// without spaces.
func crowd(t *testing.T) (*memlease.Store, []*jobs.Job) {
	zone, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	var list []*jobs.Job
	add := func(name, schedule string, run jobs.Handler, options ...jobs.Option) {
		job, err := jobs.New(name, schedule, run, options...)
		require.NoError(t, err)
		list = append(list, job)
	}
	quick := func(context.Context, jobs.Run) error { return nil }
	slow := func(ctx context.Context, _ jobs.Run) error {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(150 * time.Second):
			return nil
		}
	}
	add("quick", "* * * * *", quick)
	add("berlin", "30 2 * * *", quick, jobs.WithTimezone(zone.String()))
	add("broken", "*/2 * * * *", func(context.Context, jobs.Run) error { return errors.New("exit-code-3\nlast-line") },
		jobs.WithRetry(jobs.Retry{MaxAttempts: 2, Backoff: time.Second, MaxBackoff: time.Second}))
	for name, overlap := range map[string]jobs.Overlap{"forbids": jobs.Forbid, "queues": jobs.Queue, "replaces": jobs.Replace} {
		add(name, "@every 1m", slow, jobs.WithOverlap(overlap))
	}
	add("late", "*/5 * * * *", quick, jobs.WithMisfire(jobs.MisfireSkip, time.Second))
	add("moved", "0 0 1 1 *", quick)
	add("leads", "", slow, jobs.WithLeader())
	add("elsewhere", "@hourly", quick, jobs.WithGroups("none"))
	add("heavy", "@every 1m", quick, jobs.WithWeight(50))

	store := new(memlease.Store)
	start := func(id string) (stop func()) {
		var registry jobs.Registry
		require.NoError(t, registry.Add(list...))
		s, err := scheduler.New(store, &registry, scheduler.WithReplica(id), scheduler.WithMaxRuns(20), scheduler.WithObserver(func(scheduler.Event) {}))
		require.NoError(t, err)
		require.NoError(t, s.Start())
		return func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			_ = s.Shutdown(ctx) // some runs have to be cancelled
		}
	}
	f, err := fleet.New(store)
	require.NoError(t, err)
	ctx := t.Context()
	go func() {
		time.Sleep(250 * time.Second)
		act := fleet.Act{By: "ops", Reason: "演练"}
		_, _ = f.Pause(ctx, "quick", act)
		_, _ = f.Trigger(ctx, "moved", fleet.TriggerOptions{By: act.By, Reason: act.Reason, Key: "k"})
		if open, _ := f.Open(ctx, "forbids"); len(open) > 0 {
			_, _ = f.Cancel(ctx, "forbids", open[0].Scheduled, act)
		}
		time.Sleep(2 * time.Minute)
		_, _ = f.Resume(ctx, "quick", act)
		_, _ = f.Pause(ctx, "late", act)
	}()
	stop := start("one")
	time.Sleep(10 * time.Minute)
	stop()
	time.Sleep(12 * time.Minute) // nobody is there
	stop = start("two")
	time.Sleep(3 * time.Minute)
	stop()
	t.Cleanup(start("three"))
	time.Sleep(90 * time.Second)
	return store, list
}

func TestNoPageInChineseHasAnEnglishSentence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, list := crowd(t)
		c, err := console.New(store, console.WithJobs(func() []*jobs.Job { return list }), console.WithAccess(func(*http.Request) console.Caller {
			return console.Caller{Name: "ops", Role: console.Operate}
		}))
		require.NoError(t, err)
		defer c.Close()
		s := &site{T: t, console: c, store: &faultyStore{Store: store}}
		s.notify(time.Now(), "broken")
		found := map[string]string{}
		verdicts := map[string]bool{}
		paths := []string{"/", "/timeline?span=1h", "/load", "/fleet", "/locks", "/audit"}
		kinds := map[string]string{} // a tick of each outcome and reason
		for _, job := range list {
			h := s.decode(s.get("/jobs/" + job.Name() + ".json?limit=1000"))
			for _, e := range slices.Concat(h["open"].([]any), h["history"].([]any)) {
				e := e.(map[string]any)
				if at, _ := e["scheduled"].(string); at != "" {
					kinds[fmt.Sprint(job.Name(), e["state"], e["outcome"], e["reason"])] = "/jobs/" + job.Name() + "/why?tick=" + at
				}
			}
		}
		paths = append(slices.Sorted(maps.Values(kinds)), paths...)
		seen, alike := map[string]bool{}, map[string]int{}
		for ; len(paths) > 0; paths = paths[1:] {
			path := html.UnescapeString(paths[0])
			shape := digits.ReplaceAllString(path, "0")
			if seen[path] || alike[shape] >= 2 && !slices.Contains(slices.Collect(maps.Values(kinds)), path) || strings.HasPrefix(path, "/static/") || strings.Contains(path, "calendar.ics") {
				continue
			}
			seen[path] = true
			alike[shape]++
			r := s.get(path, header("Accept-Language", "zh-CN"), header("Accept", "text/html"))
			page := text(t, r)
			require.Equal(t, http.StatusOK, r.StatusCode, path+page)
			for _, english := range englishIn(page) {
				found[english] = path
			}
			for _, word := range verdict.FindAllStringSubmatch(page, -1) {
				verdicts[word[1]] = true
			}
			for _, link := range links.FindAllStringSubmatch(page, -1) {
				paths = append(paths, link[1])
			}
		}
		for _, path := range []string{
			"/nothing", "/jobs/nothing", "/jobs/broken?limit=0", "/?sort=colour&x=y", "/timeline?span=1s", "/?zone=Mars", "/jobs/-x",
			"/jobs/broken/cancel", "/jobs/leads/cancel", "/locks/release?name=a&token=7", "/actions/pause?q=nothing",
		} {
			for _, english := range englishIn(text(t, s.get(path, header("Accept-Language", "zh-CN"), header("Accept", "text/html")))) {
				found[english] = path
			}
		}
		require.Empty(t, found)
		require.Subset(t, slices.Collect(maps.Keys(verdicts)), []string{
			"succeeded", "failed", "skipped", "missed", "replaced", "cancelled", "running", "planned",
		}, "the fates of ticks that were shown")
		require.Greater(t, len(alike), 100)
	})
}
