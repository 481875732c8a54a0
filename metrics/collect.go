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

// scraped are the gauges that are read at the time of a scrape, by their names.
var scraped = func() map[string]*prometheus.Desc {
	list := map[string]*prometheus.Desc{}
	for name, help := range map[string]string{
		"leases_held":                          "Leases that this replica holds.",
		"clock_offset_seconds":                 "Fleet time minus this machine's wall clock.",
		"replicas":                             "Replicas of the fleet that live, this one included.",
		"jobs_unserved":                        "Jobs of this replica's configuration that no live replica serves.",
		"jobs_differing":                       "Jobs of this replica's configuration that other replicas define differently.",
		"config_last_reload_successful":        "1 unless the configuration was refused when it was last read; 0 means that an older one is in force.",
		"config_last_reload_timestamp_seconds": "When the configuration was last read and not refused, in Unix time.",
		"max_runs":                             "The weight of jobs that this replica runs at a time; 0 is no limit.",
		"capacity_used":                        "The weight of the jobs that this replica runs.",
		"capacity_waiting_jobs":                "Jobs with a tick that is due and that this replica has no room for.",
	} {
		list[name] = described(name, help)
	}
	for name, help := range map[string]string{
		"next_tick_timestamp_seconds":    "Scheduled time of the job's next tick that is not decided, in Unix time.",
		"job_overdue_seconds":            "Time since a tick of the job had to have begun at the latest, which neither runs nor is settled; else 0.",
		"last_success_timestamp_seconds": "When a tick of the job last succeeded, as far as this replica knows, in Unix time.",
		"last_failure_timestamp_seconds": "When a tick of the job last failed, as far as this replica knows, in Unix time.",
		"run_failing_seconds":            "Time since when the attempts of a run by this replica have failed, two or more in a row.",
		"leader":                         "1 while this replica runs the leader task, else 0.",
	} {
		list[name] = described(name, help, "job")
	}
	return list
}()

func described(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(namespace+"_"+name, help, labels, nil)
}

// Describe implements [prometheus.Collector].
func (m *Metrics) Describe(descs chan<- *prometheus.Desc) {
	m.own.Describe(descs)
	for _, d := range scraped {
		descs <- d
	}
}

// Collect implements [prometheus.Collector].
func (m *Metrics) Collect(series chan<- prometheus.Metric) {
	m.sweep()
	m.own.Collect(series)
	gauge := func(name string, value float64, labels ...string) {
		series <- prometheus.MustNewConstMetric(scraped[name], prometheus.GaugeValue, value, labels...)
	}
	if offset := m.offset.Load(); offset != nil {
		gauge("clock_offset_seconds", offset.Seconds())
	}
	if seen := m.fleet.Load(); seen != nil {
		gauge("replicas", float64(seen.Replicas))
		gauge("jobs_unserved", float64(len(seen.Unserved)))
		gauge("jobs_differing", float64(len(seen.Differ)))
	}
	if last := m.reloaded.Load(); last != nil {
		gauge("config_last_reload_successful", oneIf(last.good))
		if !last.at.IsZero() {
			gauge("config_last_reload_timestamp_seconds", seconds(last.at))
		}
	}
	m.mu.Lock()
	source := m.source
	m.mu.Unlock()
	if source == nil {
		return
	}
	gauge("leases_held", float64(source.Held()))
	load := source.Capacity()
	gauge("max_runs", float64(load.MaxRuns))
	gauge("capacity_used", float64(load.Used))
	gauge("capacity_waiting_jobs", float64(load.Waiting))
	timestamp := func(name string, at time.Time, job string) {
		if !at.IsZero() {
			gauge(name, seconds(at), job)
		}
	}
	for _, job := range source.Jobs() {
		if !job.FailingSince.IsZero() {
			gauge("run_failing_seconds", m.fleetTime().Sub(job.FailingSince).Seconds(), job.Name)
		}
		if job.Leader {
			gauge("leader", oneIf(job.Leads), job.Name)
			continue
		}
		gauge("job_overdue_seconds", job.Overdue.Seconds(), job.Name)
		timestamp("next_tick_timestamp_seconds", job.Next, job.Name)
		timestamp("last_success_timestamp_seconds", job.LastSuccess, job.Name)
		timestamp("last_failure_timestamp_seconds", job.LastFailure, job.Name)
	}
}

func oneIf(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
