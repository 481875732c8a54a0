package scheduler_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/heartbeat"
	"github.com/solotick/solotick/internal/protocol"
)

// known is when the replicas of a fleet have read one another's heartbeats often enough to rank
// themselves.
const known = 5 * time.Second

// owner returns the replica that ran the newest tick of a job.
func (f *fleet) owner(job string) *replica {
	f.t.Helper()
	runs := f.runs.of(job)
	require.NotEmpty(f.t, runs)
	return f.replica(runs[len(runs)-1].Replica)
}

// lateness returns how late each tick of a job started first.
func (f *fleet) lateness(job string) map[time.Duration]time.Duration {
	late := map[time.Duration]time.Duration{}
	for _, a := range f.runs.of(job) {
		if tick := a.Tick.Sub(epoch); a.Attempt == 1 {
			late[tick] = a.start.Sub(a.Tick)
		}
	}
	return late
}

// claimsOf counts the claims of a replica from now on.
func claimsOf(r *replica) (count func() int) {
	var mu sync.Mutex
	n := 0
	r.link.set(func(c call) fault {
		if c.verb == verbClaim {
			mu.Lock()
			defer mu.Unlock()
			n++
		}
		return fault{}
	})
	return func() int {
		mu.Lock()
		defer mu.Unlock()
		return n
	}
}

func TestOnlyThePreferredOwnerClaims(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 1s", takes(0))
		replicas := f.startMany(5)
		f.sleepTo(known + time.Second/2)
		owner := f.owner("job")
		var counts []func() int
		for _, r := range replicas {
			counts = append(counts, claimsOf(r))
		}
		f.sleepTo(known + 20*time.Second + time.Second/2)
		for i, r := range replicas {
			want := 0
			if r == owner {
				want = 20
			}
			require.Equal(t, want, counts[i](), r.Replica())
		}
		require.Equal(t, map[protocol.Outcome]int{"succeeded": 25}, f.fates("job"))
		for _, r := range replicas {
			require.Equal(t, at(known+20*time.Second), r.Jobs()[0].Watermark, "all know it")
		}
	})
}

// TestGoneOwnerDelaysItsTicksByASecond at most, whatever became of it.
func TestGoneOwnerDelaysItsTicksByASecond(t *testing.T) {
	for how, fail := range map[string]func(*replica){
		"killed":  func(r *replica) { r.link.cut(); r.stop() },
		"frozen":  func(r *replica) { r.link.hang() },
		"cut off": func(r *replica) { r.link.cut() },
		"slow":    func(r *replica) { r.link.set(func(call) fault { return fault{slow: 450 * time.Millisecond} }) },
	} {
		t.Run(how, func(t *testing.T) {
			inFleet(t, func(f *fleet) {
				f.job("job", "@every 1s", takes(0))
				f.startMany(3)
				f.sleepTo(known + time.Second/2)
				owner := f.owner("job")
				fail(owner)
				f.sleepTo(known + 20*time.Second + time.Second/2)
				owner.link.heal()
				for tick, late := range f.lateness("job") {
					require.Less(t, late, time.Second, tick)
				}
				require.Equal(t, map[protocol.Outcome]int{"succeeded": 25}, f.fates("job"))
				if how != "slow" {
					require.Zero(t, f.lateness("job")[known+20*time.Second], "it is no member any more")
				}
			})
		})
	}
}

func TestAnOwnerThatLeavesDelaysNothing(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 1s", takes(0))
		f.startMany(4)
		for i := range 3 {
			f.sleepTo(known + time.Duration(i)*3*time.Second + 900*time.Millisecond)
			f.owner("job").stop()
		}
		f.sleepTo(known + 15*time.Second)
		for tick, late := range f.lateness("job") {
			require.Zero(t, late, tick)
		}
		require.Equal(t, map[protocol.Outcome]int{"succeeded": 20}, f.fates("job"))
	})
}

func TestHalfAFleetGoneDelaysThreeSeconds(t *testing.T) {
	inFleet(t, func(f *fleet) {
		for i := range 20 {
			f.job(fmt.Sprint("job-", i), "@every 5s", takes(0))
		}
		replicas := f.startMany(10)
		f.sleepTo(known + 4900*time.Millisecond)
		for _, r := range replicas[:5] {
			r.link.cut()
		}
		f.sleepTo(known + 30*time.Second - 1)
		for i := range 20 {
			job := fmt.Sprint("job-", i)
			for tick, late := range f.lateness(job) {
				require.Less(t, late, 3*time.Second, "%s at %s", job, tick)
			}
			require.Equal(t, map[protocol.Outcome]int{"succeeded": 6}, f.fates(job))
		}
	})
}

// TestMembersThatDoNotExistCostLatenessOnly has the fleet believe in replicas that nobody has
// started.
func TestMembersThatDoNotExistCostLatenessOnly(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 1s", takes(0))
		f.startMany(2)
		for i := range 20 {
			ghost := heartbeat.Replica{ID: fmt.Sprint("ghost-", i), Started: epoch, TTL: ttl, Jobs: map[string]string{"job": f.jobs[0].Revision()}}
			require.NoError(t, f.store.SendHeartbeat(context.Background(), ghost.ID, ghost.Encode(), time.Minute))
		}
		f.sleepTo(30*time.Second + 999*time.Millisecond)
		late := time.Duration(0)
		for tick, by := range f.lateness("job") {
			require.LessOrEqual(t, by, 2*time.Second, tick)
			late = max(late, by)
		}
		require.Positive(t, late, "they are ranked")
		require.Equal(t, map[protocol.Outcome]int{"succeeded": 30}, f.fates("job"))
	})
}

