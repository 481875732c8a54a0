package zklease_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/casstore"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/zktest"
)

// atOnce has many goroutines call f b.N times in all, each with a number of its own and a count of its calls.
func atOnce(b *testing.B, goroutines int, f func(g, n int) error) {
	b.Helper()
	var remaining atomic.Int64
	remaining.Store(int64(b.N))
	errs := make([]error, goroutines)
	var all sync.WaitGroup
	b.ResetTimer()
	for g := range goroutines {
		all.Go(func() {
			for n := 1; remaining.Add(-1) >= 0 && errs[g] == nil; n++ {
				errs[g] = f(g, n)
			}
		})
	}
	all.Wait()
	b.StopTimer()
	for _, err := range errs {
		require.NoError(b, err)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pairs/s")
}

// Each pair is a claim of a new tick and its settlement, by many goroutines at once, each with a
// name of its own; or the recipe for a lock that the library has, taken and released. The server
// waits for its disk.
func BenchmarkClaimSettle(b *testing.B) {
	server := zktest.Start(b, "forceSync=yes")
	for _, goroutines := range []int{1, 16, 256} {
		b.Run(fmt.Sprintf("goroutines=%d", goroutines), func(b *testing.B) {
			s := open(b, server.Addr(), "")
			for g := range goroutines {
				_, err := s.Sync(b.Context(), []protocol.Sync{{Name: fmt.Sprint("job", g)}})
				require.NoError(b, err)
			}
			atOnce(b, goroutines, func(g, n int) error {
				c := protocol.Claim{Name: fmt.Sprint("job", g), Tick: int64(n), Holder: "a", Request: "r", TTL: time.Minute, Takeovers: 1}
				a, err := s.Claim(b.Context(), c)
				if err == nil && a.Status != protocol.Granted {
					err = fmt.Errorf("%+v", a)
				}
				if err != nil {
					return err
				}
				return s.Settle(b.Context(), protocol.Grant{
					Name: c.Name, Tick: c.Tick, Holder: "a", Request: "r", Token: a.Token, Attempt: 1, Takeovers: 1, TTL: c.TTL,
				}, "succeeded")
			})
		})
		b.Run(fmt.Sprintf("recipe/goroutines=%d", goroutines), func(b *testing.B) {
			c := connect(b, server.Addr())
			locks := make([]*zk.Lock, goroutines)
			for g := range locks {
				locks[g] = zk.NewLock(c, fmt.Sprint("/locks/job", g), zk.WorldACL(zk.PermAll))
			}
			atOnce(b, goroutines, func(g, _ int) error {
				if err := locks[g].Lock(); err != nil {
					return err
				}
				return locks[g].Unlock()
			})
		})
	}
}

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
