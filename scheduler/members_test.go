package scheduler_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	tools "github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/heartbeat"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/steady"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease/memlease"
	"github.com/solotick/solotick/scheduler"
)

// The verbs of a membership, as faults name them.
const (
	verbAnnounce = "announce"
	verbMembers  = "members"
)

// SendHeartbeat implements [protocol.Store].
func (a *audit) SendHeartbeat(ctx context.Context, holder string, info []byte, life time.Duration) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.Store.SendHeartbeat(ctx, holder, info, life)
}

// Members implements [protocol.Store].
func (a *audit) Members(ctx context.Context) ([]protocol.Member, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.Store.Members(ctx)
}

// FormerMembers implements [protocol.Store].
func (a *audit) FormerMembers(ctx context.Context) ([]protocol.Member, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.Store.FormerMembers(ctx)
}

// Append implements [protocol.Store].
func (a *audit) Append(ctx context.Context, name, request string, text []byte) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.Store.Append(ctx, name, request, text)
}

// Notes implements [protocol.Store].
func (a *audit) Notes(ctx context.Context, name string, n int) ([]protocol.JournalEntry, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.Store.Notes(ctx, name, n)
}

// Hint implements [protocol.Store].
func (a *audit) Hint(error) string { return "" }

// ReachedSince implements [protocol.Store].
func (a *audit) ReachedSince(string, time.Duration) (since, until steady.Instant, ok bool) {
	return 0, 0, true
}

// Heartbeat implements [protocol.Store].
func (a *audit) Heartbeat(ctx context.Context, h protocol.Heartbeat) (protocol.Pulse, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.both(func(s *memlease.Store) { _, _, _ = s.Time(ctx) })
	h.NotBefore, h.NotAfter = h.NotBefore.Add(-a.skew), h.NotAfter.Add(-a.skew)
	p, err := a.Store.Heartbeat(ctx, h)
	p.Now = p.Now.Add(a.skew)
	return p, err
}

func (l *link) Heartbeat(ctx context.Context, h protocol.Heartbeat) (protocol.Pulse, error) {
	return through(ctx, l, call{verb: verbAnnounce}, func(ctx context.Context) (protocol.Pulse, error) {
		return l.Store.Heartbeat(ctx, h)
	})
}

func (l *link) SendHeartbeat(ctx context.Context, holder string, info []byte, life time.Duration) error {
	_, err := through(ctx, l, call{verb: verbAnnounce}, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, l.Store.SendHeartbeat(ctx, holder, info, life)
	})
	return err
}

func (l *link) Members(ctx context.Context) ([]protocol.Member, error) {
	return through(ctx, l, call{verb: verbMembers}, func(ctx context.Context) ([]protocol.Member, error) {
		return l.Store.Members(ctx)
	})
}

// lastSeen returns what a replica saw last, and how often since the given time that was something
// else.
func (f *fleet) lastSeen(replica string, after time.Duration) (last scheduler.FleetSeen, changes int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.events {
		if e, ok := s.event.(scheduler.FleetSeen); ok && s.replica == replica {
			last = e
			if e.Changed && s.at.After(at(after)) {
				changes++
			}
		}
	}
	last.Changed = false
	return last, changes
}

func TestEachReplicaKnowsHowManyLive(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 10s", takes(0))
		a := f.start("a")
		f.sleepTo(12 * time.Second)
		seen, changes := f.lastSeen("a", 0)
		require.Equal(t, scheduler.FleetSeen{Replicas: 1}, seen)
		require.LessOrEqual(t, changes, 1)

		b, _ := f.start("b"), f.start("c")
		f.sleepTo(18 * time.Second)
		for _, id := range []string{"a", "b", "c"} {
			seen, _ = f.lastSeen(id, 0)
			require.Equal(t, scheduler.FleetSeen{Replicas: 3}, seen)
		}
		f.sleepTo(5 * time.Minute)
		_, changes = f.lastSeen("a", 18*time.Second)
		require.Zero(t, changes, "nothing has")

		f.halt(b)
		time.Sleep(6 * time.Second)
		seen, changes = f.lastSeen("a", 5*time.Minute)
		require.Equal(t, scheduler.FleetSeen{Replicas: 2}, seen, "one that stops says goodbye")
		require.Equal(t, 1, changes)

		a.link.cut()
		time.Sleep(21 * time.Second)
		seen, changes = f.lastSeen("c", 5*time.Minute+7*time.Second)
		require.Equal(t, scheduler.FleetSeen{Replicas: 1}, seen, "one without a heartbeat for 15 s is gone")
		require.Equal(t, 1, changes)
		a.link.heal()
		time.Sleep(6 * time.Second)
		seen, _ = f.lastSeen("c", 0)
		require.Equal(t, 2, seen.Replicas)
	})
}

