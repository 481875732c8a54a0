package nemesistest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/solotick/solotick/internal/naming"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/scheduler"
	"github.com/solotick/solotick/solotest"
)

// judge keeps what happened, and which promises were broken.
type judge struct {
	fleet *solotest.Fleet

	mu       sync.Mutex
	faults   []string
	weights  map[string]int // of what runs, by replica
	ticks    map[tick][]*execution
	payloads map[string]tick
	settled  map[tick]string // by whom
	tokens   map[string][]highest
	asked    []tick // that were triggered, and must be decided
	points   map[tick]*points
}

// points are the checkpoints that a tick's runs have made: each is a number, 1 above the one before.
type points struct {
	made, acked int // the newest, and the newest that the store has
}

// highest is the highest token of a job's runs that began by then.
type highest struct {
	began time.Time
	token int64
}

type tick struct {
	job string
	at  int64
}

func tickOf(run jobs.Run) tick { return tick{naming.Keyed(run.Job, run.Key), run.Tick.UnixMilli()} }

// isAbout reports whether a fault is about the job, or the job whose schedule this one is.
func isAbout(f solotest.Fault, name string) bool {
	job, _ := naming.SplitKeyed(name)
	return f.Job == name || f.Job == job
}

// execution is one attempt of a tick.
type execution struct {
	run       jobs.Run
	once      bool // at most
	weight    int
	began     time.Time
	stopped   time.Time // when it was over or its context had ended; zero before
	done      bool      // the handler returned nil
	succeeded bool      // and its context had not ended
}

func newJudge(f *solotest.Fleet) *judge {
	return &judge{
		fleet: f, weights: map[string]int{}, ticks: map[tick][]*execution{},
		payloads: map[string]tick{}, settled: map[tick]string{}, tokens: map[string][]highest{},
		points: map[tick]*points{},
	}
}

func (j *judge) failLocked(format string, args ...any) {
	if len(j.faults) < 20 {
		j.faults = append(j.faults, fmt.Sprintf("%s: ", clock(time.Now()))+fmt.Sprintf(format, args...))
	}
}

func clock(t time.Time) string { return t.UTC().Format("15:04:05.000") }

// of returns the faults of a kind.
func (j *judge) of(kind string) []solotest.Fault {
	return slices.DeleteFunc(j.fleet.Faults(), func(f solotest.Fault) bool { return f.Kind != kind })
}

func (j *judge) dead(replica string) bool {
	return slices.ContainsFunc(j.of("kill"), func(f solotest.Fault) bool { return f.Replica == replica })
}

// sound reports whether nothing but faults of the whole fleet happened to a replica since then: its
// clock agreed with the store's, the store remembered, and it had no fault of its own.
func (j *judge) sound(replica string, since time.Time) bool {
	since = since.Add(-2 * solotest.TTL)
	return !slices.ContainsFunc(j.fleet.Faults(), func(f solotest.Fault) bool {
		return (f.Kind == "clock" || f.Kind == "forget" || f.Replica == replica) && (f.To.IsZero() || !f.To.Before(since))
	})
}

// wrap notes when each attempt begins and ends.
func (j *judge) wrap(next jobs.Handler, delivery jobs.Delivery, weight int) jobs.Handler {
	return func(ctx context.Context, run jobs.Run) (err error) {
		room, _ := ctx.Value(roomKey{}).(int)
		e := j.begin(room, &execution{run: run, once: delivery == jobs.AtMostOnce, weight: weight, began: time.Now()})
		stop := context.AfterFunc(ctx, func() { j.stop(e) })
		done := false // it did not panic
		defer func() {
			stop()
			j.stop(e)
			j.mu.Lock()
			defer j.mu.Unlock()
			j.weights[run.Replica] -= weight
			e.done, e.succeeded = done, done && ctx.Err() == nil
		}()
		err = next(ctx, run)
		done = err == nil
		return err
	}
}

type roomKey struct{}

// hasRoom says for how much a replica has room; 0 is no limit.
func hasRoom(n int) []scheduler.Option {
	return []scheduler.Option{scheduler.WithMaxRuns(n), scheduler.WithWrappers(func(next jobs.Handler) jobs.Handler {
		return func(ctx context.Context, run jobs.Run) error { return next(context.WithValue(ctx, roomKey{}, n), run) }
	})}
}

func (j *judge) stop(e *execution) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if e.stopped.IsZero() {
		e.stopped = time.Now()
	}
}

