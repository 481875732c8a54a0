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

	leaseWait prometheus.Observer
	leaseHold prometheus.Observer
	margin    prometheus.Observer
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

	own collectors // all of the above

	// These are read at the time of the scrape.
	offset   atomic.Pointer[time.Duration]       // nil before the first sample
	fleet    atomic.Pointer[scheduler.FleetSeen] // nil before the first look
	reloaded atomic.Pointer[reload]              // nil before the first reload

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
	m := &Metrics{watched: map[string]watchedJob{}, gone: map[string]time.Time{}, runs: map[string]int{}}
	for _, option := range options {
		if option != nil {
			option(m)
		}
	}
	var byJob []string
	if m.jobHistograms {
		byJob = []string{"job"}
	}
	m.ticks = m.own.counters("ticks_total", "Ticks that this replica settled, by outcome.", "job", "outcome")
	m.misfires = m.own.counters("misfires_total", "Ticks that this replica settled as missed, by reason.", "reason")
	m.claims = m.own.counters("claims_total", "Answers to this replica's claims, by result.", "job", "result")
	m.runDuration = m.own.histograms("run_duration_seconds",
		"Duration of runs, all attempts of one holder, however they ended.", runBuckets, byJob...)
	m.tickLag = m.own.histograms("tick_lag_seconds",
		"Time from a tick's scheduled time to the start of its run, by fleet time.", lagBuckets, byJob...)
	m.running = m.own.gauges("runs_in_progress", "Runs in progress on this replica.", "job")
	m.retries = m.own.counters("run_retries_total", "Attempts that failed and were followed by another.", "job")
	m.takeovers = m.own.counters("takeovers_total", "Runs of ticks that another holder had begun and not settled.", "job")
	m.leaseWait = m.own.histograms("lease_wait_seconds",
		"Time from a claim to its final answer.", waitBuckets).WithLabelValues()
	m.leaseHold = m.own.histograms("lease_hold_seconds",
		"Time from the start of a run until its lease was given up.", runBuckets).WithLabelValues()
	margin := prometheus.NewHistogram(prometheus.HistogramOpts{
		Namespace: namespace, Name: "lease_margin_seconds", Buckets: marginBuckets,
		NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 100, NativeHistogramMinResetDuration: time.Hour,
		Help: "What was left of a lease until its deadline when its renewal was answered.",
	})
	m.margin, m.own = margin, append(m.own, margin)
	m.renewals = m.own.counters("lease_renewals_total", "Leases that were to be renewed, by result.", "result")
	m.lost = m.own.counters("leases_lost_total", "Runs that ended without their holder deciding about the tick, by reason.", "reason")
	m.redisCommands = m.own.counters("redis_commands_total",
		"Commands that were sent to Redis.").WithLabelValues()
	m.storeUp = m.own.gauges("store_up",
		"1 while the store answers and takes writes, else 0.").WithLabelValues()
	m.storeForgotten = m.own.counters("store_forgotten_total",
		"Times that the store had lost its records.").WithLabelValues()
	m.behind = m.own.counters("records_behind_total",
		"Times that the store had lost what it knew of a job, though not of all.").WithLabelValues()
	m.unreadable = m.own.counters("records_unreadable_total",
		"Times, at most one a minute, that the store held something else where a record belongs.").WithLabelValues()
	m.eventsDropped = m.own.counters("events_dropped_total",
		"Events that an observer, such as the log, lost because it was too slow or panicked.").WithLabelValues()
	m.clockSteps = m.own.counters("clock_steps_total",
		"Times that the store's clock stepped by more than the TTL and 5 seconds.").WithLabelValues()
	m.clockTrusted = m.own.gauges("clock_trusted",
		"0 while nothing is claimed because the store's clock is not trusted, else 1.").WithLabelValues()
	m.clockTrusted.Set(1)
	m.processes = m.own.gauges("replica_processes",
		"Processes that use this replica's id: more than one is a mistake.").WithLabelValues()
	m.processes.Set(1)
	m.capacityReached = m.own.gauges("capacity_reached",
		"1 while ticks have to wait for room on this replica, and for 10 seconds after that, else 0.").WithLabelValues()
	m.storeOverloaded = m.own.gauges("store_overloaded",
		"1 while claims wait because the store is slower than they come, and for 10 seconds after that, else 0.").WithLabelValues()
	m.reloads = m.own.counters("config_reloads_total", "Times that the configuration was read again, by result.", "result")
	m.build = m.own.gauges("build_info", "1, labelled with the version of the program.", "version")

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

// CountRedisCommands adds n commands that were sent to Redis. The caller that makes the store's
// client sees them.
func (m *Metrics) CountRedisCommands(n int) { m.redisCommands.Add(float64(n)) }