// TestDeadReplicaIsGoneSoonAfterItsLeases: by then others run what it ran.
func TestDeadReplicaIsGoneSoonAfterItsLeases(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 10s", takes(0))
		a, b := f.start("a"), f.start("b")
		f.sleepTo(60 * time.Second)
		a.link.cut()
		died := time.Now()
		tool, err := tools.New(f.store)
		require.NoError(t, err)
		time.Sleep(3*ttl/2 + 100*time.Millisecond)
		living, err := tool.Replicas(context.Background())
		require.NoError(t, err)
		require.Len(t, living, 1)
		require.False(t, living[0].Gone)
		former, err := tool.FormerReplicas(context.Background())
		require.NoError(t, err)
		require.Len(t, former, 1)
		require.Equal(t, "a", former[0].ID)
		require.True(t, former[0].Gone)
		require.WithinDuration(t, died, former[0].LastHeartbeat, ttl/2)
		status, err := tool.Status(context.Background(), nil)
		require.NoError(t, err)
		require.Len(t, status.Silent, 1)

		f.halt(b) // it signs off, and is the last that lived
		time.Sleep(2 * ttl)
		status, err = tool.Status(context.Background(), nil)
		require.NoError(t, err)
		require.Empty(t, status.Replicas)
		require.Len(t, status.Silent, 2)
		require.Equal(t, "b", status.Silent[0].ID)
	})
}

func TestReplicaReportsJobsThatNobodyServes(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("everywhere", "@every 10s", takes(0))
		f.job("in-eu", "@every 10s", takes(0), jobs.WithGroups("eu"))
		f.job("in-us", "@every 10s", takes(0), jobs.WithGroups("us"))
		f.leader("leads-in-us", leads, jobs.WithGroups("us"))
		f.start("a")
		f.start("b", scheduler.WithGroups("eu"))
		f.sleepTo(12 * time.Second)
		for _, id := range []string{"a", "b"} {
			seen, _ := f.lastSeen(id, 0)
			require.Equal(t, scheduler.FleetSeen{Replicas: 2, Unserved: []string{"in-us", "leads-in-us"}}, seen)
		}
		us := f.start("c", scheduler.WithGroups("us", "asia"))
		f.sleepTo(20 * time.Second)
		seen, changes := f.lastSeen("a", 12*time.Second)
		require.Equal(t, scheduler.FleetSeen{Replicas: 3}, seen)
		require.Equal(t, 1, changes, "once")
		f.halt(us)
		f.sleepTo(30 * time.Second)
		seen, changes = f.lastSeen("a", 20*time.Second)
		require.Equal(t, scheduler.FleetSeen{Replicas: 2, Unserved: []string{"in-us", "leads-in-us"}}, seen)
		require.Equal(t, 1, changes)
	})
}

