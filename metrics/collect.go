package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/scheduler"
)

// Source is what is read at the time of a scrape: a [*scheduler.Scheduler] is one.
type Source interface {
	Jobs() []scheduler.JobStatus
	Held() int
}

var _ Source = (*scheduler.Scheduler)(nil)

// Watch makes the metrics read s at each scrape, and starts the series of its jobs at 0. A later call replaces the
// source of an earlier one.
func (m *Metrics) Watch(s Source) {
	for _, job := range s.Jobs() {
		for _, outcome := range outcomes {
			m.ticks.WithLabelValues(job.Name, string(outcome))
		}
		for status := lease.Granted; status <= lease.Unknown; status++ {
			m.claims.WithLabelValues(job.Name, status.String())
		}
		m.runDuration.WithLabelValues(job.Name)
		m.tickLag.WithLabelValues(job.Name)
		m.running.WithLabelValues(job.Name)
		m.retries.WithLabelValues(job.Name)
		m.takeovers.WithLabelValues(job.Name)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.source = s
}

// Describe implements [prometheus.Collector].
func (m *Metrics) Describe(descs chan<- *prometheus.Desc) {
	for _, c := range m.own {
		c.Describe(descs)
	}
	descs <- m.nextTick
	descs <- m.held
	descs <- m.clockOffset
}

// Collect implements [prometheus.Collector].
func (m *Metrics) Collect(series chan<- prometheus.Metric) {
	for _, c := range m.own {
		c.Collect(series)
	}
	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		series <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	if offset := m.offset.Load(); offset != nil {
		gauge(m.clockOffset, offset.Seconds())
	}
	m.mu.Lock()
	source := m.source
	m.mu.Unlock()
	if source == nil {
		return
	}
	gauge(m.held, float64(source.Held()))
	for _, job := range source.Jobs() {
		if !job.Next.IsZero() {
			gauge(m.nextTick, seconds(job.Next), job.Name)
		}
	}
}
