package lock_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/proxytest"
	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/redislease"
)

// A grant whose answer is lost is found again, with no other in between.
func TestRedisRepliesThatAreLostCostNothing(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	proxy := proxytest.New(t, srv.Addr())
	p, q := dial(t, proxy.Addr()), dial(t, srv.Addr())
	release(t, acquire(t, p.Mutex("warm"))) // the scripts are there
	for i := range 5 {
		name := fmt.Sprintf("stock%d", i)
		lost := proxy.RepliesLost()
		proxy.LoseReplies(1, "EVALSHA", "EVAL")
		h := acquire(t, p.Mutex(name, short...))
		require.Equal(t, lost+1, proxy.RepliesLost())
		v, err := q.Inspect(t.Context(), name)
		require.NoError(t, err)
		require.Len(t, v.Holds, 1)
		require.Equal(t, v.Token, h.Token())
		require.Equal(t, v.Holds[0].Token, h.Token())
		proxy.LoseReplies(1, "EVALSHA", "EVAL")
		release(t, h)
		free(t, q, name)

		// A caller of TryAcquire does not keep a grant whose reply was lost. The return of the grant
		// before may have come in between.
		for range 100 {
			proxy.LoseReplies(1, "EVALSHA", "EVAL")
			if h, err = p.Mutex(name, short...).TryAcquire(t.Context()); err != nil {
				break
			}
			release(t, h)
		}
		require.Error(t, err)
		free(t, q, name)
	}
}

// A holder whose connection swallows everything stops before any other is granted the lock.
func TestCutOffRedisHolderStopsInTime(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]func(*proxytest.Proxy){
		"both ways": func(p *proxytest.Proxy) { p.Blackhole() },
		"replies":   func(p *proxytest.Proxy) { p.Blackhole(proxytest.Replies) },
		"delayed":   func(p *proxytest.Proxy) { p.Delay(time.Minute) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := redistest.Start(t)
			proxy := proxytest.New(t, srv.Addr())
			p, q := dial(t, proxy.Addr()), dial(t, srv.Addr())
			h := acquire(t, p.Mutex("stock", short...))
			var ended atomic.Bool
			context.AfterFunc(h.Context(), func() { ended.Store(true) })
			w := begin(t.Context(), q.Mutex("stock", short...))
			lines(t, q, "stock", 1)
			c(proxy)
			next := w.granted(t)
			require.True(t, ended.Load())
			require.False(t, h.Valid())
			require.ErrorIs(t, context.Cause(h.Context()), lease.ErrLost)
			require.Greater(t, next.Token(), h.Token())
			proxy.Heal()
			require.ErrorIs(t, h.Release(t.Context()), protocol.ErrFenced)
			require.True(t, next.Valid())
			release(t, next)
			free(t, q, "stock")
		})
	}
}

func TestRedisThatFreezesOrRestartsIsWaitedFor(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ away, back func(*redistest.Server) }{
		"frozen":    {(*redistest.Server).Freeze, (*redistest.Server).Thaw},
		"restarted": {(*redistest.Server).Kill, (*redistest.Server).Restart},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := redistest.Start(t)
			p, q := dial(t, srv.Addr()), dial(t, srv.Addr())
			h := acquire(t, p.Mutex("stock", short...))
			w := begin(t.Context(), q.Mutex("stock", short...))
			lines(t, p, "stock", 1)
			c.away(srv)
			<-h.Context().Done()
			require.ErrorIs(t, context.Cause(h.Context()), lease.ErrLost)
			select {
			case <-w.done:
				require.Fail(t, "granted by nobody", "%v", w.err)
			default:
			}
			c.back(srv)
			back := time.Now()
			next := w.granted(t)
			require.Less(t, time.Since(back), shortTerm+slack)
			require.Greater(t, next.Token(), h.Token())
			release(t, next)
			if err := h.Release(t.Context()); err != nil {
				require.ErrorIs(t, err, protocol.ErrFenced)
			}
			free(t, p, "stock")
		})
	}
}

func TestFullRedisStopsNoHolderAndNoWaiter(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t, redistest.WithConf("maxmemory-policy", "noeviction"))
	admin := srv.Client(t)
	p, q := dial(t, srv.Addr()), dial(t, srv.Addr())
	h := acquire(t, p.Mutex("stock", short...))
	w := begin(t.Context(), q.Mutex("stock", short...))
	lines(t, p, "stock", 1)
	require.NoError(t, admin.ConfigSet(t.Context(), "maxmemory", "1").Err())
	_, err := p.Mutex("other", short...).TryAcquire(t.Context())
	require.ErrorContains(t, err, "OOM")
	require.Never(t, func() bool { return h.Context().Err() != nil }, 2*shortTerm, 50*time.Millisecond)
	select {
	case <-w.done:
		require.Fail(t, "it has given up", "%v", w.err)
	default:
	}
	release(t, h) // works
	require.NoError(t, admin.ConfigSet(t.Context(), "maxmemory", "0").Err())
	release(t, w.granted(t))
	free(t, p, "stock")
	free(t, p, "other")
}