func TestReplicaReportsJobsThatAreDefinedDifferently(t *testing.T) {
	inFleet(t, func(f *fleet) {
		old := []*jobs.Job{
			f.newJob("same", "@every 10s", takes(0)), f.newJob("job", "@every 10s", takes(0)), f.newJob("gone", "@every 10s", takes(0)),
		}
		edited := []*jobs.Job{
			f.newJob("same", "@every 10s", takes(0)), f.newJob("job", "@every 10s", takes(0), jobs.WithTimeout(time.Minute)),
			f.newJob("added", "@every 10s", takes(0)),
		}
		f.jobs = old
		f.startMany(2)
		f.sleepTo(12 * time.Second)
		seen, _ := f.lastSeen("a", 0)
		require.Equal(t, scheduler.FleetSeen{Replicas: 2}, seen)

		f.replica("b").Update(f.registry(edited...))
		f.sleepTo(13 * time.Second)
		seen, _ = f.lastSeen("b", 0)
		require.Equal(t, scheduler.FleetSeen{Replicas: 2, Differ: []string{"job"}}, seen, "at once, of those that both know")
		f.sleepTo(21 * time.Second)
		seen, changes := f.lastSeen("a", 12*time.Second)
		require.Equal(t, scheduler.FleetSeen{Replicas: 2, Differ: []string{"job"}}, seen)
		require.Equal(t, 1, changes)

		f.replica("a").Update(f.registry(edited...))
		f.sleepTo(30 * time.Second)
		for _, id := range []string{"a", "b"} {
			seen, changes = f.lastSeen(id, 20900*time.Millisecond)
			require.Equal(t, scheduler.FleetSeen{Replicas: 2}, seen)
			require.Equal(t, 1, changes)
		}
	})
}

// TestReplicaThatStopsIsNoReasonToWarn: in a rolling update the old ones that still run something
// differ.
func TestReplicaThatStopsIsNoReasonToWarn(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 10s", takes(time.Minute))
		old := f.start("old", scheduler.WithShutdownGrace(time.Hour))
		f.sleepTo(11 * time.Second)
		old.stop()
		f.sleepTo(17 * time.Second)
		f.jobs = nil
		f.job("job", "@every 10s", takes(0), jobs.WithTimeout(time.Hour))
		f.start("new")
		f.sleepTo(40 * time.Second)
		seen, _ := f.lastSeen("new", 0)
		require.Equal(t, scheduler.FleetSeen{Replicas: 2}, seen)
		<-old.done
	})
}

func TestHeartbeatOfAReplica(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 10s", takes(time.Minute))
		f.job("elsewhere", "@every 10s", takes(0), jobs.WithGroups("us"))
		f.start("a", scheduler.WithGroups("eu", "asia", "eu"), scheduler.WithVersion("1.2.3"))
		f.sleepTo(16 * time.Second)
		tool, err := tools.New(f.store)
		require.NoError(t, err)
		list, err := tool.Replicas(context.Background())
		require.NoError(t, err)
		require.Equal(t, []tools.Replica{{
			ID: "a", Groups: []string{"asia", "eu"}, Started: list[0].Started, Version: "1.2.3", Module: list[0].Module, TTL: ttl, Running: 1, Used: 1,
			Jobs: map[string]string{"job": f.jobs[0].Revision()}, JobCount: 1, LastHeartbeat: list[0].LastHeartbeat, Instance: list[0].Instance,
			Life: 3 * ttl / 2, Clock: heartbeat.ClockTrusted, Steady: list[0].Steady,
		}}, list)
		require.WithinDuration(t, at(16*time.Second), list[0].LastHeartbeat, ttl/2, "a heartbeat comes every half TTL")
		require.Equal(t, 2*5*time.Second, list[0].Steady, "at most twice the limit")
		require.WithinDuration(t, epoch, list[0].Started, 6*time.Second)
	})
}

func TestHeartbeatsStayEqualWhileNothingHappens(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 1h", takes(0))
		f.startMany(2)
		said := map[string]bool{}
		f.sleepTo(8 * time.Second) // the limit, and a heartbeat
		for range 100 {
			members, err := f.store.Members(t.Context())
			require.NoError(t, err)
			require.Len(t, members, 2)
			for _, m := range members {
				said[string(m.Info)] = true
			}
			time.Sleep(ttl / 4)
		}
		require.Len(t, said, 2, "one of each")
	})
}

func TestFailedFirstHeartbeatIsRepeatedSoon(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 10s", takes(0))
		var failed atomic.Int32
		f.startOver("a", func(l *link) protocol.Store {
			l.set(func(c call) fault { return fault{cut: c.verb == verbAnnounce && failed.Add(1) <= 2} })
			return l
		})
		f.sleepTo(ttl / 4)
		members, err := f.store.Members(t.Context())
		require.NoError(t, err)
		require.Len(t, members, 1, "a heartbeat comes every half TTL, the first one sooner")
	})
}

