package stores

import (
	"context"
	"errors"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/scheduler"
	"github.com/solotick/solotick/solotest"
	"github.com/solotick/solotick/solotest/processes"
)

// patience is how long the suite waits for what has to happen, on a busy machine.
const patience = time.Minute

// stage is a scene that goes on: a fleet, and what became of its promises.
type stage struct {
	t      *testing.T
	kit    kit
	scene  scene
	server *server
	fleet  *processes.Fleet
	asked  *fleet.Fleet

	triggered time.Time // the tick of the trigger that is repeated
	late      time.Time // of another, which the store answered right before the fault; zero when it did not
	victim    string    // the replica that fails
	failed    time.Time // when it has failed

	found map[string]finding
}

// play has replicas go through a scene. It runs in the test, and in each replica.
func play(t *testing.T, k kit, started func() *server, s scene) map[string]finding {
	st := &stage{t: t, kit: k, scene: s, found: map[string]finding{}}
	processes.Run(t, len(s.replicas()), func(r *processes.Replica) {
		r.Func("each", "* * * * * *", func(context.Context, jobs.Run) error { return nil },
			jobs.WithOverlap(jobs.Allow), jobs.WithMisfire(jobs.MisfireAll, time.Second))
		r.Func("long", "@yearly", func(ctx context.Context, run jobs.Run) error {
			if run.Attempt > 1 {
				return nil
			}
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-time.After(s.long):
				return nil
			}
		})
		r.Func("key", "@yearly", func(context.Context, jobs.Run) error { return nil })
		r.Func("paused", "@yearly", func(context.Context, jobs.Run) error { return nil })
		if s.outage {
			burst(r)
		}
	}, func(f *processes.Fleet) {
		st.fleet, st.server = f, started()
		var err error
		if st.asked, err = fleet.New(f.Store()); err != nil {
			t.Fatal(err)
		}
		st.play()
	}, processes.WithStore(func(*testing.T) []string { return started().addrs }, k.open),
		processes.WithScheduler(scheduler.WithTTL(ttl), scheduler.WithShutdownGrace(0)))
	return st.found
}

func (st *stage) play() {
	if st.server.settle != nil {
		st.server.settle()
	}
	if st.scene.fault == restored {
		st.server.backup() // of a fleet that runs, before all that follows
	}
	st.ask(func(ctx context.Context) error {
		_, err := st.asked.Pause(ctx, "paused", fleet.Act{By: "ops", Reason: "the index moves"})
		return err
	})
	st.triggered = st.trigger("key", "deploy-1")
	st.fleet.AwaitSucceeded("key", 1)
	st.trigger("long", "deploy-1")
	st.victim = st.fleet.AwaitRun("long").Replica

	if st.scene.ofServer && !st.scene.outage { // long before the next tick, so that the same ticks are affected each time
		time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(1300 * time.Millisecond)))
	}
	st.scene.do(st)

	st.reopen()
	over := time.Now()
	if !st.until(func() bool { return st.succeeded("each", over) }) {
		st.t.Fatalf("no tick runs after the fault: %+v", st.fleet.Runs("each"))
	}
	st.judge(over)
}

// reopen has the test ask through a store that knows nothing of what was before, as another process
// does.
func (st *stage) reopen() {
	store, err := st.kit.open(st.server.addrs, st.asked.Namespace())
	if err == nil {
		if c, ok := store.(io.Closer); ok {
			st.t.Cleanup(func() { _ = c.Close() })
		}
		st.asked, err = fleet.New(store)
	}
	if err != nil {
		st.t.Fatal(err)
	}
}

// fails has the replica fail that holds the long run.
func (st *stage) fails(do func(replica string)) {
	do(st.victim)
	st.failed = time.Now()
}

func (st *stage) killAll() {
	for _, r := range st.scene.replicas() {
		st.fleet.Kill(r)
	}
}

// last makes another trigger, and waits for its run, and for a tick. Where the store refuses it for
// the fault, the fleet goes on for long enough that leases end, and calls are repeated.
func (st *stage) last() {
	ctx, cancel := context.WithTimeout(st.t.Context(), ttl)
	defer cancel()
	asked := time.Now()
	answer, err := st.asked.Trigger(ctx, "key", fleet.TriggerOptions{By: "ops", Key: "deploy-late"})
	if err != nil {
		st.t.Logf("right before the fault: %v", err)
		time.Sleep(time.Until(asked.Add(2 * ttl)))
		return
	}
	st.late = answer.Tick
	st.until(func() bool { return st.succeeded("key", st.late.Add(-time.Millisecond)) && st.succeeded("each", asked) })
}

// first is the run that the fault interrupts.
func (st *stage) first() solotest.Execution { return st.fleet.Runs("long")[0] }

// next waits until a replica has taken the long run over.
func (st *stage) next() (run solotest.Execution) {
	st.t.Helper()
	taken := st.until(func() bool {
		for _, run = range st.fleet.Runs("long") {
			if run.Attempt == 2 {
				return true
			}
		}
		return false
	})
	if !taken {
		st.t.Fatalf("nobody takes over: %+v", st.fleet.Runs("long"))
	}
	return run
}

// took says how long a promise took that allows for lasting, and a second.
func (st *stage) took(promise string, d, lasting time.Duration) {
	st.t.Logf("%s: %s", promise, d)
	over := max(0, d-lasting-time.Second)
	st.found[promise] = finding{Kept: true, Later: int((over + ttl - 1) / ttl), exact: d}
}

// until waits until a condition holds.
func (st *stage) until(holds func() bool) bool {
	for end := time.Now().Add(patience); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

// ask asks the store until it answers.
func (st *stage) ask(do func(ctx context.Context) error) {
	st.t.Helper()
	var last error
	answered := st.until(func() bool {
		ctx, cancel := context.WithTimeout(st.t.Context(), 5*time.Second)
		defer cancel()
		last = do(ctx)
		return last == nil
	})
	if !answered {
		st.t.Fatalf("the store does not answer the test: %v", last)
	}
}

func (st *stage) trigger(job, key string) (tick time.Time) {
	st.t.Helper()
	st.ask(func(ctx context.Context) error {
		answer, err := st.asked.Trigger(ctx, job, fleet.TriggerOptions{By: "ops", Key: key, Request: "stores-" + job + "-" + key})
		if err == nil && !answer.Accepted() {
			err = errors.New(answer.Refusal())
		}
		tick = answer.Tick
		return err
	})
	return tick
}

// succeeded reports whether a tick of the job after a time has succeeded.
func (st *stage) succeeded(job string, after time.Time) bool {
	return slices.ContainsFunc(st.fleet.Runs(job), func(e solotest.Execution) bool {
		return e.Tick.After(after) && e.Outcome == succeeded
	})
}
