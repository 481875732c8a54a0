package observed

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/naming"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/jobs/schedule"
	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/scheduler"
)

// Execution is one run of a tick by one replica.
type Execution struct {
	jobs.Run

	Began   time.Time
	Ended   time.Time // zero while it runs, and of a replica that was killed
	Outcome lease.Outcome
	Lost    bool  // its lease was lost; another replica runs the tick
	Err     error // what the handler returned
}

// Runs are the runs of a fleet, in the order in which they began. Its zero value is empty.
type Runs struct {
	mu   sync.Mutex
	list []*Execution
}

// Observe keeps how a run begins or ends; other events are not kept.
func (r *Runs) Observe(e scheduler.Event) {
	if run, ending, ok := Of(e); ok {
		r.Add(run, time.Now().UTC(), ending)
	}
}

// Ending is how a run ended.
type Ending struct {
	Outcome lease.Outcome
	Lost    bool
	Err     error
	Ago     time.Duration // how long the run had ended before its event
}

// Of returns the run that an event is about, and how it ended: nil when it began. ok is false for
// events that are not about the beginning or the end of a run.
func Of(e scheduler.Event) (run jobs.Run, ending *Ending, ok bool) {
	switch e := e.(type) { //nolint:gochecksumtype // the other events are not about runs
	case scheduler.RunStarted:
		return e.Run, nil, true
	case scheduler.RunSettled:
		return e.Run, &Ending{Outcome: e.Outcome, Err: e.Err, Ago: e.Held - e.Took}, true
	case scheduler.RunLost:
		return e.Run, &Ending{Lost: true, Err: e.Err, Ago: e.Held - e.Took}, true
	case scheduler.RunReleased:
		return e.Run, &Ending{Err: e.Err, Ago: e.Held - e.Took}, true
	}
	return jobs.Run{}, nil, false
}

// Add keeps that a run begins at that time, when ending is nil, or how it ends.
func (r *Runs) Add(run jobs.Run, at time.Time, ending *Ending) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if ending == nil {
		r.list = append(r.list, &Execution{Run: run, Began: at})
		return
	}
	for _, e := range slices.Backward(r.list) {
		if e.Job == run.Job && e.Key == run.Key && e.Tick.Equal(run.Tick) && e.Token == run.Token {
			e.Ended, e.Outcome, e.Err, e.Lost = at, ending.Outcome, ending.Err, ending.Lost
			return
		}
	}
}

// Job returns the runs of a job.
func (r *Runs) Job(job string) (runs []Execution) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.list {
		if e.Job == job || naming.Keyed(e.Job, e.Key) == job {
			runs = append(runs, *e)
		}
	}
	return runs
}

// Ticks returns the ticks of a schedule from one time to another, both included.
func Ticks(s *schedule.Schedule, from, to time.Time) (ticks []time.Time) {
	for tick := s.Next(from.Add(-time.Millisecond)); !tick.IsZero() && !tick.After(to); tick = s.Next(tick) {
		ticks = append(ticks, tick.UTC())
	}
	return ticks
}

// NotOnce returns a fault for each tick that has not exactly one run that succeeded. The runs are
// those that replicas report, and those whose replica never learned that the store has settled
// them.
func (r *Runs) NotOnce(ctx context.Context, store lease.Store, job string, ticks []time.Time) (faults []string) {
	succeeded, err := r.Succeeded(ctx, store, job)
	if err != nil {
		return []string{fmt.Sprintf("solotest: %s: history: %v", job, err)}
	}
	for _, tick := range ticks {
		if n := succeeded[tick.UTC()]; n != 1 {
			faults = append(faults, fmt.Sprintf("solotest: %s: tick %s has %d runs that succeeded, not 1:%s", job, tick.UTC().Format(time.RFC3339Nano), n, r.story(job, tick)))
		}
	}
	return faults
}

// Succeeded counts the runs of a job that succeeded, by tick.
func (r *Runs) Succeeded(ctx context.Context, store lease.Store, job string) (map[time.Time]int, error) {
	runs := map[time.Time]int{}
	for _, e := range r.Job(job) {
		if e.Outcome == wire.Succeeded {
			runs[e.Tick.UTC()]++
		}
	}
	asked, err := fleet.New(store)
	if err != nil {
		return nil, err
	}
	history, err := asked.History(ctx, job, jobs.Defaults().History)
	if errors.Is(err, protocol.ErrUnknown) {
		err = nil // the store forgot it, or no replica has got to it
	}
	for _, e := range history {
		if e.Outcome == wire.Succeeded && runs[e.Scheduled.UTC()] == 0 {
			runs[e.Scheduled.UTC()] = 1
		}
	}
	return runs, err
}

// story lists the runs of a tick, for the message of a failed test.
func (r *Runs) story(job string, tick time.Time) (text string) {
	for _, e := range r.Job(job) {
		if !e.Tick.Equal(tick) {
			continue
		}
		fate := string(e.Outcome)
		switch {
		case e.Lost:
			fate = "lost its lease"
		case fate == "" && e.Ended.IsZero():
			fate = "has not ended"
		case fate == "":
			fate = "was stopped"
		}
		text += fmt.Sprintf("\n\tattempt %d on %s, token %d, began %s: %s", e.Attempt, e.Replica, e.Token, e.Began.Format(time.TimeOnly), fate)
		if e.Err != nil {
			text += fmt.Sprintf(": %v", e.Err)
		}
	}
	if text == "" {
		return " none began"
	}
	return text
}
