package benchmarks

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/robfig/cron/v3"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/benchtest"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease/memlease"
	"github.com/solotick/solotick/scheduler"
)

const lateJobs = 10_000

// lateForm says how long is measured. Each runner is started some seconds before a whole second,
// zero. What it does during the warm-up, to get going, is not measured; what comes after it is.
// That holds zero, when a fifth of the jobs is due at one instant: those whose period divides 60 s.
// The schedules are shifted, so that they fall on the same seconds of each run, whatever zero it
// has.
type lateForm struct {
	rounds                int
	lead, warmUp, measure time.Duration // lead is from the start to zero; no instant is cut in two
}

func lateFormOf() lateForm {
	if testing.Short() {
		return lateForm{3, 4500 * time.Millisecond, 3 * time.Second, 5 * time.Second}
	}
	return lateForm{9, 9500 * time.Millisecond, 5 * time.Second, 20 * time.Second}
}

// nextZero leaves time to get ready.
func (f lateForm) nextZero() time.Time {
	return time.Now().Add(f.lead + 2*time.Second).Truncate(time.Second).Add(time.Second)
}

// every returns the schedule of a job in a run about zero: the same for each run but for a shift.
func every(i int, zero time.Time) string {
	period := 1 + i%60
	return fmt.Sprintf("@every %ds offset %ds", period, (zero.Unix()-60)%int64(period))
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

// collect collects what happens from the end of the warm-up on.
func (l *lags) collect(f lateForm) {
	time.Sleep(f.warmUp)
	l.mu.Lock()
	l.list = l.list[:0]
	l.mu.Unlock()
	before := benchtest.ProcessorTime()
	time.Sleep(f.measure)
	l.cpu = benchtest.ProcessorTime() - before
}

// lateness holds the measurements of a runner in one round.
type lateness struct{ p50, p99, most, cpuPerRun, runs float64 }

func (l *lags) result(b *testing.B) lateness {
	l.mu.Lock()
	defer l.mu.Unlock()
	slices.Sort(l.list)
	require.NotEmpty(b, l.list)
	at := func(q float64) float64 { return benchtest.Milliseconds(l.list[int(q*float64(len(l.list)-1))]) }
	runs := float64(len(l.list))
	return lateness{at(0.5), at(0.99), at(1), microseconds(l.cpu) / runs, runs}
}

func (f lateForm) awaitStart(zero time.Time) {
	runtime.GC() // of what the runner before has left
	time.Sleep(time.Until(zero.Add(-f.lead)))
}

// BenchmarkLateness runs 10,000 jobs of @every 1 to 60 s in one process, in nine rounds by this
// scheduler and by robfig's runner in turn, and reports of each the median of the rounds: how long
// after their scheduled time runs started, and the processor time for a run, of everything that the
// process did. p99-ratio is the median p99 of ours by that of robfig's. Both are given the same
// schedules, those of package jobs, and so the same bursts. It measures once, whatever -benchtime
// says, and takes about ten minutes. With -short it is three rounds, of a quarter of the time each:
// a minute.
func BenchmarkLateness(b *testing.B) {
	benchtest.Once(b, func() map[string]float64 {
		form := lateFormOf()
		runners := map[string]func(*testing.B, lateForm) lateness{"solotick": latenessOfSolotick, "robfig": latenessOfRobfig}
		rounds := make(map[string][]lateness)
		for i := range form.rounds {
			for j := range 2 { // the first of a round is the second of the next
				name := []string{"solotick", "robfig"}[(i+j)%2]
				r := runners[name](b, form)
				rounds[name] = append(rounds[name], r)
				b.Logf("round %d: %s: p50 %.1f ms, p99 %.1f ms, most %.1f ms, %.1f µs a run, %.0f runs", i+1, name, r.p50, r.p99, r.most, r.cpuPerRun, r.runs)
			}
		}
		metrics := make(map[string]float64)
		for name, all := range rounds {
			median := func(unit string, of func(lateness) float64) {
				values := make([]float64, len(all))
				for i, r := range all {
					values[i] = of(r)
				}
				slices.Sort(values)
				metrics[name+"-"+unit] = values[len(values)/2]
			}
			median("p50-ms", func(r lateness) float64 { return r.p50 })
			median("p99-ms", func(r lateness) float64 { return r.p99 })
			median("max-ms", func(r lateness) float64 { return r.most })
			median("cpu-us/run", func(r lateness) float64 { return r.cpuPerRun })
			median("runs", func(r lateness) float64 { return r.runs })
		}
		metrics["p99-ratio"] = metrics["solotick-p99-ms"] / metrics["robfig-p99-ms"]
		return metrics
	})
}

func latenessOfSolotick(b *testing.B, form lateForm) lateness {
	late, zero := new(lags), form.nextZero()
	var registry jobs.Registry
	for i := range lateJobs {
		job, err := jobs.New(fmt.Sprintf("job-%d", i), every(i, zero), func(_ context.Context, run jobs.Run) error {
			late.add(time.Since(run.Tick))
			return nil
		})
		require.NoError(b, err)
		require.NoError(b, registry.Add(job))
	}
	s, err := scheduler.New(new(memlease.Store), &registry)
	require.NoError(b, err)
	ctx, cancel := context.WithCancel(b.Context())
	form.awaitStart(zero)
	var running sync.WaitGroup
	running.Go(func() { err = s.Run(ctx) })
	late.collect(form)
	cancel()
	running.Wait()
	require.NoError(b, err)
	return late.result(b)
}

func latenessOfRobfig(b *testing.B, form lateForm) lateness {
	late, zero := new(lags), form.nextZero()
	c := cron.New()
	for i := range lateJobs {
		job, err := jobs.New(fmt.Sprintf("job-%d", i), every(i, zero), func(context.Context, jobs.Run) error { return nil })
		require.NoError(b, err)
		// robfig gives a job no scheduled time, but all of them are whole seconds.
		c.Schedule(job.Schedule(), cron.FuncJob(func() { late.add(time.Duration(time.Now().Nanosecond())) }))
	}
	form.awaitStart(zero)
	c.Start()
	late.collect(form)
	<-c.Stop().Done()
	return late.result(b)
}
