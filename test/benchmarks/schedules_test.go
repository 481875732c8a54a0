package benchmarks

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/benchtest"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/lease/redislease"
)

// BenchmarkSchedules runs schedules that lie in a Redis of their own: see benchtest.Schedules. It reports
// besides the bytes of Redis for each schedule, before it ran and after, and for each tick the scripts
// that Redis ran and its processor time.
func BenchmarkSchedules(b *testing.B) {
	for _, row := range []benchtest.ScheduleRow{
		{Schedules: 10_000, Every: 10 * time.Second}, {Schedules: 30_000, Every: 10 * time.Second}, {Schedules: 60_000, Every: 10 * time.Second},
		{Schedules: 300_000, Every: time.Minute}, {Schedules: 1_000_000, Every: 3 * time.Minute},
	} {
		b.Run(row.Name(), func(b *testing.B) {
			benchtest.Once(b, func() map[string]float64 {
				server := redistest.Start(b)
				client := server.Client(b)
				gauge, empty := newRedisGauge(b, server), usedMemory(b, client)
				var before redisLoad
				more := map[string]float64{}
				var during redisLoad
				figures := benchtest.Schedules(b, row, func() (protocol.Store, func()) {
					own := redis.NewClient(&redis.Options{Addr: server.Addr()})
					store, err := redislease.New(own, "bench")
					require.NoError(b, err)
					return store, func() { _, _ = store.Close(), own.Close() }
				}, func() {
					more["B/schedule"] = (usedMemory(b, client) - empty) / float64(row.Schedules)
				}, func() { before = gauge.read(b) }, func() { during = gauge.read(b).minus(before) })
				ticks := figures["ticks/s"] * 2 * row.Every.Seconds()
				more["redis-us/tick"], more["scripts/tick"] = microseconds(during.cpu)/ticks, during.scripts/ticks
				more["B/schedule-run"] = (usedMemory(b, client) - empty) / float64(row.Schedules)
				b.Logf("redis, of %s: %s", during.cpu, during.dearest())
				maps.Copy(figures, more)
				return figures
			})
		})
	}
}

// usedMemory returns the bytes that Redis has allocated.
func usedMemory(b *testing.B, client *redis.Client) (bytes float64) {
	b.Helper()
	info, err := client.Info(b.Context(), "memory").Result()
	require.NoError(b, err)
	for line := range strings.Lines(info) {
		if text, ok := strings.CutPrefix(strings.TrimSpace(line), "used_memory:"); ok {
			_, err := fmt.Sscan(text, &bytes)
			require.NoError(b, err)
		}
	}
	return bytes
}
