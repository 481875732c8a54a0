package main

import (
	"context"
	"syscall"
	"time"
)

// fault is a disturbance of a fleet, again and again while it is observed.
type fault struct {
	name  string
	work  time.Duration   // of the job
	skews []time.Duration // of the replicas' clocks
	every time.Duration   // how often it happens
	do    func(ctx context.Context, f *fleet, n int)
}

var faults = []fault{
	{name: "none", every: time.Hour},
	{name: "clocks 0.3 s apart", skews: []time.Duration{-300 * time.Millisecond, 0, 300 * time.Millisecond}, every: time.Hour},
	{name: "kill -9", work: 500 * time.Millisecond, every: 3*time.Second + 100*time.Millisecond, do: func(_ context.Context, f *fleet, n int) {
		f.restart(n, syscall.SIGKILL)
	}},
	{name: "SIGSTOP for 6 s", work: 500 * time.Millisecond, every: 4*time.Second + 200*time.Millisecond, do: func(ctx context.Context, f *fleet, n int) {
		f.freeze(ctx, n, 6*time.Second)
	}},
	{name: "Redis emptied", work: 500 * time.Millisecond, every: 2*time.Second + 200*time.Millisecond, do: func(ctx context.Context, f *fleet, _ int) {
		f.empty(ctx)
	}},
	{name: "rolling deploy", work: 500 * time.Millisecond, every: 2*time.Second + 100*time.Millisecond, do: func(_ context.Context, f *fleet, n int) {
		f.restart(n, syscall.SIGTERM)
	}},
}

// happen makes the fault happen again and again, to one replica after another, until ctx ends.
func (x fault) happen(ctx context.Context, f *fleet) {
	ticker := time.NewTicker(x.every)
	defer ticker.Stop()
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			x.do(ctx, f, n%replicas)
		}
	}
}
