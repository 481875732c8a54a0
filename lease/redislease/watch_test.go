package redislease_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/lease/redislease"
)

func TestWatchReportsThatItsConnectionFailed(t *testing.T) {
	for how, fail := range map[string]func(r *rig){
		"is cut":        func(r *rig) { r.proxy.Cut() },
		"goes silent":   func(r *rig) { r.proxy.Blackhole() },
		"is never made": func(*rig) {},
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, redislease.WithTimeout(300*time.Millisecond))
			if how == "is never made" {
				r.proxy.Cut()
			}
			woken, ended := make(chan string, 16), make(chan error, 1)
			go func() { ended <- r.store.Watch(t.Context(), func(name string, _ int64) { woken <- name }) }()
			if how != "is never made" {
				require.Empty(t, receive(t, woken))
			}
			fail(r)
			require.ErrorContains(t, receive(t, ended), "watch: ")
		})
	}
}

func TestWatchOutlivesSilence(t *testing.T) {
	t.Parallel()
	r := newRig(t, redislease.WithTimeout(400*time.Millisecond))
	woken, ended := make(chan string, 16), make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { ended <- r.store.Watch(ctx, func(name string, _ int64) { woken <- name }) }()
	require.Empty(t, receive(t, woken))
	require.Eventually(t, func() bool { return r.proxy.CommandsByName()["PING"] >= 2 }, 20*time.Second, 10*time.Millisecond)
	require.NoError(t, r.store.Release(t.Context(), granted(t, r.store, claimOf("lock", 0, "a", "r"))))
	require.Equal(t, "lock", receive(t, woken))
	cancel()
	require.ErrorIs(t, receive(t, ended), context.Canceled)
}

func TestWatchEndsWithItsContext(t *testing.T) {
	r := newRig(t, redislease.WithTimeout(30*time.Second))
	woken, ended := make(chan string, 16), make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { ended <- r.store.Watch(ctx, func(name string, _ int64) { woken <- name }) }()
	require.Empty(t, receive(t, woken))
	r.proxy.Blackhole()
	began := time.Now()
	cancel()
	require.ErrorIs(t, receive(t, ended), context.Canceled)
	require.Less(t, time.Since(began), patience)
}

func TestNobodyIsWokenForNothing(t *testing.T) {
	r := newRig(t)
	woken, ended := make(chan string, 16), make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		ended <- r.store.Watch(ctx, func(name string, tick int64) {
			if tick == 0 {
				woken <- name
			}
		})
	}()
	require.Empty(t, receive(t, woken))
	synced(t, r.store, "job", "other")
	g := granted(t, r.store, claimOf("job", 100, "a", "r"))
	waits := claimOf("job", 101, "b", "r")
	waits.Overlap = protocol.OverlapWait
	a, err := r.store.Claim(t.Context(), waits)
	require.NoError(t, err)
	require.Equal(t, protocol.Busy, a.Status)
	require.NoError(t, r.store.Settle(t.Context(), g, "succeeded"))
	require.Equal(t, "job", receive(t, woken))

	// Nobody waits for the next, or has to make room: the next notification is the end of a lock.
	require.NoError(t, r.store.Settle(t.Context(), granted(t, r.store, claimOf("job", 102, "a", "r")), "succeeded"))
	triggered, err := r.store.Trigger(t.Context(), protocol.Trigger{Name: "job", By: "ops", Request: "t"})
	require.NoError(t, err)
	granted(t, r.store, claimOf("job", triggered.Tick, "a", "r"))
	waits.Overlap = protocol.OverlapReplace
	for range 3 {
		waits.Tick = 103 // older than the tick that is held
		a, err = r.store.Claim(t.Context(), waits)
		require.NoError(t, err)
		require.Equal(t, protocol.Queued, a.Status)
	}
	require.NoError(t, r.store.Release(t.Context(), granted(t, r.store, claimOf("lock", 0, "a", "r"))))
	require.Equal(t, "lock", receive(t, woken))

	// The holder that has to make room is notified once.
	granted(t, r.store, claimOf("other", 100, "a", "r"))
	waits.Name = "other"
	for range 3 {
		a, err = r.store.Claim(t.Context(), waits)
		require.NoError(t, err)
		require.Equal(t, protocol.Queued, a.Status)
	}
	require.Equal(t, "other", receive(t, woken))
	require.NoError(t, r.store.Release(t.Context(), granted(t, r.store, claimOf("lock", 0, "a", "r"))))
	require.Equal(t, "lock", receive(t, woken))
	cancel()
	require.ErrorIs(t, receive(t, ended), context.Canceled)
}

// A watcher learns of a trigger without polling.
func TestATriggerIsPublished(t *testing.T) {
	r := newRig(t)
	synced(t, r.store, "job")
	sub := r.srv.Client(t).Subscribe(t.Context(), "solotick:default:wake")
	defer func() { require.NoError(t, sub.Close()) }()
	_, err := sub.Receive(t.Context())
	require.NoError(t, err)
	triggered, err := r.store.Trigger(t.Context(), protocol.Trigger{Name: "job", By: "ops", Request: "t"})
	require.NoError(t, err)
	m, err := sub.ReceiveTimeout(t.Context(), 20*time.Second)
	require.NoError(t, err)
	require.Equal(t, fmt.Sprintf("job %d", triggered.Tick), m.(*redis.Message).Payload)
}

func TestWatchReconnectsSoonAfterItsConnectionIsLost(t *testing.T) {
	srv := redistest.Start(t)
	s, admin := open(t, srv.Addr()), srv.Client(t)
	received := make(chan string, 100)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil { // as the scheduler does
			_ = s.Watch(ctx, func(name string, _ int64) { received <- name })
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
		}
	}()
	require.Empty(t, <-received)
	require.NoError(t, admin.ClientKillByFilter(ctx, "TYPE", "pubsub").Err())
	began := time.Now()
	select {
	case <-received:
	case <-time.After(30 * time.Second):
	}
	require.Less(t, time.Since(began), 3*time.Second)
	stop()
	<-done
}
