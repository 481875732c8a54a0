package redislease_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/redislease"
)

// load is a few replicas that take, keep and settle leases of the same names all the time, and
// write it down.
type load struct {
	journal
	t      *testing.T
	stores []*redislease.Store
	names  []string
	stop   context.CancelFunc
	done   sync.WaitGroup
}

const (
	loadTerm    = 4 * time.Second
	loadTimeout = 400 * time.Millisecond
)

// startLoad has each of some replicas, which use what connect returns, hold several of the names at
// once.
func startLoad(t *testing.T, connect func() redis.UniversalClient, namespace string, opts ...redislease.Option) *load {
	t.Helper()
	const replicas, hands, names = 2, 4, 6
	l := &load{t: t}
	for i := range names {
		l.names = append(l.names, fmt.Sprintf("job%d", i))
	}
	ctx, stop := context.WithCancel(context.Background())
	l.stop = stop
	for r := range replicas {
		s := openForIn(t, connect(), namespace, append(opts, redislease.WithTimeout(loadTimeout))...)
		l.stores = append(l.stores, s)
		renewer := lease.NewRenewer(s)
		t.Cleanup(renewer.Close)
		for h := range hands {
			l.done.Go(func() { l.work(ctx, renewer, fmt.Sprintf("r%dh%d", r, h)) })
		}
	}
	t.Cleanup(l.end)
	return l
}

// end stops the work and waits for it.
func (l *load) end() {
	l.stop()
	l.done.Wait()
}

// work takes one lease after the other: a plain lock, or a tick that is settled at its end.
func (l *load) work(ctx context.Context, renewer *lease.Renewer, holder string) {
	for ctx.Err() == nil {
		c := lease.Claim{Name: l.names[rand.IntN(len(l.names))], Holder: holder, TTL: loadTerm, Takeovers: 1000}
		if rand.IntN(2) == 0 {
			c.Tick = time.Now().Truncate(100 * time.Millisecond).UnixMilli() // as others may at the same time
		} else {
			c.Name += "-lock"
		}
		held, err := renewer.Acquire(ctx, c)
		begin := time.Now()
		if err != nil {
			linger(ctx, 5*time.Millisecond)
			continue
		}
		hold := rand.N(40 * time.Millisecond)
		if rand.IntN(20) == 0 {
			hold = rand.N(4 * time.Second)
		}
		linger(held.Context(), hold)
		w := l.write(held, begin)
		limit, cancel := context.WithTimeout(context.Background(), time.Second)
		if c.Tick == 0 {
			_ = held.Release(limit)
		} else if held.Settle(limit, "succeeded") == nil {
			l.settle(w)
		}
		cancel()
	}
}

// goesOn waits until more leases were granted, by all replicas together.
func (l *load) goesOn() {
	l.t.Helper()
	const enough = 20
	before := l.grants()
	require.Eventually(l.t, func() bool { return l.grants() >= before+enough }, 40*time.Second, 10*time.Millisecond,
		"no leases are granted any more")
}

func linger(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// kept are leases of a long TTL, of names that nobody else wants.
type kept struct {
	t      *testing.T
	leases []*lease.Lease
}

// keep holds so many until the end of t.
func keep(t *testing.T, s protocol.Store, count int) *kept {
	t.Helper()
	renewer := lease.NewRenewer(s)
	t.Cleanup(renewer.Close)
	k := &kept{t: t}
	for i := range count {
		c := lease.Claim{Name: fmt.Sprintf("kept%d", i), Tick: 100, Holder: "a", TTL: 30 * time.Second}
		require.Eventually(t, func() bool {
			l, err := renewer.Acquire(context.Background(), c)
			k.leases = append(k.leases, l)
			if err != nil {
				k.leases = k.leases[:i]
			}
			return err == nil
		}, 20*time.Second, 10*time.Millisecond)
	}
	return k
}

// held wants all of them to be held, by the store's account as well.
func (k *kept) held() {
	k.t.Helper()
	for _, l := range k.leases {
		require.True(k.t, l.Valid())
		require.Eventually(k.t, func() bool {
			err := l.SetAttempt(context.Background(), 1)
			require.NotErrorIs(k.t, err, protocol.ErrFenced)
			return err == nil
		}, 20*time.Second, 10*time.Millisecond)
	}
}

// settle ends them.
func (k *kept) settle() {
	k.t.Helper()
	k.held()
	for _, l := range k.leases {
		require.NoError(k.t, l.Settle(k.t.Context(), "succeeded"))
	}
}