// TestRefusedHeartbeatsBackOff: a refused replica tries again as rarely as an accepted one sends
// heartbeats.
func TestRefusedHeartbeatsBackOff(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 10s", takes(0))
		var tried atomic.Int32
		f.startOver("a", func(l *link) protocol.Store {
			l.set(func(c call) fault {
				if c.verb != verbAnnounce {
					return fault{}
				}
				tried.Add(1)
				return fault{cut: true}
			})
			return l
		})
		f.sleepTo(time.Minute)
		require.InDelta(t, 40, tried.Load(), 8)
	})
}

// TestUnreadableHeartbeatsCauseNoWarning: another release may say more than this one understands.
func TestUnreadableHeartbeatsCauseNoWarning(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("in-us", "@every 10s", takes(0), jobs.WithGroups("us"))
		f.start("a")
		f.sleepTo(time.Second)
		require.NoError(t, f.store.SendHeartbeat(context.Background(), "other", []byte("?"), time.Hour))
		f.sleepTo(12 * time.Second)
		seen, _ := f.lastSeen("a", 0)
		require.Equal(t, scheduler.FleetSeen{Replicas: 2}, seen)
	})
}

// TestFailingHeartbeatsDoNotMarkTheStoreDown: nothing that runs depends on it.
func TestFailingHeartbeatsDoNotMarkTheStoreDown(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 10s", takes(0))
		f.startMany(3)
		f.every(func(l *link) {
			l.set(func(c call) fault { return fault{hang: c.verb == verbAnnounce || c.verb == verbMembers} })
		})
		f.sleepTo(65 * time.Second)
		require.Len(t, f.runs.of("job"), 6)
		downs, _ := eventsWhere(f, storeDown)
		require.Empty(t, downs)
	})
}

// Two services that share a namespace by mistake take each other's ticks: both say so, once.
func TestServicesOfOneNamespaceNoticeEachOther(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("cleanup", "@every 10s", takes(0))
		f.start("a", scheduler.WithModule("example.com/billing"))
		f.start("b", scheduler.WithModule("example.com/billing"))
		f.sleepTo(20 * time.Second)
		seen, _ := f.lastSeen("a", 0)
		require.Empty(t, seen.Foreign, "replicas of one service")

		c := f.start("c", scheduler.WithModule("example.com/mail"))
		f.sleepTo(40 * time.Second)
		for _, id := range []string{"a", "b", "c"} {
			seen, changes := f.lastSeen(id, 19*time.Second)
			require.Equal(t, []string{"cleanup"}, seen.Foreign)
			require.Equal(t, 1, changes)
		}
		f.halt(c)
		f.sleepTo(60 * time.Second)
		seen, _ = f.lastSeen("a", 0)
		require.Empty(t, seen.Foreign)
	})
}

func TestProgramsOfOneModuleNoticeEachOther(t *testing.T) {
	for others, foreign := range map[string]bool{
		"example.com/shop/cmd/billing": false,
		"example.com/shop":             false, // all that is known of it is the module
		"example.com/shop/cmd/mail":    true,
		"example.com/shop/cmd/bill":    true,
	} {
		t.Run(others, func(t *testing.T) {
			inFleet(t, func(f *fleet) {
				f.job("cleanup", "@every 10s", takes(0))
				f.start("a", scheduler.WithModule("example.com/shop/cmd/billing"))
				f.start("b", scheduler.WithModule(others))
				f.sleepTo(20 * time.Second)
				for _, id := range []string{"a", "b"} {
					seen, _ := f.lastSeen(id, 0)
					require.Equal(t, foreign, len(seen.Foreign) == 1)
				}
			})
		})
	}
}

func TestAnInstantThatIsOverIsMissed(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("once", "@at 1999-12-31T23:00:00Z", takes(0))
		f.startMany(2)
		f.sleepTo(5 * time.Second)
		f.start("c")
		f.sleepTo(10 * time.Second)
		require.Equal(t, map[string]int{"missed past": 1}, f.passed("once"))
	})
}