// The application's pool is its own affair.
func TestRedisLocksDoNotNeedTheApplicationsConnections(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	client := redis.NewClient(&redis.Options{Addr: srv.Addr(), PoolSize: 1, MaxActiveConns: 1, PoolTimeout: time.Hour})
	p := connect(t, client)
	conn := client.Conn()
	defer func() { require.NoError(t, conn.Close()) }()
	require.NoError(t, conn.Ping(t.Context()).Err()) // takes the only one
	h := acquire(t, p.Mutex("stock", short...))
	w := begin(t.Context(), p.Mutex("stock", short...))
	lines(t, p, "stock", 1)
	require.Never(t, func() bool { return h.Context().Err() != nil }, shortTerm, 50*time.Millisecond)
	release(t, h)
	release(t, w.granted(t))
}

func TestRedisThatForbidsMessagesIsAskedInstead(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t, redistest.WithConf("user", "app", "on", ">secret", "~*", "+@all", "-@pubsub", "resetchannels"))
	client := func() *redis.Client {
		return redis.NewClient(&redis.Options{Addr: srv.Addr(), Username: "app", Password: "secret"})
	}
	p, q := connect(t, client()), connect(t, client())
	h := acquire(t, p.Mutex("stock", short...))
	w := begin(t.Context(), q.Mutex("stock", short...))
	lines(t, p, "stock", 1)
	release(t, h)
	released := time.Now()
	release(t, w.granted(t))
	require.Less(t, time.Since(released), slack)
	free(t, p, "stock")
}

// TestFlushedRedisHasTwoHoldersForAThird empties Redis, whose connections stay, while one holds the
// lock and another waits for it. Who asks first is its holder: the other is refused the next time,
// within a third of the TTL.
func TestFlushedRedisHasTwoHoldersForAThird(t *testing.T) {
	t.Parallel()
	const times = 4
	var together [times]time.Duration
	var flushing sync.WaitGroup
	for i := range times {
		flushing.Go(func() {
			t.Run("", func(t *testing.T) {
				srv := redistest.Start(t)
				p, q := dial(t, srv.Addr()), dial(t, srv.Addr())
				h := acquire(t, p.Mutex("stock", short...))
				w := begin(t.Context(), q.Mutex("stock", short...))
				lines(t, p, "stock", 1)
				time.Sleep(time.Duration(i) * shortTerm / 3 / times) // at one moment or another between two renewals
				srv.Flush()
				renewed := make(chan struct{}, 1)
				h.OnRenewal(func(time.Time) {
					select {
					case renewed <- struct{}{}:
					default:
					}
				})
				select {
				case <-renewed:
					if err := h.Release(t.Context()); err != nil {
						require.ErrorIs(t, err, lease.ErrFenced, "the renewal was answered before Redis was emptied")
					}
					release(t, w.granted(t))
				case <-w.done:
					next, from := w.granted(t), time.Now()
					<-h.Context().Done()
					together[i] = time.Since(from)
					require.ErrorIs(t, context.Cause(h.Context()), lease.ErrLost)
					require.Less(t, together[i], shortTerm/2+slack)
					require.Greater(t, next.Token(), h.Token())
					require.True(t, next.Valid())
					release(t, next)
				}
			})
		})
	}
	flushing.Wait()
	t.Logf("with a term of %s, two held it for %v", shortTerm, together)
}

// TestLockTokensRiseAfterFailoverToSlowerClock loses a lock's newest grant, of a server whose clock
// was ahead by an hour: the tokens that it made say so, and the server after it does not know them.
func TestLockTokensRiseAfterFailoverToSlowerClock(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	locks := dial(t, srv.Addr())
	release(t, acquire(t, locks.Mutex("stock")))
	ahead := time.Now().Add(time.Hour).UnixMicro()
	require.NoError(t, srv.Client(t).HSet(t.Context(), redislease.Key("default", "lock:stock"), "token", ahead).Err())
	h := acquire(t, locks.Mutex("stock"))
	require.Greater(t, h.Token(), ahead)
	release(t, h)
	srv.Flush()
	next := acquire(t, locks.Mutex("stock"))
	require.Greater(t, next.Token(), h.Token())
	release(t, next)
}
