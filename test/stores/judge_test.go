package stores

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/solotest"
)

// finding says what became of a promise after a fault.
type finding struct {
	Kept   bool   `json:"kept"`
	Later  int    `json:"later,omitempty"`  // by so many TTLs, of a promise about time
	Reason string `json:"reason,omitempty"` // why it is not kept
	Runs   int    `json:"runs,omitempty"`   // how often it was seen
	Cannot bool   `json:"cannot,omitempty"` // the fault cannot be brought about, for that reason

	exact time.Duration // of a promise about time, for the log
}

// judge looks at everything that has happened, when the fault is over.
func (st *stage) judge(over time.Time) {
	st.found[again] = found(st.dropped())
	st.found[triggered] = found(st.repeated())
	st.found[paused] = found(st.resumed())
	st.found[history] = found(st.forgotten())
	st.found[none] = found(st.missing(over))
	st.found[once] = found(st.twice())
	st.found[tokens] = found(st.fallen())
}

const succeeded lease.Outcome = "succeeded"

func found(reason string) finding { return finding{Kept: reason == "", Reason: reason} }

// repeated repeats the trigger, and then makes another.
func (st *stage) repeated() (reason string) {
	if again := st.trigger("key", "deploy-1"); !again.Equal(st.triggered) {
		reason = "the store has forgotten the trigger"
	}
	if !st.late.IsZero() && !st.trigger("key", "deploy-late").Equal(st.late) {
		reason = "the store has forgotten the trigger"
	}
	tick := st.trigger("key", "deploy-2")
	st.until(func() bool { return st.succeeded("key", tick.Add(-time.Millisecond)) })
	return reason
}

// resumed looks for the pause that was made before the fault.
func (st *stage) resumed() string {
	var status fleet.Status
	st.ask(func(ctx context.Context) (err error) {
		status, err = st.asked.Status(ctx, nil, "paused")
		return err
	})
	if len(status.Jobs) != 1 || status.Jobs[0].Paused == nil || status.Jobs[0].Paused.Reason != "the index moves" {
		return "the pause is gone"
	}
	return ""
}

// forgotten looks in the history for the run that was settled before the fault.
func (st *stage) forgotten() string {
	if st.outcomes("key")[st.triggered.UnixMilli()] != succeeded {
		why, err := st.asked.Why(st.t.Context(), "key", nil, st.triggered)
		st.t.Logf("tick %s is not in the history: %s (%v)", st.triggered, why, err)
		return "the history is gone"
	}
	if st.scene.outage {
		return st.misjudged()
	}
	return ""
}

// outcomes are those of the ticks of a job that were settled, by the history.
func (st *stage) outcomes(job string) map[int64]lease.Outcome {
	list := map[int64]lease.Outcome{}
	st.ask(func(ctx context.Context) error {
		history, err := st.asked.History(ctx, job, 100)
		if errors.Is(err, fleet.ErrUnknown) {
			return nil
		}
		for _, e := range history {
			if e.Outcome != "" { // it was settled
				list[e.Scheduled.UnixMilli()] = e.Outcome
			}
		}
		return err
	})
	return list
}

// missing looks for ticks that no replica ran, since the first that one did.
func (st *stage) missing(over time.Time) string {
	var missing []time.Time
	first := slices.MinFunc(st.fleet.Runs("each"), func(a, b solotest.Execution) int { return a.Tick.Compare(b.Tick) }).Tick
	st.unless("each", over, ttl, func() bool {
		missing = nil
		settled := st.outcomes("each") // also of a replica that was killed before it said so
		for _, e := range st.fleet.Runs("each") {
			if e.Outcome == succeeded {
				settled[e.Tick.UnixMilli()] = succeeded
			}
		}
		for tick := first; tick.Before(over); tick = tick.Add(time.Second) {
			if settled[tick.UnixMilli()] != succeeded {
				missing = append(missing, tick)
			}
		}
		return len(missing) == 0
	})
	for _, tick := range missing {
		why, err := st.asked.Why(st.t.Context(), "each", nil, tick)
		st.t.Logf("tick %s did not run: %s (%v)", tick, why, err)
	}
	if len(missing) > 0 {
		return "ticks do not run"
	}
	return ""
}

// dropped looks for the long run.
func (st *stage) dropped() string {
	if st.unless("long", time.Now(), 3*ttl, func() bool { return st.succeeded("long", time.Time{}) }) {
		return ""
	}
	why, err := st.asked.Why(st.t.Context(), "long", nil, st.first().Tick)
	st.t.Logf("the long run was not made again: %s (%v); %+v", why, err, st.fleet.Runs("long"))
	return "the store has forgotten the run"
}

// unless waits until a condition holds, unless the store has known of nothing to be done for a job
// before the fault was over, for so long that it does not come.
func (st *stage) unless(job string, over time.Time, long time.Duration, holds func() bool) bool {
	idle, held := time.Now(), false
	st.until(func() bool {
		var status fleet.Status
		st.ask(func(ctx context.Context) (err error) {
			status, err = st.asked.Status(ctx, nil, job)
			return err
		})
		for _, j := range status.Jobs {
			waits := slices.ContainsFunc(j.Open, func(e fleet.Entry) bool { return e.Scheduled.Before(over) })
			if waits || !j.Overdue.IsZero() && j.Overdue.Before(over) {
				idle = time.Now()
			}
		}
		held = holds()
		return held || time.Since(idle) > long
	})
	return held
}

// twice looks for ticks that succeeded twice, began again after they had succeeded, or ran on two
// replicas at once. Where one of them was frozen, only its token can keep it from doing harm.
func (st *stage) twice() string {
	list := []string{"each", "long", "key"}
	for i := 0; st.scene.outage && i < burstJobs; i++ {
		list = append(list, burstName(i))
	}
	for _, job := range list {
		byTick := map[int64][]solotest.Execution{}
		for _, e := range st.fleet.Runs(job) {
			byTick[e.Tick.UnixMilli()] = append(byTick[e.Tick.UnixMilli()], e)
		}
		for _, runs := range byTick {
			slices.SortFunc(runs, func(a, b solotest.Execution) int { return a.Began.Compare(b.Began) })
			for i, b := range runs[1:] {
				a := runs[i]
				frozen := st.scene.fault == frozen && a.Replica == st.victim
				switch {
				case st.finished(a):
					return st.fault("a tick ran again after it had succeeded", a, b)
				case !frozen && a.Ended.After(b.Began):
					return st.fault("a tick ran on two replicas at once", a, b)
				}
			}
		}
	}
	return ""
}

func (st *stage) fault(reason string, runs ...solotest.Execution) string {
	st.t.Logf("%s: %+v", reason, runs)
	return reason
}

// fallen looks for a run with a lower token than an earlier run of that job. Ticks of one job that
// start within a moment may start either way: less than an outage lasts.
func (st *stage) fallen() string {
	for job, moment := range map[string]time.Duration{"each": 2500 * time.Millisecond, "long": 0, "key": 0} {
		runs := st.fleet.Runs(job)
		slices.SortFunc(runs, func(a, b solotest.Execution) int { return cmp.Compare(a.Token, b.Token) })
		for i, b := range runs[min(1, len(runs)):] {
			if a := runs[i]; a.Began.Add(-moment).After(b.Began) {
				return st.fault("a later grant had a lower token", a, b)
			}
		}
	}
	return ""
}
