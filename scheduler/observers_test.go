package scheduler_test

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease/memlease"
	"github.com/solotick/solotick/scheduler"
)

func TestHarmfulObserverHarmsOnlyItself(t *testing.T) {
	for name, harm := range map[string]func(forever <-chan struct{}){
		"blocks for ever":    func(forever <-chan struct{}) { <-forever },
		"is slow":            func(<-chan struct{}) { time.Sleep(time.Minute) },
		"panics":             func(<-chan struct{}) { panic("no") },
		"ends its goroutine": func(<-chan struct{}) { runtime.Goexit() },
	} {
		t.Run(name, func(t *testing.T) {
			inFleet(t, func(f *fleet) {
				forever := make(chan struct{})
				f.job("job", "@every 10s", takes(time.Second))
				f.leader("leader", leads)
				f.startMany(2, scheduler.WithObserver(func(scheduler.Event) { harm(forever) }), scheduler.WithShutdownGrace(2*time.Second))
				f.sleepTo(65 * time.Second)
				require.Equal(t, "10s, 20s, 30s, 40s, 50s, 1m0s", f.story("job"))
				require.Equal(t, map[protocol.Outcome]int{"succeeded": 6}, f.fates("job"))
				require.Len(t, f.inOrder("leader"), 1)
				for _, r := range f.replicas {
					stopped := time.Now()
					f.halt(r)
					require.NoError(t, r.err)
					require.LessOrEqual(t, time.Since(stopped), 4*time.Second)
				}
				close(forever)
				time.Sleep(time.Minute) // the slow one has to end within the bubble
			})
		})
	}
}

func TestDroppedEventsAreCountedAndReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var registry jobs.Registry
		for i := range 20 {
			job, err := jobs.New("j"+string(rune('a'+i)), "* * * * * *", takes(0))
			require.NoError(t, err)
			require.NoError(t, registry.Add(job))
		}
		var all, dropped atomic.Int64
		open := make(chan struct{})
		var got []scheduler.Event
		store, err := memlease.New("test")
		require.NoError(t, err)
		s, err := scheduler.New(store, &registry,
			scheduler.WithSyncObserver(func(e scheduler.Event) {
				if d, ok := e.(scheduler.EventsDropped); ok {
					dropped.Add(int64(d.Count))
				} else {
					all.Add(1)
				}
			}),
			scheduler.WithObserver(func(e scheduler.Event) {
				<-open
				got = append(got, e)
			}))
		require.NoError(t, err)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- s.Run(ctx) }()
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		require.Positive(t, dropped.Load())
		close(open)
		stop()
		require.NoError(t, <-ended)
		lost := dropped.Load() // more may have been dropped while the observer caught up

		var count, reports int64
		var last time.Time
		for _, e := range got {
			switch e := e.(type) {
			case scheduler.EventsDropped:
				require.Empty(t, e.Panic)
				reports++
				count += int64(e.Count)
			case scheduler.RunStarted:
				require.False(t, e.Run.Tick.Before(last), "in order")
				last = e.Run.Tick
			}
		}
		require.Equal(t, lost, count)
		require.Equal(t, all.Load(), lost+int64(len(got))-reports, "every event is taken or counted")
	})
}

func TestPanickingObserverIsReportedToTheOthers(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 10s", takes(0))
		var queued atomic.Int64
		f.start("a",
			scheduler.WithObserver(func(e scheduler.Event) {
				if _, ok := e.(scheduler.RunStarted); ok {
					panic("a\nb")
				}
			}),
			scheduler.WithSyncObserver(func(e scheduler.Event) {
				if _, ok := e.(scheduler.RunSettled); ok {
					panic("c")
				}
			}),
			scheduler.WithObserver(func(e scheduler.Event) {
				if d, ok := e.(scheduler.EventsDropped); ok {
					require.Contains(t, []scheduler.EventsDropped{{Count: 1, Panic: "a b"}, {Count: 1, Panic: "c"}}, d)
					queued.Add(1)
				}
			}))
		f.sleepTo(15 * time.Second)
		require.EqualValues(t, 2, queued.Load())
		seen := map[string]int{}
		for _, e := range f.events {
			if d, ok := e.event.(scheduler.EventsDropped); ok {
				seen[d.Panic] += d.Count
			}
		}
		require.Equal(t, map[string]int{"a b": 1, "c": 1}, seen)
		require.Equal(t, map[protocol.Outcome]int{"succeeded": 1}, f.fates("job"))
	})
}

func TestRunThatCannotBeginIsTakenOver(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 1m", takes(time.Second))
		stuck := make(chan struct{})
		var blocked atomic.Int64
		f.startMany(2, scheduler.WithSyncObserver(func(e scheduler.Event) {
			if s, ok := e.(scheduler.RunStarted); ok && s.Run.Attempt == 1 && blocked.Add(1) == 1 {
				<-stuck
			}
		}))
		f.sleepTo(time.Minute + 3*ttl)
		grants := f.grantsOf("job", at(time.Minute))
		require.Len(t, grants, 2)
		require.NotEqual(t, grants[0].holder, grants[1].holder)
		require.LessOrEqual(t, grants[1].at.Sub(grants[0].at), 2*ttl+time.Second)
		runs := f.runs.of("job")
		require.Len(t, runs, 1)
		require.Equal(t, 2, runs[0].Attempt)
		close(stuck)
		f.sleepTo(2*time.Minute + 5*time.Second)
		require.Len(t, f.runs.of("job"), 2, "what lost its lease before it began does not begin")
		require.Equal(t, map[protocol.Outcome]int{"succeeded": 2}, f.fates("job"))
	})
}
