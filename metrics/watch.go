package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
)

// keepGone is how long the series of a job that was removed are still there. It is long enough to
// be scraped, and to go on where they were if it comes back.
const keepGone = 10 * time.Minute

// startedJobs is up to how many jobs all of their series start at 0, 22 for each. Of more jobs most
// start when something happens, so that a scrape of 10,000 jobs has 5 MB at most.
const startedJobs = 1000

// watchedJob is the state of a job that does not come from its events.
type watchedJob struct {
	leader  bool
	started bool // all of its series were
}

// Watch makes the metrics read s at each scrape, and starts the series of its jobs at 0, see the
// package comment. Call it again when jobs were added or removed, after scheduler.Scheduler.Update. A later call replaces
// the source of an earlier one, whose other jobs count as removed: their series end, see the
// package comment.
func (m *Metrics) Watch(s Source) {
	list := s.Jobs()
	now := time.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.source = s
	before := m.watched
	m.watched = make(map[string]watchedJob, len(list))
	for _, job := range list {
		w := watchedJob{leader: job.Leader, started: len(list) <= startedJobs}
		m.watched[job.Name] = w
		delete(m.gone, job.Name)
		if was, known := before[job.Name]; !known || was != w {
			m.start(job.Name, w)
		}
	}
	for name := range before {
		if _, there := m.watched[name]; !there {
			m.gone[name] = now
		}
	}
}

// perTick are the counters that have a series for each job and each value of another label, which
// leader tasks have not.
func (m *Metrics) perTick(f func(vec *prometheus.CounterVec, value string)) {
	for _, outcome := range outcomes {
		f(m.ticks, string(outcome))
	}
	for status := protocol.Granted; status <= protocol.OutOfBounds; status++ {
		f(m.claims, status.String())
	}
}

func (m *Metrics) start(job string, w watchedJob) {
	if !w.leader {
		m.ticks.WithLabelValues(job, string(wire.Succeeded))
		m.ticks.WithLabelValues(job, string(wire.Failed))
	}
	if !w.started {
		return
	}
	m.histogramOf(m.runDuration, job)
	m.running.WithLabelValues(job)
	m.retries.WithLabelValues(job)
	if w.leader {
		return
	}
	m.takeovers.WithLabelValues(job)
	m.histogramOf(m.tickLag, job)
	m.perTick(func(vec *prometheus.CounterVec, value string) { vec.WithLabelValues(job, value) })
}

// sweep ends the series of jobs that were removed long enough ago.
func (m *Metrics) sweep() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for job, since := range m.gone {
		if m.runs[job] > 0 || time.Since(since) < keepGone {
			continue
		}
		delete(m.gone, job)
		if m.jobHistograms {
			m.runDuration.DeleteLabelValues(job)
			m.tickLag.DeleteLabelValues(job)
		}
		m.running.DeleteLabelValues(job)
		m.retries.DeleteLabelValues(job)
		m.takeovers.DeleteLabelValues(job)
		m.perTick(func(vec *prometheus.CounterVec, value string) { vec.DeleteLabelValues(job, value) })
	}
}

// begun takes in the start of a run, and reports whether it is one of a tick: a leader task has
// none.
func (m *Metrics) begun(run jobs.Run) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.runs[run.Job]++
	m.running.WithLabelValues(run.Job).Set(float64(m.runs[run.Job]))
	return !m.watched[run.Job].leader
}

// ended takes in the end of a run. It is called last, for the series of a job that is gone end some
// time after it.
func (m *Metrics) ended(run jobs.Run, took, held time.Duration) {
	m.histogramOf(m.runDuration, run.Job).Observe(took.Seconds())
	m.leaseHold.Observe(held.Seconds())
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.runs[run.Job]--; m.runs[run.Job] <= 0 {
		delete(m.runs, run.Job)
	}
	if w, watched := m.watched[run.Job]; m.runs[run.Job] == 0 && watched && !w.started {
		m.running.DeleteLabelValues(run.Job)
	} else {
		m.running.WithLabelValues(run.Job).Set(float64(m.runs[run.Job]))
	}
	if _, gone := m.gone[run.Job]; gone {
		m.gone[run.Job] = time.Now()
	}
}
