package doctor

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/notify"
)

func TestDoctorJudgesNotifications(t *testing.T) {
	now := time.Date(2026, 11, 22, 1, 30, 0, 0, time.UTC)
	waits := func(ago time.Duration) []notify.Waiting {
		return []notify.Waiting{{Receiver: "ops", Jobs: 2, Since: now.Add(-ago), Error: "h: status 404"}}
	}
	for name, test := range map[string]struct {
		report  notify.Report
		result  Result
		finding string
	}{
		"nobody ever":   {notify.Report{}, Fail, "no replica sends notifications to the configured 2 receivers"},
		"nobody now":    {notify.Report{By: "web-1", At: now.Add(-3 * time.Minute)}, Fail, "the last was web-1, at 2026-11-22 01:27:00"},
		"all is well":   {notify.Report{By: "web-1", At: now.Add(-time.Minute)}, OK, "web-1 sends them to 2 receivers, and none waits"},
		"some wait":     {notify.Report{By: "web-1", At: now, Waiting: waits(time.Minute)}, Warn, "ops has not taken those of 2 jobs, for 1m0s: h: status 404"},
		"they wait on":  {notify.Report{By: "web-1", At: now, Waiting: waits(time.Hour)}, Fail, "for 1h0m0s"},
		"worst of both": {notify.Report{At: now, Waiting: append(waits(time.Hour), waits(time.Minute)...)}, Fail, "for 1h0m0s"},
	} {
		f := notifiedFinding(Finding{Result: OK}, test.report, now, 2)
		require.Equal(t, test.result, f.Result, name)
		require.Contains(t, f.Finding, test.finding, name)
		require.Equal(t, f.Result == OK, f.Change == "", name)
	}
}
