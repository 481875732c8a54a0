package console_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/heartbeat"
	"github.com/solotick/solotick/internal/notified"
	"github.com/solotick/solotick/internal/protocol"
)

// notify writes to the store what an elected notifier has said at a time, and what it has kept of
// a job.
func (s *site) notify(at time.Time, job string) {
	ms := at.UnixMilli()
	sent := notified.Sent{Condition: "failed", Was: "ok", Tick: ms - 5000, At: ms - 2000}
	last := sent
	last.Job = job
	head, err := notified.Head{
		By: "worker-1", At: ms, Since: map[string]int64{"ops": 1e15, "duty": 1e15, "eu-only": 1e15},
		Receivers: map[string]notified.Receiver{
			"ops": {Kind: "slack", Last: &last}, "duty": {Kind: "pagerduty", Jobs: []string{job[:2] + "*"}, Conditions: []string{"lost", "failed"}},
			"eu-only": {Kind: "webhook", Groups: []string{"eu"}},
		},
		Waiting: map[string]notified.Waiting{"duty": {Jobs: 1, Names: []string{job}, Since: ms - 1000, Error: "events.pagerduty.com: 502 Bad Gateway"}},
	}.Encode()
	require.NoError(s, err)
	progress, err := notified.Job{Receivers: map[string]notified.Reached{"ops": {Outcome: "failed", Sent: []notified.Sent{sent}}, "duty": {Outcome: "missed"}}}.Encode()
	require.NoError(s, err)
	for name, data := range map[string][]byte{"": head, job: progress} {
		_, done, err := s.store.SetProgress(context.Background(), protocol.Progress{Name: name, Data: data})
		require.NoError(s, err)
		require.True(s, done)
	}
}

func TestReceiversAreShownWithWhatTheyTook(t *testing.T) {
	s := newSite(t)
	s.store.settle(t, "report", "failed")
	now, _, err := s.store.Time(t.Context())
	require.NoError(t, err)
	replica := heartbeat.Replica{ID: "worker-1", Started: now, TTL: 10 * time.Second, Jobs: map[string]string{"report": "1", "sync": "1"}}
	require.NoError(t, s.store.SendHeartbeat(t.Context(), replica.ID, replica.Encode(), time.Minute))
	s.notify(now, "report")

	n := s.decode(s.get("/api/v1/replicas"))["notifications"].(map[string]any)
	require.Equal(t, "worker-1", n["by"])
	require.Equal(t, false, n["silent"])
	receivers := n["receivers"].([]any)
	require.Len(t, receivers, 3)
	require.Equal(t, "report", receivers[2].(map[string]any)["last"].(map[string]any)["job"])
	page := text(t, s.get("/fleet"))
	require.Contains(t, page, "events.pagerduty.com: 502 Bad Gateway")
	require.Contains(t, page, "pagerduty")

	of := s.decode(s.get("/api/v1/jobs/report"))["notifications"].(map[string]any)
	require.Equal(t, "failed", of["condition"])
	receivers = of["receivers"].([]any)
	require.Len(t, receivers, 2, "the third is for a group")
	duty, ops := receivers[0].(map[string]any), receivers[1].(map[string]any)
	require.Equal(t, []any{"ok"}, duty["knows"], "it takes no missed")
	require.Equal(t, true, duty["waits"])
	require.Equal(t, []any{"failed"}, ops["knows"])
	require.Equal(t, false, ops["waits"])
	require.Equal(t, "failed", ops["sent"].([]any)[0].(map[string]any)["condition"])
	require.Contains(t, text(t, s.get("/jobs/report")), "has not taken the newest")
	require.Contains(t, text(t, s.get("/jobs/report.txt")), "duty (pagerduty) was last notified of: ok; it has not taken the newest")
	other := s.decode(s.get("/api/v1/jobs/sync"))["notifications"].(map[string]any)
	require.Equal(t, "ok", other["condition"])
	require.Len(t, other["receivers"], 1)
}

func TestNotifierThatIsGoneIsShown(t *testing.T) {
	s := newSite(t)
	require.Contains(t, text(t, s.get("/fleet")), "No replica has reported a receiver")
	now, _, err := s.store.Time(t.Context())
	require.NoError(t, err)
	gone := newSite(t)
	gone.notify(now.Add(-time.Hour), "report")
	require.Equal(t, true, gone.decode(gone.get("/api/v1/replicas"))["notifications"].(map[string]any)["silent"])
	require.Contains(t, text(t, gone.get("/fleet")), "Nobody sends notifications: the last was worker-1, 1 h ago.")
}
