package zklease_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/casstore"
)

// BenchmarkWatch is how long it takes a process that has just started to watch 10,000 names, and
// then to see a change of each.
func BenchmarkWatch(b *testing.B) {
	const names = 10_000
	s := open(b, shared.Addr(), "")
	write := func(n int, from []uint64) {
		var all sync.WaitGroup
		for g := range 64 {
			all.Go(func() {
				for i := g; i < names; i += 64 {
					kept, _, err := s.Medium().Put(b.Context(), fmt.Sprint("item/job", i), fmt.Append(nil, n, strings.Repeat("x", 800)), from[i])
					if err != nil {
						b.Error(err)
						return
					}
					from[i] = kept.Revision
				}
			})
		}
		all.Wait()
	}
	revisions := make([]uint64, names)
	write(0, revisions)
	for n := 1; b.Loop(); n++ {
		other := open(b, shared.Addr(), strings.TrimPrefix(s.Path(), "/solotick/"))
		ctx, cancel := context.WithCancel(b.Context())
		ready, seen, ended := make(chan struct{}), make(chan struct{}, names), make(chan error, 1)
		began := time.Now()
		go func() {
			ended <- other.Medium().Watch(ctx, func(string, casstore.Kept) { seen <- struct{}{} }, func() { close(ready) })
		}()
		<-ready
		b.ReportMetric(float64(time.Since(began).Milliseconds()), "watching-ms")
		began = time.Now()
		write(n, revisions)
		wrote := time.Since(began)
		for range names {
			<-seen
		}
		b.ReportMetric(float64(wrote.Milliseconds()), "written-ms")
		b.ReportMetric(float64(time.Since(began).Milliseconds()), "seen-ms")
		cancel()
		require.Error(b, <-ended)
	}
	b.ReportMetric(0, "ns/op")
}
