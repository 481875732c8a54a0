package job

import (
	"github.com/solotick/solotick/scheduler/internal/plan"
	"github.com/solotick/solotick/scheduler/internal/reports"

	"github.com/solotick/solotick/jobs"
)

// Standing is where a job stands, as far as a replica knows: by its definition, by its record, and by
// the reports of others.
type Standing struct {
	*Replica
	Name string
	*plan.Definition

	Cursor plan.Cursor
	Record Record
	Hints  Hints
	Doubt  Doubt
	Order  Order
}

// Define replaces the definition of the job by one that is equal, but for the handler.
func (k *Standing) Define(d *plan.Definition) { k.Definition, k.Order.definition = d, d }

// Advance applies a watermark that the store has answered.
func (k *Standing) Advance(watermark int64) { k.Cursor = k.Cursor.Advance(watermark, k.TickAfter) }

// Next returns the first tick that nobody has reported as decided or open, or 0 if there is none.
func (k *Standing) Next() int64 {
	if !k.Hints.ahead(k.Cursor.Watermark) {
		return k.Cursor.Next
	}
	return k.Hints.after(k.TickAfter)
}

// after returns the first tick that this replica has not heard of, and that is due after a time.
func (k *Standing) after(heard int64) int64 {
	next := k.Next()
	if next != 0 && k.Due(next) <= heard {
		return k.TickAfter(heard)
	}
	return next
}

// upcoming returns the next tick to claim, as far as is known, or 0 if there is none. The replica
// that claims first relies on what it knows itself, so that a wrong report cannot keep it from a
// tick.
func (k *Standing) upcoming() int64 {
	if k.Order.Place().Rank > 0 {
		return k.Next()
	}
	return k.Cursor.Next
}

// Watermark returns the newest watermark that anybody has reported.
func (k *Standing) Watermark() int64 { return max(k.Cursor.Watermark, k.Hints.watermark) }

// Known returns the watermark that a store which has lost it gets back. A watermark that is further
// ahead than the store's clock may step unnoticed comes from a wrong clock, and is not written back.
//
// Nor is a watermark that others have only reported, so that a wrong report cannot make a tick lost.
// It is written back if the record has certainly lost something, or with delivery at most once,
// where a tick may be lost but must not run twice.
func (k *Standing) Known(now int64) int64 {
	switch {
	case k.IsAhead(k.Cursor.Watermark, now):
		return 0
	case k.Spec.Delivery == jobs.AtMostOnce, k.Doubt.proven:
		return k.Watermark()
	default:
		return k.Cursor.Watermark
	}
}

// unconfirmed reports whether there are reports that no answer of the store has confirmed.
func (k *Standing) unconfirmed() bool { return k.Hints.ahead(k.Cursor.Watermark) || k.Doubt.unread }

// confirmAt returns when to confirm what others have reported, or 0 for never.
func (k *Standing) confirmAt() int64 {
	switch rank := k.Order.Place().Rank; {
	case !k.unconfirmed():
		return 0
	case rank == 0:
		return 1 // before its next tick is due, if there is time
	case rank == 1 && k.Hints.ahead(k.Cursor.Watermark):
		return k.Hints.since + confirmEvery
	default:
		return 0
	}
}

func (k *Standing) strandsAt(tick int64) int64 { return max(k.Due(tick), k.Order.from) + strandedAfter }

// KnowsBest reports whether this replica probably knows best what became of the newest tick: it
// decided that tick, or claims the job's ticks first or second. With delivery at most once, a tick
// that was reported counts too.
func (k *Standing) KnowsBest() bool {
	reported := k.Spec.Delivery == jobs.AtMostOnce && k.Hints.ahead(k.Cursor.Watermark)
	return k.Order.Place().Rank <= 1 || k.Doubt.own >= k.Watermark() || reported
}

// ask asks the live members what they know of the job, unless somebody has asked already. watermark
// is what the record has.
func (k *Standing) ask(watermark, now int64) {
	k.Doubt.asked = true
	if k.Doubt.ends(now, ms(k.Answering)) == 0 {
		k.Doubt.enter(k.Ask(k.Name, watermark), now+ms(k.Answering))
	}
}

// Notify reports to those that act about the tick.
func (k *Standing) Notify(r reports.Report) { k.Report(r, k.Order.listeners(r.Tick)) }
