package metrics

import (
	"errors"
	"time"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/scheduler"
)

const (
	renewalKept      = "kept"
	renewalFenced    = "fenced"
	renewalReplaced  = "replaced"
	renewalCancelled = "cancelled"
	renewalFailed    = "failed"
	renewalExpired   = "expired"

	lostUnsettled = "unsettled" // the store did not take the run's outcome, so another may run the tick
)

var (
	renewalResults = []string{renewalKept, renewalFenced, renewalReplaced, renewalCancelled, renewalFailed, renewalExpired}
	lostReasons    = []string{protocol.LostExpired, protocol.LostFenced, lostUnsettled}
	misfireReasons = []string{
		wire.ReasonMisfire, wire.ReasonCapacity, wire.ReasonOverload, wire.ReasonTooOld, wire.ReasonTooMany, wire.ReasonForgotten,
		wire.ReasonPast, wire.ReasonEdited,
	}
	outcomes = []protocol.Outcome{
		wire.Succeeded, wire.Failed, wire.Skipped, wire.Missed, wire.Lost, wire.Replaced,
		wire.Cancelled,
	}
)

// Observe takes in one event. It is a [func(scheduler.Event)] that never blocks: give it to
// [scheduler.WithSyncObserver], so that nothing is lost.
func (m *Metrics) Observe(e scheduler.Event) {
	switch e := e.(type) {
	case scheduler.Claimed:
		m.claims.WithLabelValues(e.Job, e.Status.String()).Inc()
		if e.Status != protocol.Busy { // the claim goes on to wait for its turn
			m.leaseWait.Observe(e.Took.Seconds())
		}
	case scheduler.RunStarted:
		if m.begun(e.Run) {
			m.histogramOf(m.tickLag, e.Run.Job).Observe(max(e.Lag, 0).Seconds()) // fleet time is an estimate
		}
		if e.Run.Attempt > 1 { // a holder's own retries do not start a run
			m.takeovers.WithLabelValues(e.Run.Job).Inc()
		}
	case scheduler.RunRetried:
		m.retries.WithLabelValues(e.Run.Job).Inc()
	case scheduler.RunSettled:
		m.ticks.WithLabelValues(e.Run.Job, string(e.Outcome)).Inc()
		m.ended(e.Run, e.Took, e.Held)
	case scheduler.RunLost:
		m.ended(e.Run, e.Took, e.Held)
		m.lost.WithLabelValues(lostReason(e.Cause)).Inc()
	case scheduler.RunReleased:
		m.ended(e.Run, e.Took, e.Held)
	case scheduler.TicksSkipped:
		m.ticks.WithLabelValues(e.Job, string(e.Outcome)).Add(float64(e.Count))
		if e.Outcome == wire.Missed {
			m.misfires.WithLabelValues(e.Reason).Add(float64(e.Count))
		}
	case scheduler.Renewed:
		m.renewals.WithLabelValues(renewalKept).Add(float64(e.Kept))
		m.renewals.WithLabelValues(renewalFenced).Add(float64(e.Fenced))
		m.renewals.WithLabelValues(renewalReplaced).Add(float64(e.Replaced))
		m.renewals.WithLabelValues(renewalCancelled).Add(float64(e.Cancelled))
		m.renewals.WithLabelValues(renewalFailed).Add(float64(e.Failed))
		m.renewals.WithLabelValues(renewalExpired).Add(float64(len(e.Expired)))
		for _, margin := range e.Margins {
			m.margin.Observe(margin.Seconds())
		}
	case scheduler.CapacityChanged:
		m.capacityReached.Set(oneIf(e.Full))
	case scheduler.StoreLoadChanged:
		m.storeOverloaded.Set(oneIf(e.Overloaded))
	case scheduler.StoreChanged:
		m.storeUp.Set(oneIf(e.Up))
	case scheduler.RecordUnreadable:
		m.unreadable.Inc()
	case scheduler.RecordsLost:
		if e.Job == "" {
			m.storeForgotten.Inc()
		} else {
			m.behind.Inc()
		}
	case scheduler.EventsDropped:
		m.eventsDropped.Add(float64(e.Count))
	case scheduler.ClockChanged:
		m.clockTrusted.Set(oneIf(e.Trusted))
		if !e.Trusted && !e.Start {
			m.clockSteps.Inc()
		}
	case scheduler.ClockSampled:
		m.offset.Store(&e.Offset)
	case scheduler.ReplicaShared:
		m.processes.Set(float64(e.Processes))
	case scheduler.FleetSeen:
		m.fleet.Store(&e)
	}
}

func lostReason(why error) string {
	if lost, ok := errors.AsType[*lease.LostError](why); ok {
		return lost.Reason
	}
	switch {
	case errors.Is(why, protocol.ErrFenced):
		return protocol.LostFenced
	case errors.Is(why, jobs.ErrLeaseEnding): // the handler has only been quicker than the lease
		return protocol.LostExpired
	default:
		return lostUnsettled
	}
}

// fleetTime is the time to compare with Prometheus's own clock: this machine's clock may be wrong.
func (m *Metrics) fleetTime() time.Time {
	if offset := m.offset.Load(); offset != nil {
		return time.Now().Add(*offset)
	}
	return time.Now()
}

func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }
