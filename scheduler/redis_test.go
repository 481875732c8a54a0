package scheduler_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/naming"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/redislease"
	"github.com/solotick/solotick/scheduler"
)

// TestOverRedis holds promises against a real redis-server, in real time: all at once, since they
// mostly wait.
func TestOverRedis(t *testing.T) {
	t.Parallel()
	var tests sync.WaitGroup
	for name, test := range map[string]func(*testing.T){
		"ATickCostsTwoCommandsWhateverTheReplicas":    aTickCostsTwoCommandsWhateverTheReplicas,
		"AFrozenServerEndsRunsBeforeTheirLeasesEnd":   aFrozenServerEndsRunsBeforeTheirLeasesEnd,
		"AServerThatIsKilledAndRestartedLosesNothing": aServerThatIsKilledAndRestartedLosesNothing,
		"AServerThatIsRestartedEmptyIsUsedOn":         aServerThatIsRestartedEmptyIsUsedOn,
		"AStoppedReplicaHandsOverWithinASecond":       aStoppedReplicaHandsOverWithinASecond,
	} {
		tests.Go(func() { t.Run(name, test) })
	}
	tests.Wait()
}

// redisFleet is a number of replicas in this process over one redis-server, in real time.
type redisFleet struct {
	t      *testing.T
	server *redistest.Server
	runs   recorder
	jobs   []*jobs.Job
	wrap   func(protocol.Store) protocol.Store // around each replica's store; nil for none

	connect func() redis.UniversalClient

	mu     sync.Mutex
	events []scheduler.Event
}

// redisReplica is one Scheduler with a store of its own.
type redisReplica struct {
	*scheduler.Scheduler
	store *redislease.Store
	sent  *sentCommands
	stop  func() // and wait
}

func newRedisFleet(t *testing.T, opts ...redistest.Option) *redisFleet {
	server := redistest.Start(t, opts...)
	return &redisFleet{t: t, server: server, connect: func() redis.UniversalClient {
		return redis.NewClient(&redis.Options{Addr: server.Addr()})
	}}
}

func (f *redisFleet) job(name, schedule string, handler jobs.Handler, options ...jobs.Option) {
	job, err := jobs.New(name, schedule, f.runs.wrap(handler), options...)
	require.NoError(f.t, err)
	f.jobs = append(f.jobs, job)
}

func (f *redisFleet) start(id string, options ...scheduler.Option) *redisReplica {
	var registry jobs.Registry
	require.NoError(f.t, registry.Add(f.jobs...))
	client := f.connect()
	r := &redisReplica{sent: &sentCommands{}}
	var err error
	r.store, err = redislease.New(client, "default", redislease.WithHook(r.sent))
	require.NoError(f.t, err)
	var store protocol.Store = r.store
	if f.wrap != nil {
		store = f.wrap(store)
	}
	r.Scheduler, err = scheduler.New(store, &registry, append(options, scheduler.WithReplica(id), scheduler.WithSyncObserver(f.note),
		scheduler.WithObserver(func(scheduler.Event) {}))...) // else failures are logged
	require.NoError(f.t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	r.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			f.t.Error(err)
		}
		_, _ = r.store.Close(), client.Close()
	})
	f.t.Cleanup(r.stop)
	return r
}

func (f *redisFleet) startMany(options ...scheduler.Option) (list []*redisReplica) {
	for _, id := range []string{"a", "b", "c"} {
		list = append(list, f.start(id, options...))
	}
	for _, r := range list {
		require.Eventually(f.t, r.Ready, 10*time.Second, time.Millisecond)
	}
	return list
}

func (f *redisFleet) note(e scheduler.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.events = append(f.events, e)
}

// eventually waits for attempts of a job that satisfy ok, and returns them.
func (f *redisFleet) eventually(job string, within time.Duration, ok func([]attempt) bool) (attempts []attempt) {
	f.t.Helper()
	came := assert.Eventually(f.t, func() bool {
		attempts = f.runs.of(job)
		return ok(attempts)
	}, within, 2*time.Millisecond)
	if !came {
		f.mu.Lock()
		defer f.mu.Unlock()
		require.FailNow(f.t, "it did not happen", "attempts: %+v\nevents: %+v", attempts, f.events)
	}
	return attempts
}

func running(n int) func([]attempt) bool {
	return func(attempts []attempt) bool {
		return len(attempts) >= n && attempts[n-1].end.IsZero()
	}
}

func ended(n int) func([]attempt) bool {
	return func(attempts []attempt) bool {
		return len(attempts) >= n && !attempts[n-1].end.IsZero()
	}
}

