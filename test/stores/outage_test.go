package stores

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/natstest"
	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/internal/servertest"
	"github.com/solotick/solotick/internal/zktest"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/redislease"
	"github.com/solotick/solotick/scheduler"
	"github.com/solotick/solotick/solotest/processes"
)

// servers are all servers of a store.
type servers struct {
	addrs                       []string
	freeze, thaw, kill, restart func()
}

// each does something to all of a list at once: some come back only when others do.
func each[T any](list []T, do func(T)) func() {
	return func() {
		var all sync.WaitGroup
		for _, v := range list {
			all.Go(func() { do(v) })
		}
		all.Wait()
	}
}

func ofRedis(list ...*redistest.Server) servers {
	s := servers{
		freeze: each(list, (*redistest.Server).Freeze), thaw: each(list, (*redistest.Server).Thaw),
		kill: each(list, (*redistest.Server).Kill), restart: each(list, (*redistest.Server).Restart),
	}
	for _, r := range list {
		s.addrs = append(s.addrs, r.Addr())
	}
	return s
}

// outages are the stores whose servers go away all at once.
var outages = []struct {
	name  string
	quick bool // it is part of the short form
	start func(t *testing.T) servers
	open  func(addrs []string, namespace string) (lease.Store, error)
}{
	{"Redis", true, func(t *testing.T) servers { return ofRedis(redistest.Start(t, redistest.WithAOF())) }, openPlain},
	{"Redis, wait_replicas", false, func(t *testing.T) servers {
		primary := redistest.Start(t, redistest.WithAOF())
		s := ofRedis(primary, redistest.Start(t, redistest.WithAOF(), redistest.WithReplicaOfAddr(primary.Addr())))
		s.addrs = s.addrs[:1]
		return s
	}, func(addrs []string, namespace string) (lease.Store, error) {
		return openRedis(addrs, namespace, redislease.WithReplicas(1))
	}},
	{"Redis Cluster", false, func(t *testing.T) servers {
		return ofRedis(redistest.StartCluster(t, redistest.WithAOF()).Nodes...)
	}, func(addrs []string, namespace string) (lease.Store, error) {
		return redislease.New(redis.NewClusterClient(&redis.ClusterOptions{Addrs: addrs}), namespace)
	}},
	{"quorum", true, func(t *testing.T) servers {
		return ofRedis(redistest.Start(t, redistest.WithAOF()), redistest.Start(t, redistest.WithAOF()), redistest.Start(t, redistest.WithAOF()))
	}, redisQuorum.open},
	{"PostgreSQL", false, ofKit(&postgreSQL), postgreSQL.open},
	{"MariaDB", false, ofKit(&mariaDB), mariaDB.open},
	{"etcd", true, func(t *testing.T) servers {
		members, err := servertest.EtcdCluster()
		require.NoError(t, err)
		s := servers{
			freeze:  each(members, func(m *servertest.Server) { require.NoError(t, m.Freeze()) }),
			thaw:    each(members, func(m *servertest.Server) { require.NoError(t, m.Thaw()) }),
			kill:    each(members, (*servertest.Server).Kill),
			restart: each(members, func(m *servertest.Server) { require.NoError(t, m.Run()) }),
		}
		for _, m := range members {
			t.Cleanup(m.Stop)
			s.addrs = append(s.addrs, m.Addr(0))
		}
		return s
	}, etcd.open},
	{"NATS", false, func(t *testing.T) servers {
		list := natstest.StartCluster(t)
		s := servers{
			freeze: each(list, (*natstest.Server).Freeze), thaw: each(list, (*natstest.Server).Thaw),
			kill: each(list, (*natstest.Server).Kill), restart: each(list, (*natstest.Server).Restart),
		}
		for _, m := range list {
			s.addrs = append(s.addrs, m.Addr())
		}
		return s
	}, natsJetStream.open},
	{"ZooKeeper", false, func(t *testing.T) servers {
		list := zktest.StartEnsemble(t, 3)
		s := servers{
			freeze: each(list, func(m *zktest.Server) { m.Freeze(t) }), thaw: each(list, func(m *zktest.Server) { m.Thaw(t) }),
			kill: each(list, (*zktest.Server).Kill), restart: each(list, func(m *zktest.Server) { m.Restart(t) }),
		}
		for _, m := range list {
			s.addrs = append(s.addrs, m.Addr())
		}
		return s
	}, zooKeeper.open},
}

