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
	s.publish(name + " " + strconv.FormatInt(occasion, 10) + " " + strconv.FormatUint(rand.Uint64(), 36))
}

// publish is best effort: those who wait do so for no longer than a lease lasts.
func (s *Store) publish(message string) {
	_ = s.registers.call(func(ctx context.Context, i int) { _ = s.registers.list[i].Publish(ctx, message) })
}

// relisten is when a node that has failed is listened on again.
const relisten = time.Second

// Watch implements [protocol.Watcher]. It listens on every node that it can, and calls wake with the empty name whenever it
// begins to. It ends when it listens on none.
func (s *Store) Watch(ctx context.Context, wake func(name string, occasion int64)) error {
	return s.listen(ctx, "watch", func(message string) bool { return !isLock(message) && !isProgress(message) }, func(message string) {
		if message == "" {
			wake("", 0)
			return
		}
		name, rest, _ := strings.Cut(message, " ")
		number, _, _ := strings.Cut(rest, " ")
		if occasion, err := strconv.ParseInt(number, 10, 64); err == nil {
			wake(name, occasion)
		}
	})
}

// listen calls tell with the messages that are wanted, one after another, and with the empty one whenever it begins to listen on a node.
func (s *Store) listen(ctx context.Context, what string, wants func(message string) bool, tell func(message string)) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.registers.life, func() { cancel(ErrClosed) })()
	l := &listener{what: what, wants: wants, tell: tell, failed: make([]error, len(s.registers.list)), end: cancel}
	var listening sync.WaitGroup
	for i, n := range s.registers.list {
		listening.Go(func() { l.listen(ctx, i, n) })
	}
	listening.Wait()
	return context.Cause(ctx)
}

// listener is one call of Watch or Listen.
type listener struct {
	what  string
	wants func(message string) bool
	end   context.CancelCauseFunc

	mu     sync.Mutex
	tell   func(message string) // not called at once by two nodes
	failed []error              // by node; nil of those that are listened on, or were not yet tried
	heard  [64]string           // the last messages: each comes by way of every node
	next   int
}

func (l *listener) listen(ctx context.Context, i int, n Node) {
	for ctx.Err() == nil {
		err := n.Listen(ctx, func(message string) { l.hear(i, message) })
		l.fail(i, fmt.Errorf("%s: %s: %w", l.what, n, err))
		_ = sleep(ctx, relisten)
	}
}

func (l *listener) hear(i int, message string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failed[i] = nil
	switch {
	case message == "":
		l.tell("")
	case l.wants(message) && !slices.Contains(l.heard[:], message):
		l.heard[l.next%len(l.heard)] = message
		l.next++
		l.tell(message)
	}
}

// fail ends the call when no node is left.
func (l *listener) fail(i int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failed[i] = err
	if !slices.Contains(l.failed, nil) {
		l.end(errors.Join(l.failed...))
	}
}
