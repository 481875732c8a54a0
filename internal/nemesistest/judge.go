package nemesistest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/scheduler"
)

// judge keeps what happened, and which promises were broken.
type judge struct {
	mu     sync.Mutex
	faults []string

	ahead    time.Duration // of the store's clock
	steps    []time.Time
	own      map[string][]span // faults of a replica alone
	dead     map[string]bool
	rooms    map[string]int
	weights  map[string]int
	ticks    map[tick][]*execution
	payloads map[string]tick
	settled  map[tick]string // by whom
	pauses   map[string][]span
	changed  map[string]bool // jobs that were edited
	born     time.Time
}

type tick struct {
	job string
	at  int64
}

// span is a period of time; to is zero while it lasts.
type span struct{ from, to time.Time }

func (s span) ended(before time.Time) bool { return !s.to.IsZero() && s.to.Before(before) }

// begin and end change the last of a list of spans.
func begin(list []span) []span {
	if n := len(list); n > 0 && list[n-1].to.IsZero() {
		return list
	}
	return append(list, span{from: time.Now()})
}

func end(list []span) []span {
	list[len(list)-1].to = time.Now()
	return list
}

// execution is one run of a tick by one replica.
type execution struct {
	run          jobs.Run
	once         bool // at most
	weight       int
	began, ended time.Time
	succeeded    bool // before its context had ended
}

func newJudge() *judge {
	return &judge{
		own: map[string][]span{}, dead: map[string]bool{}, rooms: map[string]int{}, weights: map[string]int{},
		ticks: map[tick][]*execution{}, payloads: map[string]tick{}, settled: map[tick]string{}, pauses: map[string][]span{}, changed: map[string]bool{}, born: time.Now(),
	}
}

func (j *judge) failLocked(format string, args ...any) {
	if len(j.faults) < 20 {
		j.faults = append(j.faults, fmt.Sprintf("%s: ", clock(time.Now()))+fmt.Sprintf(format, args...))
	}
}

func clock(t time.Time) string { return t.UTC().Format("15:04:05.000") }

func (j *judge) fleetTime() time.Time {
	j.mu.Lock()
	defer j.mu.Unlock()
	return time.Now().Add(j.ahead)
}

func (j *judge) stepped(by time.Duration) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.ahead += by
	j.steps = append(j.steps, time.Now())
}

func (j *judge) faulty(replica string, begins bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if begins {
		j.own[replica] = begin(j.own[replica])
	} else {
		j.own[replica] = end(j.own[replica])
	}
}

func (j *judge) paused(job string, begins bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if begins {
		j.pauses[job] = begin(j.pauses[job])
	} else {
		j.pauses[job] = end(j.pauses[job])
	}
}

func (j *judge) edited(job string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.changed[job] = true
}

func (j *judge) killed(replica string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.dead[replica] = true
}

func (j *judge) room(replica string, n int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.rooms[replica] = n
}

// soundLocked reports whether nothing but faults of the whole fleet happened to a replica since
// then: its clock agreed with the store's, and it had no fault of its own.
func (j *judge) soundLocked(replica string, since time.Time) bool {
	since = since.Add(-2 * ttl)
	if slices.ContainsFunc(j.steps, func(t time.Time) bool { return t.After(since) }) {
		return false
	}
	return !slices.ContainsFunc(j.own[replica], func(s span) bool { return !s.ended(since) })
}

// wrap notes when each attempt begins and ends.
func (j *judge) wrap(next jobs.Handler, delivery jobs.Delivery, weight int) jobs.Handler {
	return func(ctx context.Context, run jobs.Run) error {
		e := j.begin(&execution{run: run, once: delivery == jobs.AtMostOnce, weight: weight, began: time.Now()})
		err := next(ctx, run)
		j.mu.Lock()
		defer j.mu.Unlock()
		j.weights[run.Replica] -= weight
		e.ended, e.succeeded = time.Now(), err == nil && ctx.Err() == nil
		return err
	}
}

