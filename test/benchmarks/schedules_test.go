package benchmarks

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/benchtest"
	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease/redislease"
	"github.com/solotick/solotick/scheduler"
	"github.com/solotick/solotick/schedules"
)

// started notes how late ticks begin.
type started struct {
	mu   sync.Mutex
	late []time.Duration
	seen map[string]int64 // the newest tick of each key
	twice,
	early int
}

func (s *started) handle(_ context.Context, run jobs.Run) error {
	late := time.Since(run.Tick)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.late = append(s.late, late)
	if late < -5*time.Millisecond { // the clock of the server is this machine's, estimated
		s.early++
	}
	if tick := run.Tick.UnixMilli(); s.seen[run.Key] >= tick {
		s.twice++
	} else {
		s.seen[run.Key] = tick
	}
	return nil
}

// take returns what was noted since the last call.
func (s *started) take() []time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	late := s.late
	s.late = nil
	return late
}

// BenchmarkSchedules puts schedules that lie in the store, of one job, spread over a period, and has 20
// replicas in this process run them for three periods, on a Redis of its own. It reports how many were
// put a second, the bytes of Redis for each (never run, and after the run), the ticks a second, how late
// they began, commands of Redis a tick, processor time of Redis and of this process a tick, and the
// memory of this process for each replica. No tick may run twice, nor early.
func BenchmarkSchedules(b *testing.B) {
	for _, row := range []struct {
		schedules int
		every     time.Duration
	}{{10_000, 10 * time.Second}, {30_000, 10 * time.Second}, {60_000, time.Minute}, {100_000, 20 * time.Second}, {300_000, time.Minute}, {1_000_000, 3 * time.Minute}} {
		b.Run(fmt.Sprintf("redis/%d/%s", row.schedules, row.every), func(b *testing.B) {
			benchtest.Once(b, func() map[string]float64 { return runSchedules(b, row.schedules, row.every) })
		})
	}
}

func runSchedules(b *testing.B, n int, every time.Duration) map[string]float64 {
	b.Helper()
	server := redistest.Start(b)
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer func() { _ = client.Close() }()
	s := &started{seen: make(map[string]int64, n)}
	report, err := jobs.New("report", "", s.handle, jobs.WithSchedules())
	require.NoError(b, err)
	registry := new(jobs.Registry)
	require.NoError(b, registry.Add(report))

	figures := map[string]float64{}
	store, err := redislease.New(client, "bench")
	require.NoError(b, err)
	defer func() { _ = store.Close() }()
	list, err := schedules.Of(store, report)
	require.NoError(b, err)
	empty := usedMemory(b, client)
	began := time.Now()
	seconds := int(every / time.Second)
	for from := 0; from < n; from += 4096 {
		rows := make([]schedules.Schedule, 0, 4096)
		for i := from; i < min(from+4096, n); i++ {
			rows = append(rows, schedules.Schedule{
				Key: fmt.Sprintf("customer-%07d", i), Payload: `{"format":"pdf"}`,
				Cron: fmt.Sprintf("@every %ds offset %ds", seconds, i%seconds), Start: time.Now().Add(every / 2),
			})
		}
		answers, err := list.PutAll(b.Context(), rows)
		require.NoError(b, err)
		for _, a := range answers {
			require.NoError(b, a.Err)
		}
	}
	figures["puts/s"] = float64(n) / time.Since(began).Seconds()
	figures["B/schedule"] = (usedMemory(b, client) - empty) / float64(n)

	gauge := newRedisGauge(b, server)
	ctx, stop := context.WithCancel(b.Context())
	var replicas sync.WaitGroup
	for i := range 20 {
		own := redis.NewClient(&redis.Options{Addr: server.Addr()})
		store, err := redislease.New(own, "bench")
		require.NoError(b, err)
		r, err := scheduler.New(store, registry, scheduler.WithReplica(fmt.Sprint("replica", i)), scheduler.WithObserver(func(scheduler.Event) {}))
		require.NoError(b, err)
		replicas.Go(func() {
			_ = r.Run(ctx)
			_, _ = store.Close(), own.Close()
		})
	}
	time.Sleep(every) // the first period, in which all start
	s.take()
	before, beganAt, used := gauge.read(b), time.Now(), processTime()
	time.Sleep(2 * every)
	after, took := gauge.read(b), time.Since(beganAt)
	late := s.take()
	figures["client-us/tick"] = microseconds(processTime()-used) / float64(len(late))
	during := after.minus(before)
	var memory runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&memory)
	stop()
	replicas.Wait()

	slices.Sort(late)
	require.NotEmpty(b, late)
	figures["ticks/s"] = float64(len(late)) / took.Seconds()
	figures["due/s"] = float64(n) / every.Seconds()
	figures["p50-ms"], figures["p99-ms"] = ms(late[len(late)/2]), ms(late[len(late)*99/100])
	figures["max-ms"] = ms(late[len(late)-1])
	figures["redis-us/tick"] = microseconds(during.cpu) / float64(len(late))
	figures["scripts/tick"] = during.scripts / float64(len(late))
	figures["MB/replica"] = float64(memory.HeapAlloc) / 20 / (1 << 20)
	figures["B/schedule-run"] = (usedMemory(b, client) - empty) / float64(n)
	figures["twice"], figures["early"] = float64(s.twice), float64(s.early)
	b.Logf("redis, of %s: %s", during.cpu, during.dearest())
	if s.twice+s.early > 0 {
		b.Errorf("%d ticks ran twice, %d early", s.twice, s.early)
	}
	return figures
}

// processTime returns the processor time of this process.
func processTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

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