// judge checks the promises that hold whatever happens to Redis, as long as no holder is frozen.
func (f *redisFleet) judge() {
	f.t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	settled := map[string]int{}
	for _, e := range f.events {
		if e, ok := e.(scheduler.RunSettled); ok {
			settled[e.Run.TickID()]++
			require.Equal(f.t, 1, settled[e.Run.TickID()], "%s is settled once", e.Run.TickID())
		}
	}
	beside := map[string]bool{} // jobs whose runs start beside each other, in any order
	for _, j := range f.jobs {
		beside[j.Name()] = j.Spec().Overlap == jobs.Allow
	}
	tokens, last := map[string]int64{}, map[string]attempt{}
	for _, a := range f.runs.of("") {
		name := naming.Keyed(a.Job, a.Key)
		if !beside[a.Job] {
			require.GreaterOrEqual(f.t, a.Token, tokens[name], "tokens rise")
		}
		tokens[name] = a.Token
		if before, ok := last[a.TickID()]; ok {
			require.Greater(f.t, a.Attempt, before.Attempt)
			require.Error(f.t, before.err, "%s ran again after it had succeeded", a.TickID())
			require.Less(f.t, before.stopped(), a.start, "%s ran twice at one time", a.TickID())
		}
		last[a.TickID()] = a
	}
}

// skipped counts the ticks of a job that were skipped since an earlier one was running.
func (f *redisFleet) skipped(job string) (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range f.events {
		if e, ok := e.(scheduler.TicksSkipped); ok && e.Job == job && e.Reason == wire.ReasonOverlap {
			n += e.Count
		}
	}
	return n
}

// aTickCostsTwoCommandsWhateverTheReplicas counts for ten seconds, from the middle of one second to
// that of another, so that every tick is counted whole.
func aTickCostsTwoCommandsWhateverTheReplicas(t *testing.T) {
	f := newRedisFleet(t)
	f.job("job", "@every 1s", takes(0))
	replicas := f.startMany()
	f.eventually("job", 8*time.Second, ended(4)) // scripts are loaded, connections made, and the members known

	middle := func() { time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(1500 * time.Millisecond))) }
	type count struct{ records, times int }
	counts := func() (list []count) {
		for _, r := range replicas {
			records, times := r.sent.counts()
			list = append(list, count{records, times})
		}
		return list
	}
	const ticks = 10
	middle()
	before, skipped, from := counts(), f.skipped("job"), time.Now()
	time.Sleep(time.Until(from.Add(ticks * time.Second)))
	after, to := counts(), time.Now()

	won := map[string]int{}
	for _, a := range f.runs.of("job") {
		if a.Tick.After(from) && a.Tick.Before(to) {
			won[a.Replica]++
		}
	}
	all := 0
	for i, r := range replicas {
		records, times := after[i].records-before[i].records, after[i].times-before[i].times
		t.Logf("%s: %d ticks won, %d commands about records, %d about the fleet", r.Replica(), won[r.Replica()], records, times)
		require.GreaterOrEqual(t, records, 2*won[r.Replica()], "one to claim, and one to settle")
		all += records
		require.GreaterOrEqual(t, times, ticks/2-1, "one in 1.75 seconds, which heartbeats are among")
		require.LessOrEqual(t, times, ticks+4, "one a second while it holds leases, and one in five where members have changed")
	}
	skipped = f.skipped("job") - skipped // on a busy machine one may not have ended when the next is due
	require.Equal(t, ticks, won["a"]+won["b"]+won["c"]+skipped)
	require.LessOrEqual(t, all, 2*ticks+ticks/2, "but for a report that came late, or a claim that came early")
	f.judge()
}

// grantLog keeps when each lease that was granted ends by the store's clock, unless it is renewed.
type grantLog struct {
	protocol.Store
	mu   sync.Mutex
	ends map[int64]time.Time // by token
}

func (g *grantLog) Claim(ctx context.Context, c protocol.Claim) (protocol.Answer, error) {
	a, err := g.Store.Claim(ctx, c)
	if err == nil && a.Status == protocol.Granted {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.ends[a.Token] = a.Now.Add(a.Remaining)
	}
	return a, err
}

