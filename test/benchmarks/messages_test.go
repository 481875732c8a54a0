package benchmarks

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/lease/redislease"
)

// BenchmarkMessages sends a replica's reports of 20 ticks to 49 others, or to six of them, and
// reports the processor time of Redis for that (redis-us/batch).
func BenchmarkMessages(b *testing.B) {
	const replicas, near = 50, 6
	server := redistest.Start(b)
	gauge := newRedisGauge(b, server)
	ctx, stop := context.WithCancel(context.Background())
	received := make(chan struct{}, 1<<16)
	var listening sync.WaitGroup
	open := func() *redislease.Store {
		client := redis.NewClient(&redis.Options{Addr: server.Addr()})
		store, err := redislease.New(client, "messages")
		require.NoError(b, err)
		b.Cleanup(func() { _, _ = store.Close(), client.Close() })
		return store
	}
	for i := range replicas - 1 {
		store := open()
		listening.Go(func() {
			_ = store.Subscribe(ctx, func([]byte) { received <- struct{}{} }, fmt.Sprint("replica-", i))
		})
	}
	defer listening.Wait()
	defer stop()
	store, message := open(), []byte("solotick1 1795600000000000 replica-49 abcdefghij\nsw 1795600000000 0"+strings.Repeat(" some-job-12", 20))
	await := func(n int) {
		for range n {
			<-received
		}
	}
	for subscribed := 0; subscribed < replicas-1; time.Sleep(50 * time.Millisecond) {
		require.NoError(b, store.Publish(ctx, message))
		time.Sleep(50 * time.Millisecond)
		subscribed = len(received)
		await(subscribed)
	}
	var letters []protocol.Letter
	for i := range near {
		letters = append(letters, protocol.Letter{To: fmt.Sprint("replica-", i), Message: message})
	}
	for name, send := range map[string]func() int{
		"to 49": func() int { require.NoError(b, store.Publish(ctx, message)); return replicas - 1 },
		"to 6": func() int {
			_, err := store.PublishTo(ctx, letters)
			require.NoError(b, err)
			return near
		},
	} {
		b.Run(name, func(b *testing.B) {
			before := gauge.read(b)
			for range b.N {
				await(send())
			}
			b.ReportMetric(microseconds(gauge.read(b).minus(before).cpu)/float64(b.N), "redis-us/batch")
		})
	}
}
