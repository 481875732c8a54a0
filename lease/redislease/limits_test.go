package redislease_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/proxytest"
	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/lease/redislease"
)

// patience is how long a call may take beyond its timeout on a loaded machine.
const patience = 2 * time.Second

// failsWithin calls every verb at once and wants each to fail by its limit.
func failsWithin(t *testing.T, s *redislease.Store, limit time.Duration, newCtx func() (context.Context, context.CancelFunc)) {
	t.Helper()
	g := protocol.Grant{Name: "job", Tick: 100, Holder: "a", Request: "r", Token: 1, Attempt: 1, TTL: long}
	var all sync.WaitGroup
	for verb, call := range everyVerb(s, g) {
		all.Go(func() {
			ctx, cancel := newCtx()
			defer cancel()
			began := time.Now()
			err := call(ctx)
			took := time.Since(began)
			assert.Error(t, err, verb)                          //nolint:testifylint // require must not be called here
			assert.NotErrorIs(t, err, protocol.ErrFenced, verb) //nolint:testifylint // the same
			assert.Less(t, took, limit+patience, verb)
		})
	}
	all.Wait()
	if t.Failed() {
		t.FailNow()
	}
}

var limits = map[string]struct {
	timeout, limit time.Duration
	newCtx         func() (context.Context, context.CancelFunc)
}{
	"by the timeout of the store": {200 * time.Millisecond, 200 * time.Millisecond, func() (context.Context, context.CancelFunc) {
		return context.Background(), func() {}
	}},
	"by the deadline of ctx": {30 * time.Second, 300 * time.Millisecond, func() (context.Context, context.CancelFunc) {
		return context.WithTimeout(context.Background(), 300*time.Millisecond)
	}},
	"when ctx is cancelled": {30 * time.Second, 300 * time.Millisecond, func() (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancel(context.Background())
		stop := time.AfterFunc(300*time.Millisecond, cancel)
		return ctx, func() { stop.Stop(); cancel() }
	}},
}

func TestUnansweredCallReturns(t *testing.T) {
	for how, l := range limits {
		t.Run(how, func(t *testing.T) {
			r := newRig(t, redislease.WithTimeout(l.timeout))
			r.proxy.Blackhole()
			failsWithin(t, r.store, l.limit, l.newCtx)
			r.proxy.Heal()
			require.Eventually(t, func() bool { return answers(r.store) }, 20*time.Second, 10*time.Millisecond)
		})
	}
}

func TestUnconnectedCallReturns(t *testing.T) {
	dialers := map[string]func(t *testing.T) *redis.Options{
		"the server does not say hello": func(t *testing.T) *redis.Options {
			proxy := proxytest.New(t, redistest.Start(t).Addr())
			proxy.Blackhole()
			return &redis.Options{Addr: proxy.Addr()}
		},
		"the network does not connect": func(*testing.T) *redis.Options {
			return &redis.Options{Dialer: func(ctx context.Context, _, _ string) (net.Conn, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			}}
		},
	}
	for where, options := range dialers {
		for how, l := range limits {
			t.Run(where+" "+how, func(t *testing.T) {
				s := openFor(t, redis.NewClient(options(t)), redislease.WithTimeout(l.timeout))
				failsWithin(t, s, l.limit, l.newCtx)
			})
		}
	}
}

func TestFrozenServerDelaysCallsForABoundedTime(t *testing.T) {
	srv := redistest.Start(t)
	const holders = 8
	var stores []*redislease.Store
	for range holders {
		stores = append(stores, open(t, srv.Addr(), redislease.WithTimeout(200*time.Millisecond)))
	}
	synced(t, stores[0], "job")
	for _, s := range stores {
		_, _, err := s.Time(t.Context())
		require.NoError(t, err)
	}
	srv.Freeze()
	claim := func(i int) protocol.Claim { return claimOf("job", 100, fmt.Sprintf("h%d", i), "r") }
	var all sync.WaitGroup
	for i, s := range stores {
		all.Go(func() {
			began := time.Now()
			_, err := s.Claim(t.Context(), claim(i))
			assert.Error(t, err) //nolint:testifylint // require must not be called here
			assert.Less(t, time.Since(began), 200*time.Millisecond+patience)
		})
	}
	all.Wait()
	srv.Thaw()

	// The claims were in the server's buffers: it executes them now, though nobody waits for the
	// answers. Asked again, they are answered as they were then.
	holder := ""
	for i, s := range stores {
		a := eventuallyClaimed(t, s, claim(i))
		switch a.Status {
		case protocol.Granted:
			require.Empty(t, holder, "granted to two")
			holder = fmt.Sprintf("h%d", i)
		case protocol.Held:
		default:
			t.Fatalf("%+v", a)
		}
	}
	require.NotEmpty(t, holder)
	for i, s := range stores {
		if a := eventuallyClaimed(t, s, claim(i)); a.Status == protocol.Held {
			require.Equal(t, holder, a.Holder)
		}
	}
}

func TestWhoGaveUpIsNotClaimedFor(t *testing.T) {
	r := newRig(t, redislease.WithTimeout(3*time.Second))
	const lanes, claimers = 4, 100
	var all sync.WaitGroup
	claim := func(name string, limit time.Duration) {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			_, err := r.store.Claim(ctx, claimOf(name, 0, "a", "r"))
			assert.Error(t, err)
		})
	}
	r.proxy.Partition()
	r.proxy.ResetCounts()
	for i := range lanes { // these occupy the lanes until the others have given up
		claim(fmt.Sprintf("first%d", i), 2*time.Second)
	}
	time.Sleep(200 * time.Millisecond)
	for i := range claimers {
		claim(fmt.Sprintf("lock%d", i), 100*time.Millisecond)
	}
	all.Wait()
	r.proxy.Heal()
	require.Eventually(t, func() bool { return answers(r.store) }, 20*time.Second, 10*time.Millisecond)
	require.LessOrEqual(t, r.proxy.CommandsByName()["EVALSHA"], claimers/2, "claims were sent for those who had given up")
}

func TestErrorsKeepTheirReason(t *testing.T) {
	r := newRig(t)
	r.srv.Kill()
	_, err := r.store.Claim(t.Context(), claimOf("job", 0, "a", "r"))
	require.ErrorContains(t, err, `claim "job": `)

	enough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(enough)
	_, err = r.store.Claim(ctx, claimOf("job", 0, "a", "r"))
	require.ErrorIs(t, err, enough)
	require.ErrorIs(t, renewed(r.store, ctx, protocol.Grant{Name: "job", Holder: "a", Request: "r", Token: 1, Attempt: 1, TTL: long}), enough)
}
