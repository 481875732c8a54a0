package nemesistest

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease/memlease"
	"github.com/solotick/solotick/scheduler"
)

const ttl = 3 * time.Second

// Plan says what a simulation may do.
type Plan struct {
	Life time.Duration // of the fleet; 0 means 10 min
	// Reconnect is how long clients take to connect after the store's return, at most; 0 means 1 s.
	Reconnect time.Duration
}

// kinds are the kinds of faults. A simulation has some of them, as the seed draws, since each kind
// hides others: after a step of the clock, say, little can be judged. See Groce and others, Swarm
// Testing, ISSTA 2012.
var kinds = []string{"outage", "cut", "freeze", "kill", "stop", "replies", "slow", "clock", "control", "edit"}

// fleet is a simulation.
type fleet struct {
	*rand.Rand
	t      *testing.T
	plan   Plan
	seed   uint64
	server *server
	shared *memlease.Store
	people *store
	judge  *judge

	jobs     []*jobs.Job
	registry jobs.Registry
	alive    []*replica
	started  int
}

type replica struct {
	id        string
	link      *link
	scheduler *scheduler.Scheduler
}

// Run runs the simulation that seed draws, in a bubble of testing/synctest, and fails the test for
// each promise that was broken.
func Run(t *testing.T, seed uint64, plan Plan) {
	t.Helper()
	if plan.Life == 0 {
		plan.Life = 10 * time.Minute
	}
	if plan.Reconnect == 0 {
		plan.Reconnect = time.Second
	}
	synctest.Test(t, func(t *testing.T) {
		f := &fleet{
			Rand: rand.New(rand.NewPCG(seed, 1)), t: t, plan: plan, seed: seed, server: newServer(),
			shared: new(memlease.Store), judge: newJudge(),
		}
		f.live()
		for _, fault := range f.judge.faults {
			t.Errorf("seed %d: %s", seed, fault)
		}
	})
}

func (f *fleet) between(least, most time.Duration) time.Duration {
	return least + time.Duration(f.Int64N(int64(most-least)+1))
}

func (f *fleet) live() {
	var err error
	f.people, err = newStore(newLink(f.server, f.shared.Memory(), f.Uint64()), f.shared)
	if err != nil {
		f.t.Fatal(err)
	}
	for i := range 3 + f.IntN(6) {
		f.draw(fmt.Sprint("job-", i))
	}
	for range 3 + f.IntN(3) {
		f.add()
	}
	some := slices.DeleteFunc(slices.Clone(kinds), func(string) bool { return f.IntN(2) == 0 })
	if len(some) == 0 {
		some = kinds
	}
	f.t.Logf("faults: %s", strings.Join(some, ", "))
	for end := time.Now().Add(f.plan.Life); time.Now().Before(end); {
		f.untilNext()
		f.disturb(some[f.IntN(len(some))])
	}
	f.heal()
	time.Sleep(3 * time.Minute) // the longest run, leases that ran out, and a last try of everything
	f.judge.end(f)
	for _, r := range f.alive {
		_ = r.scheduler.Shutdown(context.Background())
	}
}

// untilNext sleeps until a random time, often just after ticks were due.
func (f *fleet) untilNext() {
	time.Sleep(f.between(0, 20*time.Second))
	if f.IntN(3) > 0 {
		job := f.jobs[f.IntN(len(f.jobs))]
		next := job.Schedule().Next(f.judge.fleetTime())
		if wait := next.Sub(f.judge.fleetTime()); wait < 2*time.Minute {
			time.Sleep(wait + f.between(0, 50*time.Millisecond))
		}
	}
}

func (f *fleet) heal() {
	f.server.fail(works, f.Rand, f.plan.Reconnect)
	f.people.link.heal()
	for _, r := range f.alive {
		r.link.heal()
		r.link.goOn()
	}
}

