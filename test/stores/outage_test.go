package stores

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/solotest"
	"github.com/solotick/solotick/solotest/processes"
)

const (
	burstJobs  = 20              // that are due at one instant
	burstEvery = 5 * time.Second // and again
)

// power is what takes servers away, and brings them back.
type power struct{ freeze, thaw, kill, restart func() }

// each calls do for every element at the same time: some servers start only together with the others.
func each[T any](list []T, do func(T)) func() {
	return func() {
		var all sync.WaitGroup
		for _, v := range list {
			all.Go(func() { do(v) })
		}
		all.Wait()
	}
}

// ofRedis is power over Redis servers, or Sentinels.
func ofRedis(list ...*redistest.Server) power {
	return power{
		freeze: each(list, (*redistest.Server).Freeze), thaw: each(list, (*redistest.Server).Thaw),
		kill: each(list, (*redistest.Server).Kill), restart: each(list, (*redistest.Server).Restart),
	}
}

// ofOutage is a scene in which all servers go away within 50 ms of the grants of many ticks, for longer
// than a lease lasts. Runs succeed meanwhile, and nobody may repeat them.
func ofOutage(fault string, begin, end func(st *stage)) scene {
	return scene{
		fault: fault, promises: always, long: 10 * time.Second, ofServer: true, outage: true, quick: fault == allServersKilled,
		do: func(st *stage) { st.outage(func() { begin(st) }, func() { end(st) }) },
	}
}

var outages = []scene{
	ofOutage(allServersKilled, func(st *stage) { st.server.whole().kill() }, func(st *stage) { st.server.whole().restart() }),
	ofOutage(allServersFrozen, func(st *stage) { st.server.whole().freeze() }, func(st *stage) { st.server.whole().thaw() }),
	ofOutage(allCutOff, func(st *stage) {
		each(st.scene.replicas(), st.fleet.Cut)()
	}, func(st *stage) { st.fleet.Heal() }),
}

func burst(r *processes.Replica) {
	for i := range burstJobs {
		r.Func(burstName(i), fmt.Sprintf("*/%d * * * * *", int(burstEvery.Seconds())), func(ctx context.Context, _ jobs.Run) error {
			select {
			case <-time.After(300 * time.Millisecond):
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}, jobs.WithDelivery([]jobs.Delivery{jobs.AtLeastOnce, jobs.AtMostOnce}[i%2]), jobs.WithMisfire(jobs.MisfireSkip, time.Second))
	}
}

func burstName(i int) string { return fmt.Sprint("burst-", i) }

// outage takes the servers away and brings them back, and waits until the jobs of the burst run again.
func (st *stage) outage(begin, end func()) {
	most := 6 * ttl
	if !*all && !*update {
		most = 3 * ttl
	}
	least := 6 * ttl / 5
	length := least + rand.N(most-least)
	next := time.Now().Add(time.Second).Truncate(burstEvery).Add(burstEvery)
	time.Sleep(time.Until(next))
	if !st.until(func() bool { return st.begun(next) >= burstJobs/2 }) {
		st.t.Fatalf("no run begins at %s", next)
	}
	time.Sleep(rand.N(50 * time.Millisecond))
	begin()
	begun, away := st.begun(next), time.Now()
	time.Sleep(length)
	back := time.Now()
	end()
	for _, run := range st.fleet.Runs("each") {
		if run.Began.After(away.Add(ttl/2)) && run.Began.Before(back) {
			st.t.Fatalf("the store answers in the outage, from %s to %s: %+v", away, back, run)
		}
	}
	st.t.Logf("%d of %d ticks had begun; away for %s", begun, burstJobs, length)
	later := time.Now().Add(ttl)
	if !st.until(func() bool {
		for i := range burstJobs {
			if !st.succeeded(burstName(i), later) {
				return false
			}
		}
		return true
	}) {
		st.t.Fatalf("the jobs do not run after the outage")
	}
}

// begun returns how many runs of the burst at that time have begun.
func (st *stage) begun(at time.Time) (n int) {
	for i := range burstJobs {
		for _, run := range st.fleet.Runs(burstName(i)) {
			if run.Tick.Equal(at) {
				n++
			}
		}
	}
	return n
}

// finished reports whether a run has done its work. In an outage its replica lives, and settles that
// when the store is back.
func (st *stage) finished(run solotest.Execution) bool {
	return run.Outcome == succeeded || st.scene.outage && run.Err == nil && !run.Ended.IsZero()
}

// misjudged looks for ticks that succeeded and are in the history as something else.
func (st *stage) misjudged() string {
	for i := range burstJobs {
		job, ran := burstName(i), map[int64]solotest.Execution{}
		for _, run := range st.fleet.Runs(job) {
			if st.finished(run) {
				ran[run.Tick.UnixMilli()] = run
			}
		}
		for tick, outcome := range st.outcomes(job) {
			if run, ok := ran[tick]; ok && outcome != succeeded {
				return st.fault(fmt.Sprintf("a tick that succeeded is recorded as %s", outcome), run)
			}
		}
	}
	return ""
}
