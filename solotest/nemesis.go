package solotest

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing/synctest"
	"time"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
)

// Nemesis chooses the faults that a fleet suffers, and their times.
type Nemesis struct {
	Seed uint64 // it draws the faults and their times; the same seed draws the same again
	// Kinds are those of [Kinds] that may happen. Nil lets the seed choose about half of them, since
	// each kind hides others: after a step of the clock, say, little can be judged. See Groce and
	// others, Swarm Testing, ISSTA 2012.
	Kinds []string
	// Payload returns the payload of the next trigger; nil is none. Two goroutines may call it.
	Payload func() string
	// Disturb, if it is not nil, is called among the faults. It may do what the test knows of.
	Disturb func(draw *rand.Rand)
}

// Kinds returns the kinds of faults.
//
//	outage   the store refuses connections, drops packets or freezes
//	cut      a replica does not reach the store
//	freeze   a replica is frozen
//	kill     a replica is killed, and another is started
//	stop     a replica is stopped, and another is started
//	replies  replies get lost, of one replica or of all
//	slow     requests and replies are late, overtake each other, or are carried out when nobody waits any more
//	clock    the store's clock steps
//	forget   the store loses everything
//	pause    a job is paused, and resumed
//	trigger  a job is triggered, up to 40 times
func Kinds() []string {
	return []string{"outage", "cut", "freeze", "kill", "stop", "replies", "slow", "clock", "forget", "pause", "trigger"}
}

// AdvanceUnder lets d pass under faults, one or two at a time, and then heals the fleet. Most begin
// within 50 ms after a tick is due. They last up to 6 TTL, and a killed or stopped replica is
// followed by another with its options. Clients connect within 1 s of the store's return.
func (f *Fleet) AdvanceUnder(n Nemesis, d time.Duration) {
	f.t.Helper()
	draw := rand.New(rand.NewPCG(n.Seed, 1))
	kinds := n.Kinds
	for _, kind := range kinds {
		if !slices.Contains(Kinds(), kind) {
			f.t.Fatalf("solotest: kind %q must be one of %s", kind, strings.Join(Kinds(), ", "))
		}
	}
	for len(kinds) == 0 {
		kinds = slices.DeleteFunc(Kinds(), func(string) bool { return draw.IntN(2) == 0 })
	}
	if slices.Contains(kinds, "forget") { // nothing may arrive that is older than the loss
		kinds = slices.DeleteFunc(slices.Clone(kinds), func(kind string) bool { return kind == "slow" })
	}
	f.t.Logf("solotest: seed %d: %s", n.Seed, strings.Join(kinds, ", "))
	f.start()
	h := &harm{Fleet: f, Rand: draw, Nemesis: n, kinds: kinds}
	for _, r := range append(f.alive(), f.people) {
		h.seed(r)
	}
	var all sync.WaitGroup
	end := time.Now().Add(d)
	if h.IntN(2) == 0 && !slices.Contains(kinds, "forget") { // two faults at a time
		other := &harm{Fleet: f, Rand: rand.New(rand.NewPCG(n.Seed, 4)), Nemesis: Nemesis{Payload: n.Payload}, kinds: kinds}
		all.Go(func() { other.until(end) })
	}
	h.until(end)
	all.Wait()
	h.heal()
	synctest.Wait()
}

// harm is a nemesis at work.
type harm struct {
	*Fleet
	*rand.Rand
	Nemesis
	kinds []string
}

func (h *harm) until(end time.Time) {
	for time.Now().Before(end) {
		h.untilNext()
		if i := h.IntN(len(h.kinds) + 1); i < len(h.kinds) {
			h.do(h.kinds[i])
		} else if h.Disturb != nil {
			h.Disturb(h.Rand)
		}
	}
}

func (h *harm) between(least, most time.Duration) time.Duration {
	return least + time.Duration(h.Int64N(int64(most-least)+1))
}

// seed has the way of a replica draw its own luck.
func (h *harm) seed(r *replica) {
	seed := h.Uint64()
	r.link.set(func() { r.link.seed = seed })
}

// span draws how long a fault lasts: shorter than anybody notices, up to a TTL, or longer.
func (h *harm) span() time.Duration {
	most := []time.Duration{300 * time.Millisecond, TTL, 2 * TTL, 6 * TTL}[h.IntN(4)]
	return h.between(time.Millisecond, most)
}

// job draws one; nil if there is none.
func (h *harm) job() *jobs.Job {
	all := h.registry.All()
	if len(all) == 0 {
		return nil
	}
	return all[h.IntN(len(all))]
}

