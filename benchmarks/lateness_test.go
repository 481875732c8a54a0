package benchmarks

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/robfig/cron/v3"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease/memlease"
	"github.com/solotick/solotick/scheduler"
)

// Each runner is started 9.5 s before a full minute. What it does in the first 5 s, to get going, is not measured; the
// 20 s after that are. They hold the full minute, when a fifth of the jobs is due at one instant: those whose period
// divides 60 s. The others are shifted, so that they fall on the same seconds of the run whatever minute it is.
const (
	lateJobs    = 10_000
	lateLead    = 9*time.Second + 500*time.Millisecond // no instant is cut in two
	lateWarmUp  = 5 * time.Second
	lateMeasure = 20 * time.Second
)

// nextMinute returns a full minute that leaves time to get ready.
func nextMinute() time.Time {
	return time.Now().Add(lateLead + 2*time.Second).Truncate(time.Minute).Add(time.Minute)
}

// every returns the schedule of a job in a run about a full minute: the same for each but for a shift.
func every(i int, minute time.Time) string {
	period := 1 + i%60
	return fmt.Sprintf("@every %ds offset %ds", period, (minute.Unix()-60)%int64(period))
}

// lags collects how late handlers started, and what it cost to run them.
type lags struct {
	mu   sync.Mutex
	list []time.Duration
	cpu  time.Duration
}

func (l *lags) add(d time.Duration) {
	l.mu.Lock()
	l.list = append(l.list, d)
	l.mu.Unlock()
}

// measure takes down what happens from the end of the warm-up on.
func (l *lags) measure() {
	time.Sleep(lateWarmUp)
	l.mu.Lock()
	l.list = l.list[:0]
	l.mu.Unlock()
	before := cpuTime()
	time.Sleep(lateMeasure)
	l.cpu = cpuTime() - before
}

// cpuTime is what the process has used so far, in user and system mode.
func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func (l *lags) report(b *testing.B) {
	l.mu.Lock()
	defer l.mu.Unlock()
	slices.Sort(l.list)
	require.NotEmpty(b, l.list)
	at := func(q float64) float64 {
		return float64(l.list[int(q*float64(len(l.list)-1))].Microseconds()) / 1000
	}
	b.ReportMetric(at(0.5), "p50-ms")
	b.ReportMetric(at(0.99), "p99-ms")
	b.ReportMetric(at(1), "max-ms")
	b.ReportMetric(float64(l.cpu.Microseconds())/float64(len(l.list)), "cpu-us/run")
	b.ReportMetric(float64(len(l.list)), "runs")
	b.ReportMetric(0, "ns/op")
}

func awaitStart(minute time.Time) {
	runtime.GC() // of what the runner before has left
	time.Sleep(time.Until(minute.Add(-lateLead)))
}

// BenchmarkLateness runs 10,000 jobs of @every 1 to 60 s in one process, as one after the other runner, and reports how
// long after their scheduled time they started, and the processor time per run, of everything that the process did. Both
// runners are given the very same schedules, those of package jobs, and so the same bursts. It runs once, whatever b.N,
// and takes two to three minutes.
func BenchmarkLateness(b *testing.B) {
	b.Run("solotick", func(b *testing.B) {
		late, minute := new(lags), nextMinute()
		var registry jobs.Registry
		for i := range lateJobs {
			job, err := jobs.New(fmt.Sprintf("job-%d", i), every(i, minute), func(_ context.Context, run jobs.Run) error {
				late.add(time.Since(run.Tick))
				return nil
			})
			require.NoError(b, err)
			require.NoError(b, registry.Add(job))
		}
		s, err := scheduler.New(new(memlease.Store), &registry)
		require.NoError(b, err)
		ctx, cancel := context.WithCancel(b.Context())
		awaitStart(minute)
		var running sync.WaitGroup
		running.Go(func() { err = s.Run(ctx) })
		late.measure()
		cancel()
		running.Wait()
		require.NoError(b, err)
		late.report(b)
	})
	b.Run("robfig", func(b *testing.B) {
		late, minute := new(lags), nextMinute()
		c := cron.New()
		for i := range lateJobs {
			job, err := jobs.New(fmt.Sprintf("job-%d", i), every(i, minute), func(context.Context, jobs.Run) error { return nil })
			require.NoError(b, err)
			// robfig tells a job no scheduled time, but all of them are whole seconds.
			c.Schedule(job.Schedule(), cron.FuncJob(func() { late.add(time.Duration(time.Now().Nanosecond())) }))
		}
		awaitStart(minute)
		c.Start()
		late.measure()
		<-c.Stop().Done()
		late.report(b)
	})
}
