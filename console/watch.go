package console

import (
	"context"
	"sync"
	"time"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/sleep"
)

const (
	// watchIdle is for how long the store is watched after the last reading.
	watchIdle = time.Minute
	// watchRetry is the time before a store that could not be watched is tried again.
	watchRetry = 5 * time.Second
)

// watching has the store name the jobs that others trigger, pause, resume or cancel, while somebody
// reads the fleet. They are then read at once, and not when their turn comes. It is safe for
// concurrent use.
type watching struct {
	mu   sync.Mutex
	stop context.CancelFunc // nil while the store is not watched
	idle *time.Timer
}

// goOn begins to watch the store, or goes on for another [watchIdle].
func (w *watching) goOn(c *Console) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stop != nil {
		w.idle.Reset(watchIdle)
		return
	}
	ctx, cancel := context.WithCancel(c.background.ctx)
	if !c.background.do(func(context.Context) { watch(ctx, c.store, c.monitor.Changed) }) {
		cancel()
		return
	}
	w.stop, w.idle = cancel, time.AfterFunc(watchIdle, w.end)
}

func (w *watching) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stop()
	w.stop = nil
}

// watch calls changed with the names of jobs until ctx ends.
func watch(ctx context.Context, store protocol.Store, changed func(job string)) {
	for ctx.Err() == nil {
		_ = store.Watch(ctx, func(name string, _ int64) { // an error shows in the readings, if it matters
			if name != "" {
				changed(name)
			}
		})
		sleep.For(ctx, watchRetry)
	}
}
