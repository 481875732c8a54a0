package benchtest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/scheduler"
	"github.com/solotick/solotick/schedules"
)

// ScheduleRow is a number of stored schedules and the interval at which each of them is due. Their first
// ticks are spread evenly over the seconds of the interval.
type ScheduleRow struct {
	Schedules int
	Every     time.Duration
}

// Name names the row in a benchmark.
func (r ScheduleRow) Name() string { return fmt.Sprintf("%dx%s", r.Schedules, r.Every) }

// starts notes how late ticks begin.
type starts struct {
	mu   sync.Mutex
	late []time.Duration
	seen map[string]int64 // the newest tick of each key

	twice, early int
}

// clockError is how much a replica's estimate of the server's clock may be off.
const clockError = 5 * time.Millisecond

func (s *starts) handle(_ context.Context, run jobs.Run) error {
	late := time.Since(run.Tick)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.late = append(s.late, late)
	if late < -clockError {
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
func (s *starts) take() []time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	late := s.late
	s.late = nil
	return late
}

// Schedules puts the schedules of a row and runs 20 replicas in this process for three intervals. It
// measures the second and the third; the replicas start in the first. open returns the store of a replica
// and a function that closes it. Schedules calls put when all schedules are put, before when it begins to
// measure, and after when it has ended. The benchmark fails if a tick runs twice or early.
func Schedules(b *testing.B, row ScheduleRow, open func() (protocol.Store, func()), put, before, after func()) map[string]float64 {
	b.Helper()
	s := &starts{seen: make(map[string]int64, row.Schedules)}
	report, err := jobs.New("report", "", s.handle, jobs.WithSchedules())
	require.NoError(b, err)
	registry := new(jobs.Registry)
	require.NoError(b, registry.Add(report))
	figures := map[string]float64{"due/s": float64(row.Schedules) / row.Every.Seconds()}
	figures["puts/s"] = putSchedules(b, row, report, open)
	put()

	ctx, stop := context.WithCancel(b.Context())
	var replicas sync.WaitGroup
	const fleet = 20
	for i := range fleet {
		store, done := open()
		r, err := scheduler.New(store, registry, scheduler.WithReplica(fmt.Sprint("replica", i)), scheduler.WithObserver(func(scheduler.Event) {}))
		require.NoError(b, err)
		replicas.Go(func() {
			_ = r.Run(ctx)
			done()
		})
	}
	time.Sleep(row.Every)
	s.take()
	before()
	began, used := time.Now(), ProcessorTime()
	time.Sleep(2 * row.Every)
	took, late := time.Since(began), s.take()
	require.NotEmpty(b, late)
	figures["client-us/tick"] = float64((ProcessorTime() - used).Microseconds()) / float64(len(late))
	after()
	figures["MB/replica"] = float64(Heap()) / fleet / (1 << 20)
	stop()
	replicas.Wait()

	slices.Sort(late)
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	figures["ticks/s"], figures["max-ms"] = float64(len(late))/took.Seconds(), ms(late[len(late)-1])
	figures["p50-ms"], figures["p99-ms"] = ms(late[len(late)/2]), ms(late[len(late)*99/100])
	figures["twice"], figures["early"] = float64(s.twice), float64(s.early)
	if s.twice+s.early > 0 {
		b.Errorf("%d ticks ran twice, %d early", s.twice, s.early)
	}
	return figures
}

// putSchedules puts the schedules of a row, and returns how many it put in a second.
func putSchedules(b *testing.B, row ScheduleRow, report *jobs.Job, open func() (protocol.Store, func())) float64 {
	b.Helper()
	store, done := open()
	defer done()
	all, err := schedules.Of(store, report)
	require.NoError(b, err)
	began, seconds := time.Now(), int(row.Every/time.Second)
	const page = 4096
	for from := 0; from < row.Schedules; from += page {
		var rows []schedules.Schedule
		for i := from; i < min(from+page, row.Schedules); i++ {
			rows = append(rows, schedules.Schedule{
				Key: fmt.Sprintf("customer-%07d", i), Cron: fmt.Sprintf("@every %ds offset %ds", seconds, i%seconds), Payload: `{"format": "pdf"}`,
			})
		}
		answers, err := all.PutAll(b.Context(), rows)
		require.NoError(b, err)
		for _, a := range answers {
			require.NoError(b, a.Err)
		}
	}
	return float64(row.Schedules) / time.Since(began).Seconds()
}
