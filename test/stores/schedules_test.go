package stores

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/historytest"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/scheduler"
	"github.com/solotick/solotick/schedules"
	"github.com/solotick/solotick/solotest"
	"github.com/solotick/solotick/solotest/processes"
)

// withSchedules are the databases that keep schedules, and that no other test takes through faults with
// them.
var withSchedules = []kit{sqliteFile, postgreSQL, mariaDB}

// Two processes of a service change one schedule.
func TestHistoriesOfOneScheduleAreLinearizable(t *testing.T) {
	for _, k := range withSchedules {
		t.Run(k.name, func(t *testing.T) {
			server, stores := k.start(t), [3]lease.Store{}
			for i := range stores {
				var err error
				stores[i], err = k.open(server.addrs, "fleet")
				require.NoError(t, err)
				defer func() { require.NoError(t, stores[i].(io.Closer).Close()) }()
			}
			historytest.Schedules(t, stores[0], stores[1:]...)
		})
	}
}

// storedFleet runs schedules of the job report, every two seconds. Those whose key begins with kept stay as
// they are.
type storedFleet struct {
	*testing.T
	*processes.Fleet
	*rand.Rand
	server *server
	all    *schedules.Schedules
	ops    fleet.Act
	faults []fault
}

// fault is one of a replica, or of the server.
type fault struct {
	replica  string // empty for the server
	from, to time.Time
}

const storedKeys = 5 // of each kind: a file bears no more on a busy machine

// TestRandomFleetsKeepStoredSchedules has replicas fail at random, and the server too, while people change
// schedules. There is one fleet at a time: three wait for the same disk for longer than their calls last.
func TestRandomFleetsKeepStoredSchedules(t *testing.T) {
	seed := historytest.Seed(t)
	for _, k := range withSchedules {
		t.Run(k.name, func(t *testing.T) {
			started := sync.OnceValue(func() *server { return k.start(t) })
			processes.Run(t, 3, func(r *processes.Replica) {
				r.Func("report", "", func(ctx context.Context, _ jobs.Run) error {
					select {
					case <-ctx.Done():
						return context.Cause(ctx)
					case <-time.After(500 * time.Millisecond):
						return nil
					}
				}, jobs.WithSchedules(), jobs.WithOverlap(jobs.Allow), jobs.WithMisfire(jobs.MisfireAll, time.Minute))
			}, func(f *processes.Fleet) {
				s := &storedFleet{T: t, Fleet: f, Rand: rand.New(rand.NewPCG(seed, 5)), server: started(), ops: fleet.Act{By: "ops", Reason: "a test"}}
				var err error
				s.all, err = schedules.New(f.Store(), "report")
				require.NoError(t, err)
				s.run()
			}, processes.WithStore(func(*testing.T) []string { return started().addrs }, k.open),
				processes.WithScheduler(scheduler.WithTTL(ttl), scheduler.WithShutdownGrace(time.Second)))
		})
	}
}

func (s *storedFleet) run() {
	for i := range storedKeys {
		s.put(fmt.Sprint("kept-", i))
		s.put(fmt.Sprint("other-", i))
	}
	from := time.Now().Add(time.Second)
	life := 8 * time.Second
	if *all {
		life = time.Minute
	}
	for end := time.Now().Add(life); time.Now().Before(end); {
		switch s.IntN(5) {
		case 0:
			s.replicaFails()
		case 1:
			if s.server.freeze != nil && s.IntN(4) == 0 {
				s.fails("", s.server.freeze, s.server.thaw)
			} else if s.server.freeze != nil && s.IntN(4) == 0 {
				s.fails("", s.server.kill, s.server.restart)
			}
		default:
			s.change(fmt.Sprint("other-", s.IntN(storedKeys)))
		}
		time.Sleep(time.Duration(s.IntN(300)) * time.Millisecond)
	}
	to := time.Now()
	s.Await("the ticks do not all succeed", func() bool { return s.missing(from, to) == "" })
	time.Sleep(ttl + time.Second) // what is run again has begun
	require.Empty(s, s.missing(from, to))
	s.judge()
}

