package redislease_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/lease/redislease"
)

// watched are a master, two replicas and three Sentinels that watch over them.
type watched struct {
	*redistest.Watched
	t         *testing.T
	sentinels []*redistest.Server
}

const masterName = redistest.MasterName

func startWatched(t *testing.T) *watched {
	t.Helper()
	w := redistest.StartWatched(t, nil, nil)
	return &watched{w, t, w.Sentinels}
}

// connect makes a client as an application does.
func (w *watched) connect() redis.UniversalClient {
	return redis.NewFailoverClient(&redis.FailoverOptions{MasterName: masterName, SentinelAddrs: w.Addrs()})
}

func (w *watched) master() *redistest.Server { return w.Master() }
func (w *watched) settle()                   { w.Settle() }

func (w *watched) failsOver(do func(master *redistest.Server)) (before, after *redistest.Server) {
	return w.FailOver(do)
}

// leaves wants nobody to claim from a server that was replaced, long before Sentinels make a
// replica of it.
func (w *watched) leaves(replaced *redistest.Server) {
	w.t.Helper()
	admin := replaced.Client(w.t)
	began := time.Now()
	require.Eventually(w.t, func() bool {
		clients, err := admin.ClientList(w.t.Context()).Result()
		return err == nil && !strings.Contains(clients, "cmd=eval") && !strings.Contains(clients, "cmd=wait")
	}, 20*time.Second, 10*time.Millisecond)
	require.Less(w.t, time.Since(began), 7*time.Second)
}

// leavesAHangingSentinel wants a store to find the master by another Sentinel than the one it has
// asked until then.
func (w *watched) leavesAHangingSentinel() {
	w.t.Helper()
	hangs := w.sentinels[1]
	s := openFor(w.t, redis.NewFailoverClient(&redis.FailoverOptions{
		MasterName: masterName, SentinelAddrs: []string{hangs.Addr()}, ReadTimeout: 3 * loadTimeout / 2, MaxRetries: -1,
	}), redislease.WithTimeout(loadTimeout))
	require.Eventually(w.t, func() bool { return answers(s) }, 20*time.Second, 10*time.Millisecond)
	hangs.Freeze()
	defer hangs.Thaw()
	require.NoError(w.t, w.master().Client(w.t).ClientKillByFilter(w.t.Context(), "TYPE", "normal").Err())
	require.Eventually(w.t, func() bool { return answers(s) }, 20*time.Second, 10*time.Millisecond)
}

// With one replica of two, a write can be on the one that is not promoted: no more is promised than
// without.
func TestSentinelFailoversUnderLoad(t *testing.T) {
	t.Parallel()
	w := startWatched(t)
	w.leavesAHangingSentinel()
	loads := map[string]*load{
		"async":        startLoad(t, w.connect, "async"),
		"all replicas": startLoad(t, w.connect, "all", redislease.WithReplicas(2)),
	}
	goOn := func(which ...string) {
		t.Helper()
		for _, name := range which {
			loads[name].goesOn()
		}
	}
	goOn("async", "all replicas")
	kept := keep(t, loads["all replicas"].stores[0], 3)
	watching := watch(t, loads["async"].stores[0])

	killed, _ := w.failsOver((*redistest.Server).Kill)
	goOn("async")
	watching.again(t)
	killed.Restart() // empty, and a master
	w.settle()
	goOn("all replicas")

	replaced, _ := w.failsOver(func(*redistest.Server) {
		require.Eventually(t, func() bool {
			return w.sentinels[0].Client(t).Do(t.Context(), "sentinel", "failover", masterName).Err() == nil
		}, 30*time.Second, 50*time.Millisecond)
	})
	w.leaves(replaced) // though it goes on as a master
	goOn("async")
	w.settle()
	goOn("all replicas")

	frozen, _ := w.failsOver((*redistest.Server).Freeze)
	goOn("async")
	frozen.Thaw() // the same
	goOn("async")
	w.settle()
	goOn("async", "all replicas")

	kept.settle()
	for name, l := range loads {
		l.end()
		l.tokensRise(t)
		t.Logf("%s: %d grants, %d overlaps", name, l.grants(), len(l.overlaps()))
	}
	require.Empty(t, loads["all replicas"].overlaps())
	loads["all replicas"].neverAgain(t)
}

// watching counts how often a Watch has begun to listen.
type watching struct{ listens chan struct{} }

func watch(t *testing.T, s *redislease.Store) *watching {
	t.Helper()
	w := &watching{listens: make(chan struct{}, 1000)}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil { // as the scheduler does
			_ = s.Watch(ctx, func(name string, _ int64) {
				if name == "" {
					w.listens <- struct{}{}
				}
			})
			linger(ctx, 100*time.Millisecond)
		}
	}()
	t.Cleanup(func() { stop(); <-done })
	w.again(t)
	return w
}

// again waits until it listens again.
func (w *watching) again(t *testing.T) {
	t.Helper()
	receive(t, w.listens)
}