func ofKit(k *kit) func(t *testing.T) servers {
	return func(t *testing.T) servers {
		s := k.start(t)
		return servers{s.addrs, s.freeze, s.thaw, s.kill, s.restart}
	}
}

// TestWhatSucceededInAnOutageNeverRunsAgain takes all servers of a store away within 50 ms of the
// grants of many ticks, for longer than their leases last.
func TestWhatSucceededInAnOutageNeverRunsAgain(t *testing.T) {
	const atOnce, ttl = 20, 3 * time.Second
	for _, o := range outages {
		if !o.quick && !*all && !*update {
			continue
		}
		for _, frozen := range []bool{false, true} {
			if frozen && !*all && !*update {
				continue
			}
			t.Run(fmt.Sprintf("%s/frozen=%t", o.name, frozen), func(t *testing.T) {
				var s servers
				start := func() []string {
					if s.addrs == nil {
						s = o.start(t)
					}
					return s.addrs
				}
				processes.Run(t, 3, func(r *processes.Replica) {
					for i := range atOnce {
						delivery := []jobs.Delivery{jobs.AtLeastOnce, jobs.AtMostOnce}[i%2]
						r.Func(fmt.Sprint("job-", i), "*/10 * * * * *", func(ctx context.Context, _ jobs.Run) error {
							select {
							case <-time.After(300 * time.Millisecond):
								return nil
							case <-ctx.Done():
								return context.Cause(ctx)
							}
						}, jobs.WithDelivery(delivery), jobs.WithMisfire(jobs.MisfireSkip, time.Second))
					}
				}, func(f *processes.Fleet) {
					outage := ttl*12/10 + time.Duration(rand.Int64N(int64(2*ttl)))
					next := time.Now().Truncate(10 * time.Second).Add(10 * time.Second)
					time.Sleep(time.Until(next))
					f.Await("no run begins", func() bool { return runsOf(f, atOnce, next) >= atOnce/2 })
					time.Sleep(time.Duration(rand.Int64N(int64(50 * time.Millisecond))))
					if frozen {
						s.freeze()
					} else {
						s.kill()
					}
					began := runsOf(f, atOnce, next)
					time.Sleep(outage)
					if frozen {
						s.thaw()
					} else {
						s.restart()
					}
					later := time.Now().Add(ttl)
					f.Await("no tick runs after the outage", func() bool {
						for i := range atOnce {
							runs := f.Runs(fmt.Sprint("job-", i))
							if last := runs[len(runs)-1]; !last.Tick.After(later) || last.Outcome != succeeded {
								return false
							}
						}
						return true
					})
					t.Logf("%d of %d ticks had begun; away for %s", began, atOnce, outage)
					asked, err := fleet.New(f.Store())
					require.NoError(t, err)
					for i := range atOnce {
						job, again := fmt.Sprint("job-", i), map[int64]int{}
						for _, run := range f.Runs(job) {
							if again[run.Tick.UnixMilli()]++; run.Err == nil && !run.Ended.IsZero() && again[run.Tick.UnixMilli()] > 1 {
								t.Errorf("%s at %s ran again: %+v", job, run.Tick, f.Runs(job))
							}
						}
						entries, err := asked.History(t.Context(), job, 10)
						require.NoError(t, err)
						for _, e := range entries {
							if again[e.Scheduled.UnixMilli()] > 0 && e.Outcome != succeeded && e.State == "" {
								t.Errorf("%s at %s is %s, and it succeeded: %+v", job, e.Scheduled, e.Outcome, f.Runs(job))
							}
						}
					}
				}, processes.WithStore(func(*testing.T) []string { return start() }, o.open),
					processes.WithScheduler(scheduler.WithTTL(ttl), scheduler.WithShutdownGrace(0)))
			})
		}
	}
}

// runsOf returns how many runs of ticks at that time have begun.
func runsOf(f *processes.Fleet, n int, at time.Time) (begun int) {
	for i := range n {
		for _, run := range f.Runs(fmt.Sprint("job-", i)) {
			if run.Tick.Equal(at) {
				begun++
			}
		}
	}
	return begun
}
