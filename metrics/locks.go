package metrics

import (
	"context"
	"errors"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lock"
)

// The reasons of lock_failures_total and lock_release_failures_total.
const (
	failedHeld      = "held"
	failedTimeout   = "timeout"
	failedCancelled = "cancelled"
	failedClosed    = "closed"
	failedFenced    = "fenced"
	failedError     = "error"
)

var (
	lockFailures     = []string{failedHeld, failedTimeout, failedCancelled, failedClosed, failedError}
	releaseFailures  = []string{failedFenced, failedError}
	lockLostReasons  = []string{protocol.LostExpired, protocol.LostFenced, protocol.LostMaxHold}
	lockHoldBuckets  = []float64{.001, .005, .01, .05, .1, .5, 1, 5, 10, 30, 60, 300, 900, 3600}
	lockMarginBucket = []float64{.01, .05, .1, .25, .5, 1, 2.5, 5, 7.5, 10, 15, 30, 60}
)

// Locks collects what happens to the locks of one [lock.Locks]: give [Locks.Observe] to
// [lock.WithSyncObserver], and register the Locks. Elections are locks too. For two in one process
// make two, and register each with a label of its own by [prometheus.WrapRegistererWith]. It is
// safe for concurrent use.
type Locks struct {
	label func(name string) string

	acquisitions    *prometheus.CounterVec
	failures        *prometheus.CounterVec
	waits           *prometheus.CounterVec
	claimErrors     *prometheus.CounterVec
	wait            *prometheus.HistogramVec
	hold            *prometheus.HistogramVec
	lost            *prometheus.CounterVec
	takeovers       *prometheus.CounterVec
	margin          *prometheus.HistogramVec
	releaseFailures *prometheus.CounterVec
	eventsDropped   prometheus.Counter

	collectors

	started sync.Map // labels whose series are there
}

var _ prometheus.Collector = (*Locks)(nil)

// LocksOption changes a default of [NewLocks].
type LocksOption func(*Locks)

// WithLockLabel makes label say what the label lock of a lock's series is. Names of locks often
// hold keys, of which there can be any number. Let it return a few values, such as what stands
// before the first dot. It must be safe for concurrent use. Without it the label is empty, and the
// series are of all locks together.
func WithLockLabel(label func(name string) string) LocksOption {
	return func(m *Locks) { m.label = label }
}

// NewLocks returns metrics of locks that nothing has been observed for.
func NewLocks(options ...LocksOption) *Locks {
	m := &Locks{}
	m.acquisitions = m.counters("lock_acquisitions_total", "Locks that were granted.", "lock")
	m.failures = m.counters("lock_failures_total", "Locks that were asked for and not granted, by reason.", "lock", "reason")
	m.waits = m.counters("lock_waits_total", "Locks that were not free and were waited for.", "lock")
	m.claimErrors = m.counters("lock_claim_errors_total",
		"Claims that the store failed to answer while a lock was waited for; each is made again.", "lock")
	m.wait = m.histograms("lock_wait_seconds", "Time from asking for a lock until it was granted.", waitBuckets, "lock")
	m.hold = m.histograms("lock_hold_seconds", "Time for which a lock was held, until it was released or lost.", lockHoldBuckets, "lock")
	m.lost = m.counters("locks_lost_total", "Locks that were lost while they were held, by reason.", "lock", "reason")
	m.takeovers = m.counters("lock_takeovers_total",
		"Holds of others that had run out and were taken over: their holders had died or were cut off.", "lock")
	m.margin = m.histograms("lock_renewal_margin_seconds", "What was left of a lock's lease when it was renewed.", lockMarginBucket, "lock")
	m.releaseFailures = m.counters("lock_release_failures_total",
		"Locks that could not be released, by reason; they run out by themselves.", "lock", "reason")
	m.eventsDropped = m.counters("lock_events_dropped_total",
		"Events of locks that an observer lost because it was too slow or panicked.").WithLabelValues()
	for _, option := range options {
		if option != nil {
			option(m)
		}
	}
	if m.label == nil {
		m.label = func(string) string { return "" }
		m.start("")
	}
	return m
}

// start lets the series of a label begin at 0, so that the first increase is seen.
func (m *Locks) start(label string) {
	if _, there := m.started.LoadOrStore(label, nil); there {
		return
	}
	for _, c := range []*prometheus.CounterVec{m.acquisitions, m.waits, m.claimErrors, m.takeovers} {
		c.WithLabelValues(label)
	}
	for _, h := range []*prometheus.HistogramVec{m.wait, m.hold, m.margin} {
		h.WithLabelValues(label)
	}
	for _, reason := range lockFailures {
		m.failures.WithLabelValues(label, reason)
	}
	for _, reason := range lockLostReasons {
		m.lost.WithLabelValues(label, reason)
	}
	for _, reason := range releaseFailures {
		m.releaseFailures.WithLabelValues(label, reason)
	}
}

// labelOf is the label of a name, whose series are there then.
func (m *Locks) labelOf(name string) string {
	label := m.label(name)
	m.start(label)
	return label
}

// Observe takes in one event. It is for [lock.WithSyncObserver].
func (m *Locks) Observe(e lock.Event) {
	switch e := e.(type) {
	case lock.Waiting:
		m.waits.WithLabelValues(m.labelOf(e.Name)).Inc()
	case lock.EventsDropped:
		m.eventsDropped.Add(float64(e.Count))
	case lock.ClaimFailed:
		m.claimErrors.WithLabelValues(m.labelOf(e.Name)).Inc()
	case lock.Granted:
		label := m.labelOf(e.Name)
		m.acquisitions.WithLabelValues(label).Inc()
		m.wait.WithLabelValues(label).Observe(e.Waited.Seconds())
		m.takeovers.WithLabelValues(label).Add(float64(len(e.TakenOver)))
	case lock.GaveUp:
		m.failures.WithLabelValues(m.labelOf(e.Name), lockFailure(e.Err)).Inc()
	case lock.Renewed:
		m.margin.WithLabelValues(m.labelOf(e.Name)).Observe(max(e.Remaining, 0).Seconds())
	case lock.Lost:
		label := m.labelOf(e.Name)
		m.lost.WithLabelValues(label, e.Err.Reason).Inc()
		m.hold.WithLabelValues(label).Observe(e.Held.Seconds())
	case lock.Released:
		label := m.labelOf(e.Name)
		m.hold.WithLabelValues(label).Observe(e.Held.Seconds())
		switch {
		case errors.Is(e.Err, protocol.ErrFenced):
			m.releaseFailures.WithLabelValues(label, failedFenced).Inc()
		case e.Err != nil:
			m.releaseFailures.WithLabelValues(label, failedError).Inc()
		}
	}
}

// lockFailure is why a lock was not granted. An error that says that the context ended also says
// who held the lock then, so that comes first.
func lockFailure(err error) string {
	switch {
	case errors.Is(err, lock.ErrClosed):
		return failedClosed
	case errors.Is(err, context.Canceled):
		return failedCancelled
	case errors.Is(err, context.DeadlineExceeded):
		return failedTimeout
	case errors.Is(err, lease.ErrHeld):
		return failedHeld
	default:
		return failedError
	}
}
