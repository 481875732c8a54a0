package scheduler_test

import (
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease/redislease"
	"github.com/solotick/solotick/scheduler"
	"github.com/solotick/solotick/schedules"
)

// storedKeys is how many schedules tick, each every two seconds: half of them in each second.
const storedKeys = 12

// storedAtOnce is how many of them may run at one time.
const storedAtOnce = 2

// storedOverRedis has replicas run schedules, and something happen to them. All ticks from the first
// on that is due run once.
type storedOverRedis struct {
	*redisFleet
	replicas []*redisReplica
	list     *schedules.Schedules
	from     time.Time // no tick before it is one of the schedules
}

func newStoredOverRedis(t *testing.T, f *redisFleet) *storedOverRedis {
	f.t = t
	f.job("report", "", takes(150*time.Millisecond), jobs.WithSchedules(), jobs.WithMaxConcurrent(storedAtOnce), jobs.WithMisfire(jobs.MisfireAll, time.Minute), jobs.WithOverlap(jobs.Allow))
	s := &storedOverRedis{redisFleet: f, replicas: f.startMany(scheduler.WithTTL(2 * time.Second))}
	var err error
	s.list, err = schedules.Of(s.replicas[0].store, f.jobs[0])
	require.NoError(t, err)
	s.put()
	return s
}

// put puts all schedules.
func (s *storedOverRedis) put() {
	s.t.Helper()
	rows := make([]schedules.Schedule, storedKeys)
	for i := range rows {
		rows[i] = schedules.Schedule{Key: fmt.Sprint("k", i), Cron: fmt.Sprintf("@every 2s offset %ds", i%2)}
	}
	results, err := s.list.PutAll(s.t.Context(), rows)
	require.NoError(s.t, err)
	for _, r := range results {
		require.NoError(s.t, r.Err)
	}
	s.from = time.Now().Add(time.Second)
}

// judgeKeys judges that the ticks of each key ran once, and that none is missing between the first and the
// last. It waits until all go on. A run that was cancelled, as its permit was lost, is followed by another.
func (s *storedOverRedis) judgeKeys() {
	s.t.Helper()
	began := time.Now()
	for i := range storedKeys {
		key := fmt.Sprint("report/k", i)
		var times map[int64]int
		var first, last int64
		s.eventually(key, 90*time.Second, func(runs []attempt) bool {
			times, first, last = map[int64]int{}, math.MaxInt64, 0
			for _, a := range runs {
				if tick := a.Tick.Unix(); !a.Tick.Before(s.from) && a.cause == nil {
					times[tick]++
					first, last = min(first, tick), max(last, tick)
				}
			}
			return time.Unix(last, 0).After(began) && len(times) == int(last-first)/2+1
		})
		for tick, n := range times {
			require.Equal(s.t, 1, n, "%s at %d of %d to %d", key, tick, first, last)
		}
	}
}

func TestStoredSchedulesOverRedis(t *testing.T) {
	t.Parallel()
	single := func(opts ...redistest.Option) func(t *testing.T) *redisFleet {
		return func(t *testing.T) *redisFleet { return newRedisFleet(t, opts...) }
	}
	nodes := func(t *testing.T) *redisFleet {
		nodes := startMasters(t, 3)
		return &redisFleet{t: t, server: nodes[0], connect: func() redis.UniversalClient {
			return redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{nodes[0].Addr(), nodes[1].Addr()}})
		}}
	}
	var tests sync.WaitGroup
	for name, test := range map[string]struct {
		fleet func(t *testing.T) *redisFleet
		fault func(s *storedOverRedis)
		loses bool // what Redis knew, so that more run at one time until the others have written back what they hold
	}{
		"killed and restarted": {single(redistest.WithAOF()), func(s *storedOverRedis) {
			s.server.Kill()
			time.Sleep(time.Second)
			s.server.Restart()
		}, false},
		"back from a snapshot": {single(), func(s *storedOverRedis) {
			require.NoError(s.t, s.server.Client(s.t).Save(s.t.Context()).Err())
			time.Sleep(3 * time.Second)
			s.server.Restart()
		}, true},
		"frozen": {single(), func(s *storedOverRedis) {
			s.server.Freeze()
			time.Sleep(3 * time.Second)
			s.server.Thaw()
		}, false},
		"replaced one by one": {single(), func(s *storedOverRedis) {
			for i, r := range s.replicas {
				s.start(fmt.Sprint("new", i), scheduler.WithTTL(2*time.Second))
				r.stop()
			}
		}, false},
		"empty": {single(), func(s *storedOverRedis) {
			s.server.Restart()
			time.Sleep(2 * time.Second)
			s.put()
		}, true},
		"on a Cluster": {nodes, func(*storedOverRedis) {}, false},
		"a record gone": {single(), func(s *storedOverRedis) {
			require.NoError(s.t, s.server.Client(s.t).Del(s.t.Context(), redislease.Key("default", "report/k0")).Err())
			time.Sleep(3 * time.Second) // the index has it
			s.put()
		}, false},
	} {
		tests.Go(func() {
			t.Run(name, func(t *testing.T) {
				s := newStoredOverRedis(t, test.fleet(t))
				time.Sleep(4 * time.Second)
				test.fault(s)
				s.judgeKeys()
				s.judge()
				if most, _ := s.runs.most(s.from, time.Now()); !test.loses {
					require.LessOrEqual(t, most, storedAtOnce)
				}
			})
		})
	}
	tests.Wait()
}