// put puts a schedule, and goes on until the store has taken it.
func (s *storedFleet) put(key string) {
	row := schedules.Schedule{Key: key, Cron: fmt.Sprintf("@every 2s offset %ds", s.IntN(2))}
	if strings.HasPrefix(key, "kept") {
		row.Cron = "@every 2s"
	}
	s.Await("the store takes no schedule", func() bool {
		_, err := s.all.Put(s.Context(), row)
		return err == nil
	})
}

// change does what people do. What the store does not answer is of no interest.
func (s *storedFleet) change(key string) {
	ctx, cancel := context.WithTimeout(s.Context(), time.Second)
	defer cancel()
	switch s.IntN(5) {
	case 0:
		_, _ = s.all.Delete(ctx, key)
	case 1:
		_ = s.all.Pause(ctx, key, s.ops)
	case 2:
		_, _ = s.all.Resume(ctx, key, s.ops)
	case 3:
		_, _ = s.all.Trigger(ctx, key, fleet.TriggerOptions{By: "ops"})
	default:
		s.put(key)
	}
}

func (s *storedFleet) replicaFails() {
	r := fmt.Sprint("r", 1+s.IntN(3))
	start := func() { s.Start(r) }
	switch s.IntN(3) {
	case 0:
		s.fails(r, func() { s.Kill(r) }, start)
	case 1:
		s.fails(r, func() { s.Fleet.Pause(r) }, func() { s.Fleet.Resume(r) })
	default:
		s.fails(r, func() { s.Stop(r) }, start)
	}
}

func (s *storedFleet) fails(replica string, begin, end func()) {
	from := time.Now()
	begin()
	time.Sleep(time.Duration(s.IntN(3000)) * time.Millisecond)
	end()
	s.faults = append(s.faults, fault{replica, from, time.Now()})
}

// missing returns a tick of a schedule that nobody has changed and that no run has succeeded for.
func (s *storedFleet) missing(from, to time.Time) string {
	succeeded, namespace := map[string]bool{}, ""
	for _, e := range s.Runs("report") {
		namespace = e.Namespace
		succeeded[e.TickID()] = succeeded[e.TickID()] || e.Outcome == "succeeded"
	}
	for i := range storedKeys {
		for tick := from.Truncate(2 * time.Second).Add(2 * time.Second); tick.Before(to); tick = tick.Add(2 * time.Second) {
			run := jobs.Run{Namespace: namespace, Job: "report", Key: fmt.Sprint("kept-", i), Tick: tick.UTC()}
			if !succeeded[run.TickID()] {
				return run.TickID()
			}
		}
	}
	return ""
}

// judge judges all runs: none began early, tokens of a tick are different, and none began after another
// whose replica and server did not fail; nor after one that had succeeded, whatever the server did.
func (s *storedFleet) judge() {
	before := map[string][]solotest.Execution{}
	runs, again := s.Runs("report"), 0
	for _, e := range runs {
		require.False(s, e.Began.Before(e.Tick), "%s is early: %s", e.TickID(), e.Began)
		for _, b := range before[e.TickID()] {
			require.NotEqual(s, b.Token, e.Token, e.TickID())
			first, second := b, e
			if first.Token > second.Token {
				first, second = second, first
			}
			again++
			if !slices.ContainsFunc(s.faults, func(f fault) bool {
				return f.from.Before(second.Began) && f.to.After(first.Began.Add(-time.Second)) &&
					(f.replica == first.Replica || f.replica == "" && first.Outcome != "succeeded")
			}) {
				s.Errorf("%s runs again: %+v, after %+v", e.TickID(), second, first)
			}
		}
		before[e.TickID()] = append(before[e.TickID()], e)
	}
	s.Logf("%d runs of %d ticks, %d again, %d faults", len(runs), len(before), again, len(s.faults))
	require.NotEmpty(s, s.faults)
}