// span draws how long a fault lasts: shorter than anybody notices, up to a TTL, or longer.
func (f *fleet) span() time.Duration {
	most := []time.Duration{300 * time.Millisecond, ttl, 2 * ttl, 6 * ttl}[f.IntN(4)]
	return f.between(time.Millisecond, most)
}

func (f *fleet) disturb(fault string) {
	i := f.IntN(len(f.alive))
	r := f.alive[i]
	switch fault {
	case "outage":
		f.server.fail([]condition{refuses, drops, freezes}[f.IntN(3)], f.Rand, f.plan.Reconnect)
		time.Sleep(f.span())
		f.server.fail(works, f.Rand, f.plan.Reconnect)
	case "cut":
		f.judge.faulty(r.id, true)
		r.link.set(func() { r.link.state = []condition{refuses, drops}[f.IntN(2)] })
		time.Sleep(f.span())
		r.link.heal()
		f.judge.faulty(r.id, false)
	case "freeze":
		f.judge.faulty(r.id, true)
		r.link.freeze()
		time.Sleep(f.span())
		r.link.goOn()
		f.judge.faulty(r.id, false)
	case "kill", "stop":
		f.judge.faulty(r.id, true)
		f.alive = append(f.alive[:i:i], f.alive[i+1:]...)
		if fault == "kill" {
			r.link.set(func() { r.link.state = refuses })
			f.judge.killed(r.id)
		}
		go func() { _ = r.scheduler.Shutdown(context.Background()) }()
		time.Sleep(f.between(0, 2*time.Second))
		f.add()
	case "replies":
		part := f.Float64()
		links := []*link{r.link, f.people.link}
		for _, other := range f.alive {
			links = append(links, other.link)
		}
		for _, l := range links {
			l.set(func() { l.lost = part })
		}
		if f.IntN(2) == 0 {
			f.control()
		}
		time.Sleep(f.between(0, ttl/2))
		for _, l := range links {
			l.heal()
		}
	case "slow":
		for _, other := range f.alive {
			other.link.set(func() { other.link.slow = ttl / 40 })
		}
		time.Sleep(f.between(0, 4*ttl))
		for _, other := range f.alive {
			other.link.heal()
		}
	case "clock":
		by := f.between(-2*ttl, 2*ttl)
		if f.IntN(3) > 0 {
			by = f.between(-ttl/4, ttl/4)
		}
		f.judge.stepped(by)
		f.shared.Step(by)
	case "control":
		f.control()
	case "edit":
		f.edit()
	}
}

// control pauses, resumes or triggers a job, as people do.
func (f *fleet) control() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	job := f.jobs[f.IntN(len(f.jobs))].Name()
	switch f.IntN(3) {
	case 0:
		f.judge.paused(job, true)
		_, _ = f.people.Pause(ctx, job, protocol.Pause{By: "ops"})
		time.Sleep(f.between(0, 5*time.Second))
		if _, err := f.people.Resume(context.Background(), job, protocol.Resume{By: "ops"}); err == nil {
			f.judge.paused(job, false)
		}
	default:
		for range 1 + f.IntN(40) {
			payload := fmt.Sprint("trigger-", f.Uint64())
			trigger := protocol.Trigger{Name: job, By: "ops", Request: protocol.NewRequest(), Payload: payload}
			go func() { // as often as its caller has patience
				for range 4 {
					if _, err := f.people.Trigger(context.Background(), trigger); err == nil {
						return
					}
					time.Sleep(200 * time.Millisecond)
				}
			}()
		}
	}
}

// edit gives a job other policies, on every replica.
func (f *fleet) edit() {
	name := f.jobs[f.IntN(len(f.jobs))].Name()
	f.judge.edited(name)
	f.draw(name)
	for _, r := range f.alive {
		r.scheduler.Update(&f.registry)
	}
}

