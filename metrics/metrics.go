package metrics

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/solotick/solotick/scheduler"
)

const namespace = "solotick"

// Metrics collects what one scheduler does: give [Metrics.Observe] to scheduler.WithSyncObserver,
// the scheduler to [Metrics.Watch], and register the Metrics. For two schedulers in one process
// make two, and register each with a label of its own by [prometheus.WrapRegistererWith]. It is
// safe for concurrent use.
type Metrics struct {
	ticks       *prometheus.CounterVec
	misfires    *prometheus.CounterVec
	claims      *prometheus.CounterVec
	runDuration *prometheus.HistogramVec
	tickLag     *prometheus.HistogramVec
	running     *prometheus.GaugeVec
	retries     *prometheus.CounterVec
	takeovers   *prometheus.CounterVec

	leaseWait prometheus.Histogram
	leaseHold prometheus.Histogram
	margin    prometheus.Histogram
	renewals  *prometheus.CounterVec
	lost      *prometheus.CounterVec

	redisCommands   prometheus.Counter
	storeOverloaded prometheus.Gauge
	storeUp         prometheus.Gauge
	storeForgotten  prometheus.Counter
	behind          prometheus.Counter
	unreadable      prometheus.Counter
	eventsDropped   prometheus.Counter
	clockSteps      prometheus.Counter
	clockTrusted    prometheus.Gauge
	processes       prometheus.Gauge
	capacityReached prometheus.Gauge
	reloads         *prometheus.CounterVec
	build           *prometheus.GaugeVec

	own []prometheus.Collector // all of the above

	// These are read at the time of the scrape.
	nextTick, overdue                      *prometheus.Desc
	lastSuccess, lastFailure, failing      *prometheus.Desc
	leader, held, clockOffset              *prometheus.Desc
	replicas, jobsUnserved, jobsDiffering  *prometheus.Desc
	reloadGood, reloadTime                 *prometheus.Desc
	maxRuns, capacityUsed, capacityWaiting *prometheus.Desc
	offset                                 atomic.Pointer[time.Duration]       // nil before the first sample
	fleet                                  atomic.Pointer[scheduler.FleetSeen] // nil before the first look
	reloaded                               atomic.Pointer[reload]              // nil before the first reload

	version       string
	jobHistograms bool

	mu      sync.Mutex
	source  Source
	watched map[string]watchedJob
	gone    map[string]time.Time // jobs that are watched no more: since when nothing has happened to them
	runs    map[string]int       // in progress
}

var _ prometheus.Collector = (*Metrics)(nil)

// Option changes a default of [New].
type Option func(*Metrics)

// WithVersion adds build_info, with the version of the program.
func WithVersion(version string) Option { return func(m *Metrics) { m.version = version } }

// WithJobHistograms gives run_duration_seconds and tick_lag_seconds the label job: up to 28 series
// for each job. Without it each is one histogram of all jobs.
func WithJobHistograms() Option { return func(m *Metrics) { m.jobHistograms = true } }

// Buckets, in seconds.
var (
	runBuckets = []float64{.01, .1, .5, 1, 5, 10, 30, 60, 300, 900, 3600}
	lagBuckets = []float64{.005, .01, .025, .05, .1, .25, .5, 1, 5, 30, 300}
	// They are a 60th, a 30th, a 15th, a fifth, a third, half, two thirds and all of the default
	// TTL of 15 s. The others are for longer TTLs.
	marginBuckets = []float64{.1, .25, .5, 1, 3, 5, 7.5, 10, 15, 30, 60}
	waitBuckets   = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 5, 30, 300}
)

