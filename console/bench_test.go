package console_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/console"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/proxytest"
	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease/redislease"
)

// tenThousand makes a fleet of 10,000 jobs in a real Redis, with five outcomes each.
// delay is how long the answers of that take.
func tenThousand(b *testing.B, delay time.Duration) (*redislease.Store, []*jobs.Job) {
	proxy := proxytest.New(b, redistest.Start(b).Addr())
	client := redis.NewClient(&redis.Options{Addr: proxy.Addr(), MaxRetries: -1, ContextTimeoutEnabled: true})
	b.Cleanup(func() { _ = client.Close() })
	store, err := redislease.New(client, "bench")
	require.NoError(b, err)
	b.Cleanup(func() { _ = store.Close() })
	defer proxy.Delay(delay, proxytest.Replies)
	registry := new(jobs.Registry)
	var syncs []protocol.Sync
	mark := time.Now().Add(-time.Hour).UnixMilli()
	for i := range 10_000 {
		job, err := jobs.New(fmt.Sprintf("job-%05d", i), fmt.Sprintf("%d %d * * *", i%60, i/60%24), func(context.Context, jobs.Run) error { return nil })
		require.NoError(b, err)
		require.NoError(b, registry.Add(job))
		syncs = append(syncs, protocol.Sync{Name: job.Name(), Watermark: mark, Schedule: "UTC " + job.Spec().Schedule})
	}
	for some := range slices.Chunk(syncs, 200) {
		_, err := store.Sync(b.Context(), some)
		require.NoError(b, err)
		var workers sync.WaitGroup
		for _, job := range some {
			workers.Go(func() {
				for n := range int64(5) {
					tick := (mark/1000 + 60*n + 60) * 1000
					a, err := store.Claim(b.Context(), protocol.Claim{Name: job.Name, Tick: tick, Holder: "worker-1", Request: "r", TTL: time.Minute})
					assert.NoError(b, err)
					grant := protocol.Grant{Name: job.Name, Tick: tick, Holder: "worker-1", Request: "r", Token: a.Token, Attempt: 1, TTL: time.Minute, Note: "took a while"}
					assert.NoError(b, store.Settle(b.Context(), grant, "succeeded"))
				}
			})
		}
		workers.Wait()
	}
	return store, registry.All()
}

// BenchmarkFirstPage measures a page of 10,000 jobs that nobody has looked at before: the fleet is
// read for it.
func BenchmarkFirstPage(b *testing.B) {
	for _, delay := range []time.Duration{0, 2 * time.Millisecond} {
		b.Run(delay.String(), func(b *testing.B) { firstPages(b, delay) })
	}
}

func firstPages(b *testing.B, delay time.Duration) {
	store, list := tenThousand(b, delay)
	for _, path := range []string{"/", "/?q=job-09", "/timeline", "/load", "/api/v1/jobs"} {
		b.Run(path, func(b *testing.B) {
			var bytes int
			for b.Loop() {
				c, err := console.New(store, console.WithJobs(func() []*jobs.Job { return list }))
				require.NoError(b, err)
				w := newRecorder()
				c.ServeHTTP(w, request(http.MethodGet, path, ""))
				require.Equal(b, http.StatusOK, w.Code)
				bytes = w.Body.Len()
				c.Close()
			}
			b.ReportMetric(float64(bytes), "bytes")
		})
	}
}

// BenchmarkNextPage measures the same page while the fleet was read a moment ago.
func BenchmarkNextPage(b *testing.B) {
	store, list := tenThousand(b, 0)
	c, err := console.New(store, console.WithJobs(func() []*jobs.Job { return list }))
	require.NoError(b, err)
	defer c.Close()
	for b.Loop() {
		w := newRecorder()
		c.ServeHTTP(w, request(http.MethodGet, "/", ""))
		require.Equal(b, http.StatusOK, w.Code)
	}
}
