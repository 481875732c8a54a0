package lock_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/lease/memlease"
	"github.com/solotick/solotick/lease/redislease"
	"github.com/solotick/solotick/lock"
)

// reader may look, and write nothing.
var reader = redistest.WithConf("user", "reader", "on", ">secret", "~*", "&*", "+@read", "+@connection", "+@scripting", "+@pubsub")

func TestErrorThatTimeDoesNotCureIsReturned(t *testing.T) {
	t.Parallel()
	const secret = "secret"
	for name, c := range map[string]struct {
		server  []redistest.Option
		client  redis.Options
		prepare []any // a command
		want    string
	}{
		"a right is missing":    {[]redistest.Option{reader}, redis.Options{Username: "reader", Password: secret}, nil, "script"}, // each version words it in another way
		"no right at all":       {[]redistest.Option{redistest.WithConf("user", "nobody", "on", ">"+secret)}, redis.Options{Username: "nobody", Password: secret}, nil, "NOPERM"},
		"a password is missing": {[]redistest.Option{redistest.WithConf("requirepass", secret)}, redis.Options{}, nil, "NOAUTH"},
		"the password is wrong": {[]redistest.Option{redistest.WithConf("requirepass", secret)}, redis.Options{Password: "wrong"}, nil, "WRONGPASS"},
		"no such database":      {nil, redis.Options{DB: 99}, nil, "DB index is out of range"},
		"a key of another type": {nil, redis.Options{}, []any{"set", redislease.Key("default", "lock:stock"), "text"}, "WRONGTYPE"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := redistest.Start(t, c.server...)
			if c.prepare != nil {
				require.NoError(t, srv.Client(t).Do(t.Context(), c.prepare...).Err())
			}
			c.client.Addr = srv.Addr()
			locks := connect(t, redis.NewClient(&c.client))
			ctx, cancel := context.WithTimeout(t.Context(), slack)
			defer cancel()
			for _, l := range []lock.Lock{locks.Mutex("stock"), locks.Mutex("stock", lock.WithFairness())} {
				_, err := l.Acquire(ctx)
				require.ErrorIs(t, err, protocol.ErrPermanent)
				require.ErrorContains(t, err, c.want)
				require.ErrorContains(t, err, `"stock"`)
			}
			_, err := locks.Multi(locks.Mutex("stock"), locks.Mutex("other")).Acquire(ctx)
			require.ErrorIs(t, err, protocol.ErrPermanent)
			require.NoError(t, ctx.Err())
		})
	}
}

func TestWaiterWhoseRightsAreTakenAwayReturns(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t, redistest.WithConf("user", "app", "on", ">secret", "~*", "&*", "+@all"))
	p := dial(t, srv.Addr())
	q := connect(t, redis.NewClient(&redis.Options{Addr: srv.Addr(), Username: "app", Password: "secret"}))
	h := acquire(t, p.Mutex("stock"))
	w := begin(t.Context(), q.Mutex("stock"))
	lines(t, p, "stock", 1)
	require.NoError(t, srv.Client(t).Do(t.Context(), "acl", "setuser", "app", "-@write").Err())
	select {
	case <-w.done:
	case <-time.After(2 * slack):
		require.Fail(t, "it waits on")
	}
	require.ErrorIs(t, w.err, protocol.ErrPermanent)
	release(t, h)
}

func TestClosedStoreIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	client := redis.NewClient(&redis.Options{Addr: redistest.Start(t).Addr()})
	defer func() { require.NoError(t, client.Close()) }()
	store, err := redislease.New(client, "default")
	require.NoError(t, err)
	locks := lock.New(store)
	defer locks.Close()
	h := acquire(t, locks.Mutex("stock"))
	require.NoError(t, store.Close())
	_, err = locks.Mutex("stock").Acquire(t.Context())
	require.ErrorIs(t, err, protocol.ErrPermanent)
	require.Error(t, h.Release(t.Context()))
}

// What passes is waited for, and said.
func TestFailuresOfStoreAreSaidWhileAcquireWaits(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlease.Store) {
		p := start(t, store, "p")
		p.link.cut(firstThen(3, fails, nil))
		h := acquire(t, p.Mutex("stock"))
		var failures []int
		for _, e := range p.seen() {
			if e, ok := e.(lock.ClaimFailed); ok {
				require.Equal(t, "stock", e.Name)
				require.ErrorIs(t, e.Err, errDown)
				failures = append(failures, e.Failures)
			}
		}
		require.Equal(t, []int{1, 2, 3}, failures)
		release(t, h)
	})
}

func TestSettingsThatAreWrongArePermanentErrors(t *testing.T) {
	locks := lock.New(new(memlease.Store))
	defer locks.Close()
	for name, l := range map[string]lock.Lock{
		"name": locks.Mutex("/"), "ttl": locks.Mutex("a", lock.WithTTL(0)), "waiter ttl": locks.Mutex("a", lock.WithWaiterTTL(0)),
		"wait timeout": locks.Mutex("a", lock.WithWaitTimeout(-1)), "permits": locks.Semaphore("a", 0),
	} {
		_, err := l.Acquire(t.Context())
		require.ErrorIs(t, err, protocol.ErrPermanent, name)
		require.ErrorContains(t, err, name)
	}
}