// New returns metrics that nothing has been observed for. A nil option changes nothing.
func New(options ...Option) *Metrics {
	m := &Metrics{
		nextTick: described("next_tick_timestamp_seconds",
			"Scheduled time of the job's next tick that is not decided, in Unix time.", "job"),
		overdue: described("job_overdue_seconds",
			"Time since a tick of the job had to have begun at the latest, which neither runs nor is settled; else 0.", "job"),
		lastSuccess: described("last_success_timestamp_seconds",
			"When a tick of the job last succeeded, as far as this replica knows, in Unix time.", "job"),
		lastFailure: described("last_failure_timestamp_seconds",
			"When a tick of the job last failed, as far as this replica knows, in Unix time.", "job"),
		failing: described("run_failing_seconds",
			"Time since when the attempts of a run by this replica have failed, two or more in a row.", "job"),
		leader:        described("leader", "1 while this replica runs the leader task, else 0.", "job"),
		held:          described("leases_held", "Leases that this replica holds."),
		clockOffset:   described("clock_offset_seconds", "Fleet time minus this machine's wall clock."),
		replicas:      described("replicas", "Replicas of the fleet that live, this one included."),
		jobsUnserved:  described("jobs_unserved", "Jobs of this replica's configuration that no live replica serves."),
		jobsDiffering: described("jobs_differing", "Jobs of this replica's configuration that other replicas define differently."),
		reloadGood: described("config_last_reload_successful",
			"1 unless the configuration was refused when it was last read; 0 means that an older one is in force."),
		reloadTime: described("config_last_reload_timestamp_seconds",
			"When the configuration was last read and not refused, in Unix time."),
		maxRuns:         described("max_runs", "The weight of jobs that this replica runs at a time; 0 is no limit."),
		capacityUsed:    described("capacity_used", "The weight of the jobs that this replica runs."),
		capacityWaiting: described("capacity_waiting_jobs", "Jobs with a tick that is due and that this replica has no room for."),
		watched:         map[string]watchedJob{}, gone: map[string]time.Time{}, runs: map[string]int{},
	}
	for _, option := range options {
		if option != nil {
			option(m)
		}
	}
	var byJob []string
	if m.jobHistograms {
		byJob = []string{"job"}
	}
	m.ticks = counters(m, "ticks_total", "Ticks that this replica settled, by outcome.", "job", "outcome")
	m.misfires = counters(m, "misfires_total", "Ticks that this replica settled as missed, by reason.", "reason")
	m.claims = counters(m, "claims_total", "Answers to this replica's claims, by result.", "job", "result")
	m.runDuration = own(m, prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Namespace: namespace, Name: "run_duration_seconds", Buckets: runBuckets,
		Help: "Duration of runs, all attempts of one holder, however they ended.",
	}, byJob))
	m.tickLag = own(m, prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Namespace: namespace, Name: "tick_lag_seconds", Buckets: lagBuckets,
		Help: "Time from a tick's scheduled time to the start of its run, by fleet time.",
	}, byJob))
	m.running = gauges(m, "runs_in_progress", "Runs in progress on this replica.", "job")
	m.retries = counters(m, "run_retries_total", "Attempts that failed and were followed by another.", "job")
	m.takeovers = counters(m, "takeovers_total", "Runs of ticks that another holder had begun and not settled.", "job")
	m.leaseWait = own(m, prometheus.NewHistogram(prometheus.HistogramOpts{
		Namespace: namespace, Name: "lease_wait_seconds", Buckets: waitBuckets,
		Help: "Time from a claim to its final answer.",
	}))
	m.leaseHold = own(m, prometheus.NewHistogram(prometheus.HistogramOpts{
		Namespace: namespace, Name: "lease_hold_seconds", Buckets: runBuckets,
		Help: "Time from the start of a run until its lease was given up.",
	}))
	m.margin = own(m, prometheus.NewHistogram(prometheus.HistogramOpts{
		Namespace: namespace, Name: "lease_margin_seconds", Buckets: marginBuckets,
		NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 100, NativeHistogramMinResetDuration: time.Hour,
		Help: "What was left of a lease until its deadline when its renewal was answered.",
	}))
	m.renewals = counters(m, "lease_renewals_total", "Leases that were to be renewed, by result.", "result")
	m.lost = counters(m, "leases_lost_total", "Runs that ended without their holder deciding about the tick, by reason.", "reason")
	m.redisCommands = own(m, prometheus.NewCounter(prometheus.CounterOpts{
		Namespace: namespace, Name: "redis_commands_total", Help: "Commands that were sent to Redis.",
	}))
	m.storeUp = own(m, prometheus.NewGauge(prometheus.GaugeOpts{
		Namespace: namespace, Name: "store_up", Help: "1 while the store answers and takes writes, else 0.",
	}))
	m.storeForgotten = own(m, prometheus.NewCounter(prometheus.CounterOpts{
		Namespace: namespace, Name: "store_forgotten_total", Help: "Times that the store had lost its records.",
	}))
	m.behind = own(m, prometheus.NewCounter(prometheus.CounterOpts{
		Namespace: namespace, Name: "records_behind_total",
		Help: "Times that the store had lost what it knew of a job, though not of all.",
	}))
	m.unreadable = own(m, prometheus.NewCounter(prometheus.CounterOpts{
		Namespace: namespace, Name: "records_unreadable_total",
		Help: "Times, at most one a minute, that the store held something else where a record belongs.",
	}))
	m.eventsDropped = own(m, prometheus.NewCounter(prometheus.CounterOpts{
		Namespace: namespace, Name: "events_dropped_total",
		Help: "Events that an observer, such as the log, lost because it was too slow or panicked.",
	}))
	m.clockSteps = own(m, prometheus.NewCounter(prometheus.CounterOpts{
		Namespace: namespace, Name: "clock_steps_total", Help: "Times that the store's clock stepped by more than the TTL and 5 seconds.",
	}))
	m.clockTrusted = own(m, prometheus.NewGauge(prometheus.GaugeOpts{
		Namespace: namespace, Name: "clock_trusted", Help: "0 while nothing is claimed because the store's clock is not trusted, else 1.",
	}))
	m.clockTrusted.Set(1)
	m.processes = own(m, prometheus.NewGauge(prometheus.GaugeOpts{
		Namespace: namespace, Name: "replica_processes", Help: "Processes that use this replica's id: more than one is a mistake.",
	}))
	m.processes.Set(1)
	m.capacityReached = own(m, prometheus.NewGauge(prometheus.GaugeOpts{
		Namespace: namespace, Name: "capacity_reached", Help: "1 while ticks have to wait for room on this replica, and for 10 seconds after that, else 0.",
	}))
	m.storeOverloaded = own(m, prometheus.NewGauge(prometheus.GaugeOpts{
		Namespace: namespace, Name: "store_overloaded", Help: "1 while claims wait because the store is slower than they come, and for 10 seconds after that, else 0.",
	}))
	m.reloads = counters(m, "config_reloads_total", "Times that the configuration was read again, by result.", "result")
	m.build = gauges(m, "build_info", "1, labelled with the version of the program.", "version")

	for _, result := range renewalResults {
		m.renewals.WithLabelValues(result)
	}
	for _, reason := range misfireReasons {
		m.misfires.WithLabelValues(reason)
	}
	for _, reason := range lostReasons {
		m.lost.WithLabelValues(reason)
	}
	for _, result := range reloadResults {
		m.reloads.WithLabelValues(result)
	}
	if m.version != "" {
		m.build.WithLabelValues(m.version).Set(1)
	}
	if !m.jobHistograms {
		m.runDuration.WithLabelValues()
		m.tickLag.WithLabelValues()
	}
	return m
}

// histogramOf returns the histogram for the runs of a job.
func (m *Metrics) histogramOf(vec *prometheus.HistogramVec, job string) prometheus.Observer {
	if m.jobHistograms {
		return vec.WithLabelValues(job)
	}
	return vec.WithLabelValues()
}

func described(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(namespace+"_"+name, help, labels, nil)
}

func own[C prometheus.Collector](m *Metrics, c C) C {
	m.own = append(m.own, c)
	return c
}

func counters(m *Metrics, name, help string, labels ...string) *prometheus.CounterVec {
	return own(m, prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels))
}

func gauges(m *Metrics, name, help string, labels ...string) *prometheus.GaugeVec {
	return own(m, prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help}, labels))
}

// CountRedisCommands adds n commands that were sent to Redis. The caller that makes the store's
// client sees them.
func (m *Metrics) CountRedisCommands(n int) { m.redisCommands.Add(float64(n)) }
