package benchmarks

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/lease/redislease"
	"github.com/solotick/solotick/lock"
)

// BenchmarkLockNames takes and releases a lock of a new name each time, as a service does that locks
// by order or customer, and reports what that leaves in Redis at its most and ten minutes later.
func BenchmarkLockNames(b *testing.B) {
	server := redistest.Start(b)
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	b.Cleanup(func() { require.NoError(b, client.Close()) })
	store, err := redislease.New(client, "names")
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, store.Close()) })
	locks := lock.New(store)
	defer locks.Close()
	left := func() (keys, bytes float64) {
		info, err := client.Info(b.Context(), "memory").Result()
		require.NoError(b, err)
		_, rest, _ := strings.Cut(info, "used_memory:")
		number, _, _ := strings.Cut(rest, "\r")
		bytes, err = strconv.ParseFloat(number, 64)
		require.NoError(b, err)
		return float64(client.DBSize(b.Context()).Val()), bytes
	}
	_, before := left()
	names := make(chan int)
	var all sync.WaitGroup
	for range 64 {
		all.Go(func() {
			for i := range names {
				hold, err := locks.Mutex(fmt.Sprint("order-", i)).Acquire(b.Context())
				if err == nil {
					err = hold.Release(b.Context())
				}
				if err != nil {
					b.Error(err)
				}
			}
		})
	}
	var mostKeys, mostBytes float64
	for i := range b.N {
		if i%10000 == 0 {
			keys, bytes := left()
			mostKeys, mostBytes = max(mostKeys, keys), max(mostBytes, bytes-before)
		}
		names <- i
	}
	close(names)
	all.Wait()
	keys, bytes := left()
	b.ReportMetric(max(mostKeys, keys), "most-keys")
	b.ReportMetric(max(mostBytes, bytes-before)/1e6, "most-MB")
	b.StopTimer()
	if b.N < 1000 {
		return // the first round of the testing package
	}
	time.Sleep(10 * time.Minute)
	keys, bytes = left()
	b.ReportMetric(keys, "keys-after")
	b.ReportMetric((bytes-before)/1e6, "MB-after")
}
