package quorum

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// tell wakes those who watch, by way of every node and in the background, if wake says so. It is called when the change
// that it tells of is certain.
func (s *Store) tell(wake bool, name string, occasion int64) {
	if !wake {
		return
	}
	message := name + " " + strconv.FormatInt(occasion, 10) + " " + strconv.FormatUint(rand.Uint64(), 36)
	// It is best effort: those who wait do so for no longer than a lease lasts.
	_ = s.registers.call(func(ctx context.Context, i int) { _ = s.registers.list[i].Publish(ctx, message) })
}

// relisten is when Watch listens again on a node that has failed.
const relisten = time.Second

// Watch implements [lease.Watcher]. It listens on every node that it can, and calls wake with the empty name whenever it
// begins to. It ends when it listens on none.
func (s *Store) Watch(ctx context.Context, wake func(name string, occasion int64)) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.registers.life, func() { cancel(ErrClosed) })()
	w := &watch{wake: wake, failed: make([]error, len(s.registers.list)), end: cancel}
	var listening sync.WaitGroup
	for i, n := range s.registers.list {
		listening.Go(func() { w.listen(ctx, i, n) })
	}
	listening.Wait()
	return context.Cause(ctx)
}

type watch struct {
	end context.CancelCauseFunc

	mu     sync.Mutex
	wake   func(name string, occasion int64) // not called at once by two nodes
	failed []error                           // by node; nil of those that are listened on, or were not yet tried
	heard  [64]string                        // the last messages: each comes by way of every node
	next   int
}

func (w *watch) listen(ctx context.Context, i int, n Node) {
	for ctx.Err() == nil {
		err := n.Listen(ctx, func(message string) { w.hear(i, message) })
		w.fail(i, fmt.Errorf("watch: %s: %w", n, err))
		_ = sleep(ctx, relisten)
	}
}

func (w *watch) hear(i int, message string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failed[i] = nil
	if message == "" {
		w.wake("", 0)
		return
	}
	if slices.Contains(w.heard[:], message) {
		return
	}
	w.heard[w.next%len(w.heard)] = message
	w.next++
	name, rest, _ := strings.Cut(message, " ")
	number, _, _ := strings.Cut(rest, " ")
	if occasion, err := strconv.ParseInt(number, 10, 64); err == nil {
		w.wake(name, occasion)
	}
}

// fail ends the watch when no node is left.
func (w *watch) fail(i int, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failed[i] = err
	if !slices.Contains(w.failed, nil) {
		w.end(errors.Join(w.failed...))
	}
}
