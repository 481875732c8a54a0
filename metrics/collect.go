package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/solotick/solotick/scheduler"
)

// Source is read at the time of a scrape: a [*scheduler.Scheduler] is one.
type Source interface {
	Jobs() []scheduler.JobStatus
	Held() int
	Capacity() scheduler.Capacity
}

var _ Source = (*scheduler.Scheduler)(nil)

// Describe implements [prometheus.Collector].
func (m *Metrics) Describe(descs chan<- *prometheus.Desc) {
	for _, c := range m.own {
		c.Describe(descs)
	}
	for _, d := range []*prometheus.Desc{
		m.nextTick, m.overdue, m.lastSuccess, m.lastFailure, m.failing, m.leader, m.held, m.clockOffset, m.replicas, m.jobsUnserved, m.jobsDiffering, m.reloadGood, m.reloadTime,
		m.maxRuns, m.capacityUsed, m.capacityWaiting,
	} {
		descs <- d
	}
}

// Collect implements [prometheus.Collector].
func (m *Metrics) Collect(series chan<- prometheus.Metric) {
	m.sweep()
	for _, c := range m.own {
		c.Collect(series)
	}
	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		series <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	if offset := m.offset.Load(); offset != nil {
		gauge(m.clockOffset, offset.Seconds())
	}
	if seen := m.fleet.Load(); seen != nil {
		gauge(m.replicas, float64(seen.Replicas))
		gauge(m.jobsUnserved, float64(len(seen.Unserved)))
		gauge(m.jobsDiffering, float64(len(seen.Differ)))
	}
	if last := m.reloaded.Load(); last != nil {
		gauge(m.reloadGood, oneIf(last.good))
		if !last.at.IsZero() {
			gauge(m.reloadTime, seconds(last.at))
		}
	}
	m.mu.Lock()
	source := m.source
	m.mu.Unlock()
	if source == nil {
		return
	}
	gauge(m.held, float64(source.Held()))
	load := source.Capacity()
	gauge(m.maxRuns, float64(load.MaxRuns))
	gauge(m.capacityUsed, float64(load.Used))
	gauge(m.capacityWaiting, float64(load.Waiting))
	timestamp := func(desc *prometheus.Desc, at time.Time, job string) {
		if !at.IsZero() {
			gauge(desc, seconds(at), job)
		}
	}
	for _, job := range source.Jobs() {
		if !job.FailingSince.IsZero() {
			gauge(m.failing, m.fleetTime().Sub(job.FailingSince).Seconds(), job.Name)
		}
		if job.Leader {
			gauge(m.leader, oneIf(job.Leads), job.Name)
			continue
		}
		gauge(m.overdue, job.Overdue.Seconds(), job.Name)
		timestamp(m.nextTick, job.Next, job.Name)
		timestamp(m.lastSuccess, job.LastSuccess, job.Name)
		timestamp(m.lastFailure, job.LastFailure, job.Name)
	}
}

func oneIf(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
