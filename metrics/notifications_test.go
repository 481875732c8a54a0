package metrics_test

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/metrics"
	"github.com/solotick/solotick/notify"
)

func TestNotificationsThatWaitAreSeen(t *testing.T) {
	c := metrics.NewNotifications(func() []notify.State {
		return []notify.State{{Receiver: "ops", Waiting: 2, Since: time.Now().Add(-time.Hour), Sent: 7, Failures: 3}, {Receiver: "own"}}
	})
	problems, err := testutil.CollectAndLint(c)
	require.NoError(t, err)
	require.Empty(t, problems)
	registry := prometheus.NewPedanticRegistry()
	require.NoError(t, registry.Register(c))
	families, err := registry.Gather()
	require.NoError(t, err)
	got := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			got[f.GetName()+" "+m.GetLabel()[0].GetValue()] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	require.InDelta(t, 3600, got["solotick_notifications_waiting_seconds ops"], 60)
	delete(got, "solotick_notifications_waiting_seconds ops")
	require.Equal(t, map[string]float64{
		"solotick_notifications_sent_total ops": 7, "solotick_notification_failures_total ops": 3, "solotick_notifications_waiting_jobs ops": 2,
		"solotick_notifications_sent_total own": 0, "solotick_notification_failures_total own": 0, "solotick_notifications_waiting_jobs own": 0,
		"solotick_notifications_waiting_seconds own": 0,
	}, got)
}