// half is a store of which one sees only some members.
type half struct {
	*link
	sees func(holder string) bool
}

func (h half) Heartbeat(ctx context.Context, b protocol.Heartbeat) (protocol.Pulse, error) {
	b.Version = ""
	p, err := h.link.Heartbeat(ctx, b)
	p.Members = slices.DeleteFunc(p.Members, func(m protocol.Member) bool { return !h.sees(m.Holder) })
	return p, err
}

func (h half) Members(ctx context.Context) ([]protocol.Member, error) {
	all, err := h.link.Members(ctx)
	var list []protocol.Member
	for _, m := range all {
		if h.sees(m.Holder) {
			list = append(list, m)
		}
	}
	return list, err
}

func TestTwoHalvesRunEachTickOnce(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 1s", takes(0))
		f.job("long", "@every 10s", takes(7*time.Second))
		for _, ids := range []string{"abc", "def"} {
			for _, id := range ids {
				f.startOver(string(id), func(l *link) protocol.Store {
					return half{l, func(holder string) bool { return holder >= ids[:1] && holder <= ids[2:] }}
				})
			}
		}
		f.sleepTo(60*time.Second - 1)
		require.Equal(t, map[protocol.Outcome]int{"succeeded": 59}, f.fates("job"))
		for tick, late := range f.lateness("job") {
			require.Zero(t, late, tick)
		}
		require.Len(t, f.runs.of("long"), 5)
	})
}

func TestATriggeredTickOutlivesItsOwner(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 6s", takes(0))
		f.startMany(3)
		f.sleepTo(6500 * time.Millisecond)
		f.owner("job").link.cut()
		tick := f.trigger("job")
		f.sleepTo(8 * time.Second)
		runs := f.runsOf("job", tick)
		require.Len(t, runs, 1)
		require.Less(t, runs[0].start.Sub(tick), time.Second)
	})
}

// TestQueuedTickOutlivesItsOwnerAndTheNotification has the owner die at the instant at which it
// settles the run that a tick waits for, and nobody is notified of that.
func TestQueuedTickOutlivesItsOwnerAndTheNotification(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 10s", firstTakes(12*time.Second, 0), queued)
		replicas := f.startMany(3)
		f.sleepTo(21 * time.Second)
		owner := f.owner("job")
		for _, r := range replicas {
			if r != owner {
				r.link.set(func(c call) fault { return fault{cut: c.verb == verbWake} })
			}
		}
		settled := false
		owner.link.set(func(c call) fault {
			cut := settled
			settled = settled || c.verb == verbSettle
			return fault{cut: cut, lost: settled}
		})
		f.sleepTo(29 * time.Second)
		runs := f.runs.of("job")
		require.Len(t, runs, 2)
		require.Equal(t, at(20*time.Second), runs[1].Tick)
		require.LessOrEqual(t, runs[1].start.Sub(runs[0].end), ttl+time.Second)
	})
}

// slowOwner has the owner of a job make its claims one after the other, 40 ms each, and returns it
// with the names of the jobs that it owns. Each job is due every ten seconds.
func slowOwner(f *fleet) (owner *replica, owned []string) {
	for i := range 60 {
		f.job(fmt.Sprint("job-", i), "@every 10s", takes(0))
	}
	f.startMany(3)
	f.sleepTo(15 * time.Second)
	owner = f.owner("job-0")
	for i := range 60 {
		if job := fmt.Sprint("job-", i); f.owner(job) == owner {
			owned = append(owned, job)
		}
	}
	var mu sync.Mutex
	free := time.Now()
	owner.link.set(func(c call) fault {
		mu.Lock()
		defer mu.Unlock()
		if c.verb != verbClaim {
			return fault{}
		}
		now := time.Now()
		if free.Before(now) {
			free = now
		}
		free = free.Add(40 * time.Millisecond)
		return fault{there: free.Sub(now)}
	})
	return owner, owned
}

func TestOwnerThatWorksOffBacklogGetsNoHelp(t *testing.T) {
	inFleet(t, func(f *fleet) {
		owner, owned := slowOwner(f)
		f.sleepTo(29 * time.Second)
		latest := time.Duration(0)
		for _, job := range owned {
			require.Equal(t, owner.Replica(), f.owner(job).Replica(), "%s, %s late", job, f.lateness(job)[20*time.Second])
			latest = max(latest, f.lateness(job)[20*time.Second])
		}
		require.Greater(t, latest, 500*time.Millisecond, "twice the time after which others help")
	})
}

func TestDyingOwnersBacklogIsTakenInASecond(t *testing.T) {
	inFleet(t, func(f *fleet) {
		owner, owned := slowOwner(f)
		f.sleepTo(20*time.Second + 300*time.Millisecond)
		owner.link.cut()
		f.sleepTo(29 * time.Second)
		helped := 0
		for _, job := range owned {
			if f.owner(job) != owner {
				helped++
				require.Less(t, f.lateness(job)[20*time.Second], 1300*time.Millisecond, job)
			}
		}
		require.NotZero(t, helped)
	})
}
