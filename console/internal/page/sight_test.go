package page

import (
	"net/url"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/console/internal/view"
	"github.com/solotick/solotick/fleet"
)

func at(t time.Time) time.Time { return t }

func TestPageOfAJobHasOneZone(t *testing.T) {
	tick := now.Add(-time.Hour)
	shown := view.JobPage{
		JobRow: view.JobRow{Job: "report", Timezone: "Europe/Berlin", Next: at(now.Add(time.Hour))},
		History: []fleet.Entry{
			{Job: "report", Outcome: "skipped", From: tick.Add(-time.Hour), Scheduled: tick, Count: 3},
			{Job: "report", Outcome: "succeeded", Started: tick, Scheduled: tick, Count: 1},
		},
		Events:        []view.Event{{Fact: fleet.Fact{At: tick}, Text: "x"}},
		Notifications: &view.JobNotifications{Receivers: []view.JobReceiver{{Sent: []view.Delivery{{Job: "report", Tick: at(tick), At: at(tick)}}}}},
	}
	for zone, want := range map[string]string{"": "Europe/Berlin", "Asia/Tokyo": "Asia/Tokyo", "UTC": "UTC"} {
		html := rendered(t, Context{Path: "/jobs/report", Query: url.Values{}, Now: now, Zone: zone}, shown)
		assert.Contains(t, html, "Times are in "+want+".")
		seen := map[string]int{}
		for _, found := range regexp.MustCompile(`<time datetime="([^"]*)"[^>]*>(?:[^<]* )?(\d\d:\d\d)`).FindAllStringSubmatch(html, -1) {
			instant, err := time.Parse(time.RFC3339, found[1])
			require.NoError(t, err)
			assert.Equal(t, instant.In(location(want)).Format("15:04"), found[2])
			seen[found[1]]++
		}
		assert.GreaterOrEqual(t, seen["2026-11-22T10:20:31.000Z"], 4, "the history, an event and a notification")
	}
}

func TestRangeOfOneTickIsOneTick(t *testing.T) {
	tick := now.Add(-time.Hour)
	shown := func(count int) string {
		return rendered(t, Context{Path: "/jobs/report", Query: url.Values{}, Now: now}, view.JobPage{
			History: []fleet.Entry{{Job: "report", Outcome: "skipped", From: tick.Add(-time.Minute), Scheduled: tick, Count: count}},
		})
	}
	assert.NotContains(t, shown(1), ">10:19:31<")
	assert.Regexp(t, `after <time [^>]*>10:19:31</time> – .*10:20:31.*3 ticks`, shown(3))
}

func TestOneOutcomeIsKept(t *testing.T) {
	shown := view.JobPage{Kept: 1, History: []fleet.Entry{{Job: "report", Outcome: "succeeded"}}}
	assert.Contains(t, rendered(t, Context{Path: "/jobs/report", Query: url.Values{}, Now: now}, shown), "1 outcome is kept.")
}

func TestLoadComparesWeightWithWeight(t *testing.T) {
	shown := view.LoadPage{From: at(now), To: at(now.Add(time.Hour)), Capacity: 6, Points: []view.LoadPoint{{At: at(now), Runs: 2, High: 3, Weight: 12, HighWeight: 18}}}
	html := rendered(t, Context{Path: "/load", Query: url.Values{}, Now: now}, shown)
	assert.Contains(t, html, "Weight of the runs at a time: at most 12,")
	assert.Contains(t, html, ">weight 18<")
	assert.Contains(t, html, `viewBox="0 0 1 18"`)
	shown.Capacity = 0
	assert.Contains(t, rendered(t, Context{Path: "/load", Query: url.Values{}, Now: now}, shown), `viewBox="0 0 1 3"`)
}

func TestResultsOfAFilterAreAnnounced(t *testing.T) {
	for _, shown := range []any{view.JobsPage{Matching: 3, Total: 36}, view.TimelinePage{Matching: 3, Total: 36}, view.LocksPage{Matching: 3}} {
		html := rendered(t, Context{Path: "/", Query: url.Values{}, Now: now}, shown)
		assert.Regexp(t, `<p class="spoken" aria-live="polite">3 `, html, "%T", shown)
	}
}
