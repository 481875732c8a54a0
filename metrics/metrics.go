package metrics

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const namespace = "solotick"

// Metrics collects what one scheduler does: give [Metrics.Observe] to scheduler.WithObserver, the scheduler to
// [Metrics.Watch], and register the Metrics. For two schedulers in one process make two, and register each with a
// label of its own by [prometheus.WrapRegistererWith]. It is safe for concurrent use.
type Metrics struct {
	ticks       *prometheus.CounterVec
	claims      *prometheus.CounterVec
	runDuration *prometheus.HistogramVec
	tickLag     *prometheus.HistogramVec
	running     *prometheus.GaugeVec
	retries     *prometheus.CounterVec
	takeovers   *prometheus.CounterVec
	lastSuccess *prometheus.GaugeVec

	leaseWait prometheus.Histogram
	leaseHold prometheus.Histogram
	renewals  *prometheus.CounterVec
	lost      *prometheus.CounterVec

	redisCommands  prometheus.Counter
	storeUp        prometheus.Gauge
	storeForgotten prometheus.Counter
	build          *prometheus.GaugeVec

	own []prometheus.Collector // all of the above

	// What is read at the time of the scrape.
	nextTick, held, clockOffset *prometheus.Desc
	offset                      atomic.Pointer[time.Duration] // nil before the first sample

	mu     sync.Mutex
	source Source
}

var _ prometheus.Collector = (*Metrics)(nil)

// Option changes a default of [New].
type Option func(*Metrics)

// WithVersion adds build_info, with the version of the program.
func WithVersion(version string) Option {
	return func(m *Metrics) { m.build.WithLabelValues(version).Set(1) }
}

// Buckets, in seconds.
var (
	runBuckets  = []float64{.01, .1, .5, 1, 5, 10, 30, 60, 300, 900, 3600}
	lagBuckets  = []float64{.005, .01, .025, .05, .1, .25, .5, 1, 5, 30, 300}
	waitBuckets = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 5, 30, 300}
)

// New returns metrics that nothing has been observed for.
func New(options ...Option) *Metrics {
	m := &Metrics{
		nextTick: prometheus.NewDesc(namespace+"_next_tick_timestamp_seconds",
			"Scheduled time of the job's next tick that is not decided, in Unix time.", []string{"job"}, nil),
		held: prometheus.NewDesc(namespace+"_leases_held", "Leases that this replica holds.", nil, nil),
		clockOffset: prometheus.NewDesc(namespace+"_clock_offset_seconds",
			"Fleet time minus this machine's wall clock.", nil, nil),
	}
	m.ticks = counters(m, "ticks_total", "Ticks that this replica settled, by outcome.", "job", "outcome")
	m.claims = counters(m, "claims_total", "Answers to this replica's claims, by result.", "job", "result")
	m.runDuration = own(m, prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Namespace: namespace, Name: "run_duration_seconds", Buckets: runBuckets,
		Help: "Duration of runs, all attempts of one holder, however they ended.",
	}, []string{"job"}))
	m.tickLag = own(m, prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Namespace: namespace, Name: "tick_lag_seconds", Buckets: lagBuckets,
		Help: "Time from a tick's scheduled time to the start of its run, by fleet time.",
	}, []string{"job"}))
	m.running = gauges(m, "runs_in_progress", "Runs in progress on this replica.", "job")
	m.retries = counters(m, "run_retries_total", "Attempts that failed and were followed by another.", "job")
	m.takeovers = counters(m, "takeovers_total", "Runs of ticks that another holder had begun and not settled.", "job")
	m.lastSuccess = gauges(m, "last_success_timestamp_seconds",
		"When this replica last settled a tick of the job as succeeded, in Unix time.", "job")
	m.leaseWait = own(m, prometheus.NewHistogram(prometheus.HistogramOpts{
		Namespace: namespace, Name: "lease_wait_seconds", Buckets: waitBuckets,
		Help: "Time from a claim to its final answer.",
	}))
	m.leaseHold = own(m, prometheus.NewHistogram(prometheus.HistogramOpts{
		Namespace: namespace, Name: "lease_hold_seconds", Buckets: runBuckets,
		Help: "Time from the start of a run until its lease was given up.",
	}))
	m.renewals = counters(m, "lease_renewals_total", "Leases that were to be renewed, by result.", "result")
	m.lost = counters(m, "leases_lost_total", "Runs that ended without their holder deciding about the tick, by reason.", "reason")
	m.redisCommands = own(m, prometheus.NewCounter(prometheus.CounterOpts{
		Namespace: namespace, Name: "redis_commands_total", Help: "Commands that were sent to Redis.",
	}))
	m.storeUp = own(m, prometheus.NewGauge(prometheus.GaugeOpts{
		Namespace: namespace, Name: "store_up", Help: "1 while the store answers, else 0.",
	}))
	m.storeForgotten = own(m, prometheus.NewCounter(prometheus.CounterOpts{
		Namespace: namespace, Name: "store_forgotten_total", Help: "Times that the store had lost its records.",
	}))
	m.build = gauges(m, "build_info", "1, labelled with the version of the program.", "version")

	for _, result := range renewalResults {
		m.renewals.WithLabelValues(result)
	}
	for _, reason := range lostReasons {
		m.lost.WithLabelValues(reason)
	}
	for _, option := range options {
		option(m)
	}
	return m
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

// CountRedisCommands adds n commands that were sent to Redis: whoever makes the store's client sees them.
func (m *Metrics) CountRedisCommands(n int) { m.redisCommands.Add(float64(n)) }