// aFrozenServerEndsRunsBeforeTheirLeasesEnd freezes redis-server right after a grant, before the
// first renewal: so the lease's end by the server's clock, which is this machine's, is known.
func aFrozenServerEndsRunsBeforeTheirLeasesEnd(t *testing.T) {
	const ttl = 8 * time.Second // of which the margin is a twentieth: more than a busy machine delays a goroutine
	f := newRedisFleet(t)
	f.job("job", "@every 3s", func(ctx context.Context, run jobs.Run) error {
		if run.Attempt > 1 {
			return nil
		}
		<-ctx.Done()
		return context.Cause(ctx)
	})
	var logs []*grantLog
	f.wrap = func(store protocol.Store) protocol.Store {
		logs = append(logs, &grantLog{Store: store, ends: map[int64]time.Time{}})
		return logs[len(logs)-1]
	}
	f.startMany(scheduler.WithTTL(ttl), scheduler.WithShutdownGrace(0))

	f.eventually("job", 10*time.Second, running(1))
	f.server.Freeze()
	time.Sleep(ttl + ttl/2)
	attempts := f.runs.of("job")
	require.Len(t, attempts, 1, "nothing starts")
	require.ErrorIs(t, attempts[0].cause, lease.ErrLost)
	var end time.Time
	for _, log := range logs {
		log.mu.Lock()
		if e, ok := log.ends[attempts[0].Token]; ok {
			end = e
		}
		log.mu.Unlock()
	}
	require.False(t, end.IsZero())
	require.Less(t, attempts[0].cancelled, end)
	require.Greater(t, attempts[0].cancelled, end.Add(-ttl/3), "and not much before")
	require.Less(t, attempts[0].end, end)

	f.server.Thaw()
	attempts = f.eventually("job", 2*ttl+5*time.Second, ended(2))
	require.Equal(t, attempts[0].Tick, attempts[1].Tick)
	require.Equal(t, 2, attempts[1].Attempt)
	f.judge()
}

func aServerThatIsKilledAndRestartedLosesNothing(t *testing.T) {
	f := newRedisFleet(t, redistest.WithAOF())
	f.job("instant", "@every 1s", takes(0))
	f.job("long", "@every 10s", takes(6*time.Second))
	f.startMany(scheduler.WithTTL(3 * time.Second))
	f.eventually("long", 15*time.Second, running(1))
	from := f.runs.of("long")[0].Tick
	f.server.Kill()
	time.Sleep(time.Second)
	f.server.Restart()
	attempts := f.eventually("long", 15*time.Second, ended(1))
	require.NoError(t, attempts[0].err, "its lease was good all the while")
	require.Len(t, attempts, 1)

	instant := f.eventually("instant", 10*time.Second, func(list []attempt) bool {
		return len(list) > 0 && list[len(list)-1].Tick.After(from.Add(7*time.Second))
	})
	missing := 0
	for i, a := range instant[1:] {
		missing += int(a.Tick.Sub(instant[i].Tick)/time.Second) - 1
		require.Equal(t, 1, a.Attempt)
	}
	require.LessOrEqual(t, missing, 1, "one at most, which came due while those before it were caught up")
	require.Equal(t, missing, f.skipped("instant"), "and was not lost, but skipped")
	f.judge()
}

func aServerThatIsRestartedEmptyIsUsedOn(t *testing.T) {
	f := newRedisFleet(t)
	f.job("instant", "@every 1s", takes(0))
	f.job("long", "@every 10s", takes(6*time.Second))
	f.startMany(scheduler.WithTTL(3 * time.Second))
	f.eventually("long", 15*time.Second, running(1))
	f.server.Restart()
	restarted := time.Now()
	instant := f.eventually("instant", 10*time.Second, func(list []attempt) bool {
		return len(list) > 0 && list[len(list)-1].Tick.After(restarted)
	})
	require.Less(t, time.Since(restarted), 4*time.Second, "ticks go on")
	require.Equal(t, 1, instant[len(instant)-1].Attempt)
	attempts := f.eventually("long", 15*time.Second, ended(1))
	require.NoError(t, attempts[0].err, "the run is kept")
	f.eventually("instant", 10*time.Second, func(list []attempt) bool {
		return list[len(list)-1].Tick.After(restarted.Add(5 * time.Second))
	})
	require.Len(t, f.runs.of("long"), 1)
	f.judge()
}

func aStoppedReplicaHandsOverWithinASecond(t *testing.T) {
	f := newRedisFleet(t)
	f.job("job", "@every 3s", func(ctx context.Context, run jobs.Run) error {
		if run.Attempt > 1 {
			return nil
		}
		return takes(time.Minute)(ctx, run)
	})
	replicas := f.startMany(scheduler.WithTTL(time.Minute), scheduler.WithShutdownGrace(0))
	attempts := f.eventually("job", 10*time.Second, running(1))
	for _, r := range replicas {
		if r.Replica() == attempts[0].Replica {
			r.stop()
		}
	}
	attempts = f.eventually("job", 5*time.Second, ended(2))
	require.Equal(t, attempts[0].Tick, attempts[1].Tick)
	require.Equal(t, 2, attempts[1].Attempt)
	require.Less(t, attempts[1].start.Sub(attempts[0].end), time.Second)
	require.ErrorIs(t, attempts[0].cause, scheduler.ErrStopping)
	f.judge()
}
