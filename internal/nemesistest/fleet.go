package nemesistest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/scheduler"
	"github.com/solotick/solotick/solotest"
)

// simulation is a fleet with jobs and faults that a seed draws.
type simulation struct {
	*rand.Rand
	t       *testing.T
	seed    uint64
	fleet   *solotest.Fleet
	judge   *judge
	jobs    []*jobs.Job
	forgets bool // the store may lose everything
	stored  *stored

	payloads atomic.Int64
}

// Run runs the simulation that seed draws, of a fleet that lives so long under faults, in a bubble
// of testing/synctest. It fails the test for each promise that was broken.
func Run(t *testing.T, seed uint64, life time.Duration) {
	t.Helper()
	s := &simulation{Rand: rand.New(rand.NewPCG(seed, 2)), t: t, seed: seed}
	observe := func(e scheduler.Event) { s.judge.observe(e) }
	solotest.Run(t, 1, func(_ *testing.T, f *solotest.Fleet) {
		s.fleet, s.judge = f, newJudge(f)
		s.live(life)
		for _, fault := range s.judge.faults {
			t.Errorf("seed %d: %s", seed, fault)
		}
	}, append(hasRoom(s.room()), scheduler.WithSyncObserver(observe))...)
}

// room draws how much a replica has room for: a few runs, or any number.
func (s *simulation) room() int {
	if s.IntN(2) == 0 {
		return 0
	}
	return 4 + s.IntN(8)
}

func (s *simulation) between(least, most time.Duration) time.Duration {
	return least + time.Duration(s.Int64N(int64(most-least)+1))
}

func (s *simulation) live(life time.Duration) {
	var kinds []string
	for len(kinds) == 0 {
		kinds = slices.DeleteFunc(solotest.Kinds(), func(string) bool { return s.IntN(2) == 0 })
	}
	s.forgets = slices.Contains(kinds, "forget")
	edits := s.IntN(2) == 0
	for i := range 3 + s.IntN(6) {
		s.jobs = append(s.jobs, s.draw(fmt.Sprint("job-", i)))
	}
	s.stored = s.newStored()
	s.fleet.Job(append(s.jobs, s.stored.job)...)
	for range 2 + s.IntN(3) {
		s.fleet.Start(append(hasRoom(s.room()), scheduler.WithShutdownGrace(s.between(0, 10*time.Second)))...)
	}
	s.fleet.AdvanceUnder(solotest.Nemesis{
		Seed: s.seed, Kinds: kinds,
		Payload: func() string { return s.payload() },
		Disturb: func(*rand.Rand) {
			if s.IntN(2) == 0 {
				s.stored.disturb()
			} else if i := s.IntN(len(s.jobs)); edits {
				s.jobs[i] = s.draw(s.jobs[i].Name())
				s.fleet.Redefine(s.jobs[i])
			} else {
				s.trigger(s.jobs[i].Name())
			}
		},
	}, life)
	s.fleet.Start(hasRoom(0)...) // what waits for room has it
	time.Sleep(3 * time.Minute)  // the longest run, leases that ran out, and a last try of everything
	s.judge.end(append(s.jobs, s.stored.unchanged()...))
}

// payload returns one that no other trigger has, by which the judge knows what was triggered: the tick may lie a little
// ahead of the time of the call.
func (s *simulation) payload() string { return fmt.Sprint("trigger-", s.payloads.Add(1)) }

// trigger triggers a job, if the store has it, and has the judge look for what becomes of it.
func (s *simulation) trigger(job string) {
	answer, err := s.fleet.Store().Trigger(context.Background(), protocol.Trigger{Name: job, By: "ops", Request: protocol.NewRequest(), Payload: s.payload()})
	if err == nil && answer.Status == protocol.Opened {
		s.judge.trigger(tick{job, answer.Tick})
	}
}

var errWork = errors.New("work failed")

// draw makes a job of random policies.
func (s *simulation) draw(name string) *jobs.Job { return s.drawOf(name, "") }

// drawOf makes one with that schedule, or a random one.
func (s *simulation) drawOf(name, schedule string) *jobs.Job {
	period := []int{1, 2, 5, 10, 30, 60}[s.IntN(6)]
	delivery, weight := []jobs.Delivery{jobs.AtLeastOnce, jobs.AtLeastOnce, jobs.AtMostOnce}[s.IntN(3)], 1+s.IntN(4)
	overlap := []jobs.Overlap{jobs.Forbid, jobs.Allow, jobs.Queue, jobs.Replace}[s.IntN(4)]
	if s.forgets && overlap == jobs.Replace {
		overlap = jobs.Queue // a run that has lost its lease may not have returned when the store forgets
	}
	options := []jobs.Option{
		jobs.WithOverlap(overlap), jobs.WithDelivery(delivery), jobs.WithMaxTakeovers(s.IntN(5)), jobs.WithWeight(weight),
		jobs.WithMisfire([]jobs.Misfire{jobs.MisfireSkip, jobs.MisfireLatest, jobs.MisfireAll}[s.IntN(3)], s.between(0, 20*time.Second)),
		jobs.WithCatchUp(s.between(0, 5*time.Minute), s.IntN(30)), jobs.WithHistory(protocol.MaxHistory),
	}
	if s.IntN(2) == 0 {
		options = append(options, jobs.WithJitter(s.between(0, time.Duration(period)*time.Second-time.Millisecond).Truncate(time.Millisecond)))
	}
	if s.IntN(3) == 0 {
		backoff := s.between(time.Millisecond, 5*time.Second)
		options = append(options, jobs.WithRetry(jobs.Retry{MaxAttempts: 1 + s.IntN(4), Backoff: backoff, MaxBackoff: backoff}))
	}
	if s.IntN(4) == 0 {
		options = append(options, jobs.WithTimeout(s.between(time.Millisecond, 20*time.Second)))
	}
	longest := s.between(time.Millisecond, []time.Duration{100 * time.Millisecond, 5 * time.Second, time.Minute}[s.IntN(3)])
	job, err := jobs.New(name, cmp.Or(schedule, fmt.Sprintf("@every %ds", period)), s.judge.wrap(s.work(longest), delivery, weight), options...)
	if err != nil {
		s.t.Fatal(err)
	}
	return job
}

// work takes a while that depends on the tick and the attempt, and ends in one of the ways in which
// work ends.
func (s *simulation) work(longest time.Duration) jobs.Handler {
	return func(ctx context.Context, run jobs.Run) error {
		h := fnv.New64a()
		_, _ = fmt.Fprint(h, s.seed, run.TickID(), run.Attempt)
		draw := rand.New(rand.NewPCG(h.Sum64(), 3))
		d := time.Duration(draw.Int64N(int64(longest)))
		kind := draw.IntN(12)
		switch kind {
		case 0, 1:
			return nil
		case 2: // it does not look at its context
			time.Sleep(min(d, 10*time.Second))
			return nil
		}
		s.judge.steps(ctx, run, d/4, draw.IntN(2) == 0)
		select {
		case <-time.After(d - d/4):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		switch kind {
		case 3:
			return errWork
		case 4:
			panic("at the end")
		}
		return nil
	}
}