// untilNext sleeps until a random time, mostly just after a tick is due.
func (h *harm) untilNext() {
	time.Sleep(h.between(0, 20*time.Second))
	job := h.job()
	if job == nil || h.IntN(3) == 0 {
		return
	}
	next := job.Schedule().Next(h.Now())
	if next.IsZero() {
		return
	}
	due := time.UnixMilli(wire.Due(job.Name(), next.UnixMilli(), job.Spec().Jitter))
	if wait := due.Sub(h.Now()); wait < 2*time.Minute {
		time.Sleep(wait + h.between(0, 50*time.Millisecond))
	}
}

func (h *harm) heal() {
	h.recover()
	for _, r := range h.alive() {
		h.Heal(r.id)
		h.Resume(r.id)
	}
	h.people.link.heal()
	for _, fault := range h.Faults() {
		if fault.Kind == "pause" && fault.To.IsZero() { // its resume got no answer
			_, _ = h.shared.Resume(context.Background(), fault.Job, protocol.Resume{By: operator}) // the store may have forgotten the job
			h.end("", fault.Job, "pause")
		}
	}
}

func (h *harm) recover() {
	h.startStore(func() time.Duration { return h.between(0, time.Second) })
}

func (h *harm) do(kind string) {
	alive := h.alive()
	if len(alive) == 0 { // of two at a time, another is being started
		return
	}
	r := alive[h.IntN(len(alive))]
	switch kind {
	case "outage":
		h.failStore([]condition{refuses, drops, freezes}[h.IntN(3)])
		time.Sleep(h.span())
		h.recover()
	case "cut":
		h.cut(r, []condition{refuses, drops}[h.IntN(2)])
		time.Sleep(h.span())
		h.Heal(r.id)
	case "freeze":
		h.Fleet.Pause(r.id)
		time.Sleep(h.span())
		h.Resume(r.id)
	case "kill", "stop":
		if kind == "stop" {
			h.Stop(r.id)
		} else {
			h.Kill(r.id)
			h.shutdown(r)
		}
		time.Sleep(h.between(0, 2*time.Second))
		h.seed(h.add(r.options))
	case "replies":
		part := h.Float64()
		if h.IntN(3) > 0 {
			r = nil
		}
		h.ways(kind, r, func(l *link) { l.lost = part }, func() {
			if h.IntN(2) == 0 {
				h.trigger()
			}
			time.Sleep(h.between(0, TTL/2))
		})
	case "slow":
		most, part := TTL/40, 1.0
		if h.IntN(2) == 0 {
			r = nil
		} else {
			most, part = []time.Duration{time.Second, 20 * time.Second}[h.IntN(2)], 1./3
		}
		h.ways(kind, r, func(l *link) { l.slow, l.part = most, part }, func() { time.Sleep(h.between(0, 4*TTL)) })
	case "clock":
		by := h.between(-2*TTL, 2*TTL)
		if h.IntN(3) > 0 {
			by = h.between(-TTL/4, TTL/4)
		}
		h.StepClock(by)
	case "forget":
		// A holder that was away for longer than its lease cannot know what became of its tick once
		// the store is empty. So all have reported before.
		time.Sleep(h.between(12*time.Second, 15*time.Second))
		h.Forget()
	case "pause":
		h.pause()
	case "trigger":
		h.trigger()
	}
}

// ways disturbs the link of r to the store while call runs. If r is nil it disturbs the links of all
// replicas and of the test itself.
func (h *harm) ways(kind string, r *replica, change func(*link), call func()) {
	victims, fault := []*replica{r}, Fault{Kind: kind}
	if r == nil {
		victims = append(h.alive(), h.people)
	} else {
		fault.Replica = r.id
	}
	h.begin(fault, false)
	for _, v := range victims {
		v.link.set(func() { change(v.link) })
	}
	call()
	for _, v := range victims {
		v.link.heal()
	}
	h.end(fault.Replica, "", kind)
}

// pause pauses a job for a while, as people do.
func (h *harm) pause() {
	job := h.job()
	if job == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	h.begin(Fault{Kind: "pause", Job: job.Name()}, false)
	_, _ = h.people.session.Pause(ctx, job.Name(), protocol.Pause{By: operator})
	time.Sleep(h.between(0, 5*time.Second))
	if _, err := h.people.session.Resume(context.Background(), job.Name(), protocol.Resume{By: operator}); err == nil {
		h.end("", job.Name(), "pause")
	}
}

// trigger triggers a job some times at once. Each caller repeats its call a few times.
func (h *harm) trigger() {
	job := h.job()
	if job == nil {
		return
	}
	h.begin(Fault{Kind: "trigger", Job: job.Name()}, true)
	for range 1 + h.IntN(40) {
		payload := ""
		if h.Payload != nil {
			payload = h.Payload()
		}
		trigger := triggerOf(job.Name(), payload)
		go func() {
			for range 4 {
				if _, err := h.people.session.Trigger(context.Background(), trigger); err == nil {
					return
				}
				time.Sleep(200 * time.Millisecond)
			}
		}()
	}
}