func (f *fleet) add() {
	f.started++
	r := &replica{id: fmt.Sprint("replica-", f.started)}
	r.link = newLink(f.server, f.shared.Memory(), f.Uint64())
	s, err := newStore(r.link, f.shared)
	if err != nil {
		f.t.Fatal(err)
	}
	room := 0
	if f.IntN(2) == 0 {
		room = 4 + f.IntN(8)
	}
	f.judge.room(r.id, room)
	r.scheduler, err = scheduler.New(s, &f.registry, scheduler.WithReplica(r.id), scheduler.WithTTL(ttl), scheduler.WithMaxRuns(room),
		scheduler.WithShutdownGrace(f.between(0, 10*time.Second)), scheduler.WithSyncObserver(func(e scheduler.Event) { f.judge.observe(r.id, e) }),
		scheduler.WithObserver(scheduler.LogEvents(slog.New(slog.NewTextHandler(f.t.Output(), nil)).With("on", r.id))))
	if err == nil {
		err = r.scheduler.Start()
	}
	if err != nil {
		f.t.Fatal(err)
	}
	f.alive = append(f.alive, r)
}

var errWork = errors.New("work failed")

// draw makes a job of random policies, in place of one that has its name.
func (f *fleet) draw(name string) {
	period := []int{1, 2, 5, 10, 30, 60}[f.IntN(6)]
	delivery, weight := []jobs.Delivery{jobs.AtLeastOnce, jobs.AtLeastOnce, jobs.AtMostOnce}[f.IntN(3)], 1+f.IntN(4)
	options := []jobs.Option{
		jobs.WithOverlap([]jobs.Overlap{jobs.Forbid, jobs.Allow, jobs.Queue, jobs.Replace}[f.IntN(4)]),
		jobs.WithDelivery(delivery), jobs.WithMaxTakeovers(f.IntN(5)), jobs.WithWeight(weight),
		jobs.WithMisfire([]jobs.Misfire{jobs.MisfireSkip, jobs.MisfireLatest, jobs.MisfireAll}[f.IntN(3)], f.between(0, 20*time.Second)),
		jobs.WithCatchUp(f.between(0, 5*time.Minute), f.IntN(30)), jobs.WithHistory(protocol.MaxHistory),
	}
	if f.IntN(2) == 0 {
		options = append(options, jobs.WithJitter(f.between(0, time.Duration(period)*time.Second-time.Millisecond).Truncate(time.Millisecond)))
	}
	if f.IntN(3) == 0 {
		backoff := f.between(time.Millisecond, 5*time.Second)
		options = append(options, jobs.WithRetry(jobs.Retry{MaxAttempts: 1 + f.IntN(4), Backoff: backoff, MaxBackoff: backoff}))
	}
	if f.IntN(4) == 0 {
		options = append(options, jobs.WithTimeout(f.between(time.Millisecond, 20*time.Second)))
	}
	longest := f.between(time.Millisecond, []time.Duration{100 * time.Millisecond, 5 * time.Second, time.Minute}[f.IntN(3)])
	job, err := jobs.New(name, fmt.Sprintf("@every %ds", period), f.judge.wrap(f.work(longest), delivery, weight), options...)
	if err != nil {
		f.t.Fatal(err)
	}
	f.registry.Set(job)
	f.jobs = f.registry.All()
}

// work takes a while that depends on the tick and the attempt, and ends in one of the ways in which
// work ends.
func (f *fleet) work(longest time.Duration) jobs.Handler {
	return func(ctx context.Context, run jobs.Run) error {
		h := fnv.New64a()
		_, _ = fmt.Fprint(h, f.seed, run.TickID(), run.Attempt)
		draw := rand.New(rand.NewPCG(h.Sum64(), 2))
		d := time.Duration(draw.Int64N(int64(longest)))
		kind := draw.IntN(10)
		if kind < 2 {
			d = 0
		}
		select {
		case <-time.After(d):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if kind == 9 {
			return errWork
		}
		return nil
	}
}