func (j *judge) begin(e *execution) *execution {
	j.mu.Lock()
	defer j.mu.Unlock()
	run := e.run
	j.weights[run.Replica] += e.weight
	if room := j.rooms[run.Replica]; room > 0 && j.weights[run.Replica] > room {
		j.failLocked("room: %s runs %d at a time, and has room for %d", run.Replica, j.weights[run.Replica], room)
	}
	key := tick{run.Job, run.Tick.UnixMilli()}
	if j.dead[run.Replica] {
		return e
	}
	for _, before := range j.ticks[key] {
		if before.run.Token == run.Token {
			continue // another attempt under one lease
		}
		if before.once {
			j.failLocked("once: %s runs %v, which %s had begun at %s", run.Replica, key, before.run.Replica, clock(before.began))
		}
		if before.run.Token > run.Token && before.began.Before(e.began) {
			j.failLocked("token: %v begins with token %d, after one with %d", key, run.Token, before.run.Token)
		}
		if before.succeeded && j.soundLocked(before.run.Replica, before.began) {
			j.failLocked("succeeded: %s runs %v again, which %s had done from %s to %s", run.Replica, key,
				before.run.Replica, clock(before.began), clock(before.ended))
		}
	}
	if by, ok := j.settled[key]; ok {
		j.failLocked("settled: %s runs %v, which was settled by %s", run.Replica, key, by)
	}
	if run.Payload != "" {
		if other, known := j.payloads[string(run.Payload)]; known && other != key {
			j.failLocked("trigger: %v and %v run for one call", other, key)
		}
		j.payloads[string(run.Payload)] = key
	}
	j.ticks[key] = append(j.ticks[key], e)
	return e
}

func (j *judge) observe(replica string, event scheduler.Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.dead[replica] {
		return
	}
	switch e := event.(type) {
	case scheduler.RunStarted:
		if e.Run.Payload == "" && len(j.steps) == 0 && time.Now().Add(j.ahead).Before(e.Run.Tick) {
			j.failLocked("early: %s begins %s %s early", replica, e.Run.TickID(), -e.Lag)
		}
	case scheduler.RunSettled:
		j.settled[tick{e.Run.Job, e.Run.Tick.UnixMilli()}] = replica
	default:
	}
}

// end judges the records when all is quiet.
func (j *judge) end(f *fleet) {
	now := j.fleetTime()
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, job := range f.jobs {
		record, err := f.shared.Inspect(context.Background(), job.Name())
		if err != nil {
			j.failLocked("%v", err)
			continue
		}
		runs := slices.ContainsFunc(record.Open, func(o protocol.Open) bool { return o.Remaining > 0 })
		for _, open := range record.Open {
			if runs { // the others may have to wait for it
				break
			}
			if due := wire.Due(job.Name(), open.Tick, job.Spec().Jitter); now.Sub(time.UnixMilli(due)) > 2*time.Minute {
				j.failLocked("decided: %s at %d is still open", job.Name(), open.Tick)
			}
		}
		if next := job.Schedule().Next(time.UnixMilli(record.Watermark)); record.Paused == nil && now.Sub(next) > 2*time.Minute {
			j.failLocked("decided: %s has no tick after %s", job.Name(), clock(time.UnixMilli(record.Watermark)))
		}
		for _, s := range record.Settled {
			j.outcomeLocked(job.Name(), s)
		}
		if !j.changed[job.Name()] && len(j.steps) == 0 {
			j.keptLocked(job, record)
		}
	}
}

// keptLocked judges whether every tick of a job was decided by somebody, but for those that came
// due while it was paused.
func (j *judge) keptLocked(job *jobs.Job, record protocol.Record) {
	if len(record.Settled) >= protocol.MaxHistory {
		return
	}
	for t := job.Schedule().Next(j.born.Add(2 * time.Second)); t.UnixMilli() <= record.Watermark; t = job.Schedule().Next(t) {
		n := t.UnixMilli()
		due := time.UnixMilli(wire.Due(job.Name(), n, job.Spec().Jitter))
		if slices.ContainsFunc(j.pauses[job.Name()], func(s span) bool { return !due.Before(s.from) && (s.to.IsZero() || !due.After(s.to)) }) ||
			slices.ContainsFunc(record.Settled, func(s protocol.Settled) bool { return s.Tick == n || s.From != 0 && s.From < n && n < s.Tick }) ||
			slices.ContainsFunc(record.Open, func(o protocol.Open) bool { return o.Tick == n }) {
			continue
		}
		j.failLocked("kept: nobody decided %s at %d, due at %s; pauses %v", job.Name(), n, clock(due), j.pauses[job.Name()])
	}
}

// outcomeLocked judges whether a tick was settled as its run ended.
func (j *judge) outcomeLocked(job string, s protocol.Settled) {
	if s.Outcome == protocol.OutcomeSucceeded || s.From != 0 {
		return
	}
	for _, e := range j.ticks[tick{job, s.Tick}] {
		if e.succeeded && s.Outcome != wire.Cancelled && s.Outcome != wire.Replaced && j.soundLocked(e.run.Replica, e.began) {
			j.failLocked("succeeded: %s at %d is settled as %s (%s), though %s had done it at %s", job, s.Tick, s.Outcome, s.Note, e.run.Replica, clock(e.ended))
		}
	}
}
