package console_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/console"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease/redislease"
)

// tenThousand makes a fleet of 10,000 jobs in a real Redis, with a few outcomes each.
func tenThousand(b *testing.B) (*redislease.Store, []*jobs.Job) {
	store, err := redislease.New(redistest.Start(b).Client(b), "bench")
	require.NoError(b, err)
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
	}
	return store, registry.All()
}

// BenchmarkFirstPage measures a page of 10,000 jobs that nobody has looked at before: the fleet is read for it.
func BenchmarkFirstPage(b *testing.B) {
	store, list := tenThousand(b)
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
	store, list := tenThousand(b)
	c, err := console.New(store, console.WithJobs(func() []*jobs.Job { return list }))
	require.NoError(b, err)
	defer c.Close()
	for b.Loop() {
		w := newRecorder()
		c.ServeHTTP(w, request(http.MethodGet, "/", ""))
		require.Equal(b, http.StatusOK, w.Code)
	}
}