func (j *judge) begin(room int, e *execution) *execution {
	j.mu.Lock()
	defer j.mu.Unlock()
	run := e.run
	if j.weights[run.Replica] += e.weight; room > 0 && j.weights[run.Replica] > room {
		j.failLocked("room: %s runs %d at a time, and has room for %d", run.Replica, j.weights[run.Replica], room)
	}
	key := tickOf(run)
	if j.dead(run.Replica) {
		return e
	}
	j.tokenLocked(e)
	j.positionLocked(run)
	for _, before := range j.ticks[key] {
		if before.run.Token > run.Token || before.run.Token == run.Token && before.run.Attempt >= run.Attempt {
			j.failLocked("token: %v begins with attempt %d and token %d, after %d with %d",
				key, run.Attempt, run.Token, before.run.Attempt, before.run.Token)
		}
		if before.stopped.IsZero() && len(j.of("clock")) == 0 {
			j.failLocked("alone: %s runs %v, while %s does", run.Replica, key, before.run.Replica)
		}
		if before.run.Token == run.Token {
			continue // another attempt under one lease
		}
		if before.once {
			j.failLocked("once: %s runs %v, which %s had begun at %s", run.Replica, key, before.run.Replica, clock(before.began))
		}
		if before.succeeded && j.sound(before.run.Replica, before.began) {
			j.failLocked("succeeded: %s runs %v again, which %s had done from %s to %s", run.Replica, key,
				before.run.Replica, clock(before.began), clock(before.stopped))
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

// positionLocked judges whether an attempt has a position of its tick: none that was never written,
// and if the store has lost nothing, none that is older than what it said it has.
func (j *judge) positionLocked(run jobs.Run) *points {
	p := j.pointsLocked(run)
	n, id := 0, ""
	if _, err := fmt.Sscan(string(run.Position), &n, &id); len(run.Position) > 0 && (err != nil || id != run.TickID()) {
		j.failLocked("position: %s begins with the position %q", run.TickID(), run.Position)
	}
	if n > p.made {
		j.failLocked("position: %s begins at %d, and has come to %d", run.TickID(), n, p.made)
	}
	if n < p.acked && len(j.of("forget"))+len(j.of("clock")) == 0 {
		j.failLocked("position: %s begins at %d, and %d was written", run.TickID(), n, p.acked)
	}
	p.made, p.acked = max(p.made, n), max(p.acked, n)
	return p
}

func (j *judge) pointsLocked(run jobs.Run) *points {
	key := tickOf(run)
	if j.points[key] == nil {
		j.points[key] = new(points)
	}
	return j.points[key]
}

// steps makes checkpoints, in steps of a while each.
func (j *judge) steps(ctx context.Context, run jobs.Run, while time.Duration, sync bool) {
	var n int
	_, _ = fmt.Sscan(string(run.Position), &n)
	for end := n + 3; n < end; {
		n++
		j.mu.Lock()
		p := j.pointsLocked(run)
		p.made = max(p.made, n)
		j.mu.Unlock()
		err := run.Checkpoint(ctx, fmt.Append(nil, n, " ", run.TickID()))
		if sync {
			err = run.Sync(ctx)
		}
		j.mu.Lock()
		if err == nil && sync && !j.dead(run.Replica) {
			p.acked = max(p.acked, n)
		}
		j.mu.Unlock()
		select {
		case <-time.After(while / 3):
		case <-ctx.Done():
			return
		}
	}
}

// tokenLocked judges whether a run has a higher token than all of its job that were granted before:
// those that began a TTL ago.
func (j *judge) tokenLocked(e *execution) {
	name := naming.Keyed(e.run.Job, e.run.Key)
	list := j.tokens[name]
	for _, h := range slices.Backward(list) {
		if e.began.Sub(h.began) > solotest.TTL {
			if e.run.Attempt == 1 && h.token >= e.run.Token {
				j.failLocked("token: %s at %s begins with token %d, after one with %d", e.run.Job, clock(e.run.Tick), e.run.Token, h.token)
			}
			break
		}
	}
	top := e.run.Token
	if n := len(list); n > 0 {
		top = max(top, list[n-1].token)
	}
	j.tokens[name] = append(list, highest{e.began, top})
}

func (j *judge) observe(event scheduler.Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch e := event.(type) {
	case scheduler.RunStarted:
		if e.Run.Payload == "" && len(j.of("clock")) == 0 && j.fleet.Now().Before(e.Run.Tick) && !j.dead(e.Run.Replica) {
			j.failLocked("early: %s begins %s %s early", e.Run.Replica, e.Run.TickID(), -e.Lag)
		}
	case scheduler.RunSettled:
		if !j.dead(e.Run.Replica) {
			j.settled[tickOf(e.Run)] = e.Run.Replica
		}
	}
}

// end judges the records when all is quiet.
func (j *judge) end(list []*jobs.Job) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, job := range list {
		record, err := j.fleet.Store().Inspect(context.Background(), job.Name())
		if err != nil {
			j.failLocked("%v", err)
			continue
		}
		j.decidedLocked(job, record)
		for _, s := range record.Settled {
			j.outcomeLocked(job.Name(), s)
		}
		edited := slices.ContainsFunc(j.of("edit"), func(f solotest.Fault) bool { return isAbout(f, job.Name()) })
		if !edited && len(j.of("clock")) == 0 {
			j.keptLocked(job, record)
			j.triggeredLocked(job.Name(), record)
			j.earlyLocked(job, record)
		}
	}
}

// decidedLocked judges whether no tick waits for longer than there is a reason.
func (j *judge) decidedLocked(job *jobs.Job, record protocol.Record) {
	if slices.ContainsFunc(record.Open, func(o protocol.Open) bool { return o.Remaining > 0 }) {
		return // the others may have to wait for the one that runs
	}
	now := j.fleet.Now()
	for _, open := range record.Open {
		due := wire.Due(job.Name(), open.Tick, job.Spec().Jitter)
		if now.Sub(time.UnixMilli(due)) > 2*time.Minute {
			j.failLocked("decided: %s at %d is still open", job.Name(), open.Tick)
		}
	}
	if next := job.Schedule().Next(time.UnixMilli(record.Watermark)); record.Paused == nil && now.Sub(next) > 2*time.Minute {
		j.failLocked("decided: %s has no tick after %s", job.Name(), clock(time.UnixMilli(record.Watermark)))
	}
}

// keptLocked judges whether every tick of a job was decided by somebody, but for those that came
// due while it was paused, or before the store forgot everything.
func (j *judge) keptLocked(job *jobs.Job, record protocol.Record) {
	if len(record.Settled) >= protocol.MaxHistory {
		return
	}
	from, jitter := j.fleet.Began().Add(2*time.Second), job.Spec().Jitter
	for _, f := range j.of("forget") {
		from = f.To.Add(10 * time.Second)
	}
	pauses := slices.DeleteFunc(j.of("pause"), func(f solotest.Fault) bool { return !isAbout(f, job.Name()) })
	for t := job.Schedule().Next(from.Add(-jitter)); t.UnixMilli() <= record.Watermark; t = job.Schedule().Next(t) {
		n := t.UnixMilli()
		due := time.UnixMilli(wire.Due(job.Name(), n, jitter))
		if due.Before(from) ||
			slices.ContainsFunc(pauses, func(f solotest.Fault) bool { return !due.Before(f.From) && !due.After(f.To) }) ||
			slices.ContainsFunc(record.Settled, func(s protocol.Settled) bool { return s.Tick == n || s.From != 0 && s.From < n && n < s.Tick }) ||
			slices.ContainsFunc(record.Open, func(o protocol.Open) bool { return o.Tick == n }) {
			continue
		}
		j.failLocked("kept: nobody decided %s at %d, due at %s; pauses %v", job.Name(), n, clock(due), pauses)
	}
}

func (j *judge) trigger(t tick) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.asked = append(j.asked, t)
}

// triggeredLocked judges whether every trigger that was answered is decided, or waits.
func (j *judge) triggeredLocked(job string, record protocol.Record) {
	for _, t := range j.asked {
		if t.job != job || len(j.of("forget")) > 0 || len(record.Settled) >= protocol.MaxHistory ||
			slices.ContainsFunc(record.Settled, func(s protocol.Settled) bool { return s.Tick == t.at }) ||
			slices.ContainsFunc(record.Open, func(o protocol.Open) bool { return o.Tick == t.at }) {
			continue
		}
		j.failLocked("trigger: nobody decided %v", t)
	}
}

// earlyLocked judges whether no tick was decided without a run before it was due.
func (j *judge) earlyLocked(job *jobs.Job, record protocol.Record) {
	jitter := job.Spec().Jitter
	for _, s := range record.Settled {
		if s.Token != 0 {
			continue
		}
		from := time.UnixMilli(s.Tick - 1)
		if s.From != 0 {
			from = time.UnixMilli(max(s.From, s.At.Add(-jitter-time.Second).UnixMilli())) // those before were due
		}
		for t := job.Schedule().Next(from); t.UnixMilli() <= s.Tick; t = job.Schedule().Next(t) {
			if due := time.UnixMilli(wire.Due(job.Name(), t.UnixMilli(), jitter)); due.After(s.At) {
				j.failLocked("early: %s at %d is decided as %s at %s, and due at %s", job.Name(), t.UnixMilli(), s.Outcome, clock(s.At), clock(due))
			}
		}
	}
}

// outcomeLocked judges whether a tick was settled as its run ended.
func (j *judge) outcomeLocked(job string, s protocol.Settled) {
	if s.From != 0 {
		return
	}
	done := false
	for _, e := range j.ticks[tick{job, s.Tick}] {
		done = done || e.done && e.run.Token == s.Token
		if e.succeeded && s.Outcome != protocol.OutcomeSucceeded && s.Outcome != wire.Cancelled && s.Outcome != wire.Replaced && j.sound(e.run.Replica, e.began) {
			j.failLocked("succeeded: %s at %d is settled as %s (%s), though %s had done it at %s", job, s.Tick, s.Outcome, s.Note, e.run.Replica, clock(e.stopped))
		}
	}
	if s.Outcome == protocol.OutcomeSucceeded && !done && !j.dead(s.Holder) {
		j.failLocked("succeeded: %s at %d is settled as succeeded, and no run with token %d did", job, s.Tick, s.Token)
	}
}
