package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/solotick/solotick/notify"
)

// notifications reads the states of receivers at each scrape.
type notifications struct {
	states                          func() []notify.State
	sent, failures, waiting, waited *prometheus.Desc
}

// NewNotifications makes the series of the receivers of a [notify.Notifier]: give it
// [notify.Notifier.States].
func NewNotifications(states func() []notify.State) prometheus.Collector {
	return &notifications{
		states:   states,
		sent:     described("notifications_sent_total", "Notifications that the receiver has taken from this replica.", "receiver"),
		failures: described("notification_failures_total", "Tries to notify the receiver that have failed on this replica.", "receiver"),
		waiting:  described("notifications_waiting_jobs", "Jobs with a notification that the receiver has not taken; 0 where another replica notifies.", "receiver"),
		waited:   described("notifications_waiting_seconds", "How long the oldest of them has waited; 0 when there is none.", "receiver"),
	}
}

// Describe implements [prometheus.Collector].
func (n *notifications) Describe(descs chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{n.sent, n.failures, n.waiting, n.waited} {
		descs <- d
	}
}

// Collect implements [prometheus.Collector].
func (n *notifications) Collect(series chan<- prometheus.Metric) {
	for _, s := range n.states() {
		since := 0.0
		if s.Waiting > 0 {
			since = time.Since(s.Since).Seconds()
		}
		for _, m := range []struct {
			desc  *prometheus.Desc
			kind  prometheus.ValueType
			value float64
		}{
			{n.sent, prometheus.CounterValue, float64(s.Sent)},
			{n.failures, prometheus.CounterValue, float64(s.Failures)},
			{n.waiting, prometheus.GaugeValue, float64(s.Waiting)},
			{n.waited, prometheus.GaugeValue, since},
		} {
			series <- prometheus.MustNewConstMetric(m.desc, m.kind, m.value, s.Receiver)
		}
	}
}
