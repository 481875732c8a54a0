package notify

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/notified"
	"github.com/solotick/solotick/internal/protocol"
)

func TestStoreKeepsWhatWasSent(t *testing.T) {
	inWorld(t, func(w *world) {
		w.job("a")
		w.replica()
		receivers := to("x", "away")
		receivers[0].Conditions = []Condition{Failed}
		w.answers("away", func(*http.Request, string) (*http.Response, error) { return status(http.StatusBadGateway), nil })
		_, stop := w.start(w.store, receivers)
		w.minute("a")
		w.minute() // nothing is sent to x: it does not want OK
		w.minute("a")
		time.Sleep(saveInterval)
		stop()

		head, _, err := notified.ReadHead(w.Context(), w.store)
		require.NoError(w, err)
		require.Equal(w, "r", head.By)
		require.Equal(w, notified.Waiting{Jobs: 1, Names: []string{"a"}, Since: head.Waiting["away"].Since, Error: head.Waiting["away"].Error}, head.Waiting["away"])
		require.Contains(w, head.Waiting["away"].Error, "502")
		x := head.Receivers["x"]
		require.Equal(w, "webhook", x.Kind)
		require.Equal(w, []string{"failed"}, x.Conditions)
		require.Equal(w, "a", x.Last.Job)
		require.Nil(w, head.Receivers["away"].Last)

		job, err := notified.ReadJob(w.Context(), w.store, "a")
		require.NoError(w, err)
		require.Equal(w, "failed", job.Receivers["x"].Outcome)
		sent := job.Receivers["x"].Sent
		require.Len(w, sent, 2)
		require.Greater(w, sent[0].At, sent[1].At, "newest first")
		require.Equal(w, notified.Sent{Condition: "failed", Was: "ok", Tick: sent[0].Tick, At: sent[0].At}, sent[0])
		require.Empty(w, job.Receivers["away"].Sent)

		whole, err := w.store.Progress(w.Context(), []string{"", "a"})
		require.NoError(w, err)
		require.NotContains(w, string(whole[0].Data)+string(whole[1].Data), "hunter2")

		// Who takes over knows what was sent before.
		w.start(w.store, receivers)
		time.Sleep(saveInterval)
		next, _, err := notified.ReadHead(w.Context(), w.store)
		require.NoError(w, err)
		require.Equal(w, x, next.Receivers["x"])
	})
}

func TestProgressIsWithinItsLimit(t *testing.T) {
	long := strings.Repeat("x", 128)
	job := notified.Job{Receivers: map[string]notified.Reached{}}
	head := notified.Head{Receivers: map[string]notified.Receiver{}}
	for i := range maxReceivers {
		name := long[:126] + string(rune('a'+i/26)) + string(rune('a'+i%26))
		r := notified.Reached{Outcome: "missed", Settled: 1 << 50, Tick: 1 << 40, Overdue: new(int64(1 << 40)), Unserved: new(int64(1 << 40))}
		for range notified.MaxSent {
			r.Sent = append(r.Sent, notified.Sent{Condition: "unserved", Was: "overdue", Tick: 1 << 40, At: 1 << 40})
		}
		job.Receivers[name] = r
		head.Receivers[name] = notified.Receiver{Kind: "pagerduty", Jobs: []string{long, long, long, long}}
	}
	data, err := job.Encode()
	require.NoError(t, err)
	require.LessOrEqual(t, len(data), protocol.MaxProgress)
	var read notified.Job
	require.NoError(t, json.Unmarshal(data, &read))
	require.Len(t, read.Receivers, maxReceivers, "how far each is")
	data, err = head.Encode()
	require.NoError(t, err)
	require.LessOrEqual(t, len(data), protocol.MaxProgress)
}
