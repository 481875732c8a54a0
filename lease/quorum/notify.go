package quorum

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/sleep"
	"github.com/solotick/solotick/lease/driver"
)

// A message goes by way of every node, in the background, and is best effort: waiters do so for no
// longer than a lease lasts. A message is its id, by which it is received once, a space, and a
// text. Those of [Store.Publish] begin with progressPrefix; the others have notifications of
// changes, in JSON.
const progressPrefix = "!"

func isProgress(message string) bool { return strings.HasPrefix(message, progressPrefix) }

func (n *nodes) publish(prefix, text string) error {
	message := prefix + strconv.FormatUint(rand.Uint64(), 36) + " " + text
	return n.call(func(ctx context.Context, i int) { _ = n.list[i].Publish(ctx, message) })
}

// notify publishes notifications of a change that is certain.
func (v *values) notify(list []driver.Notification) {
	if len(list) == 0 {
		return
	}
	if text, err := json.Marshal(list); err == nil {
		_ = v.publish("", string(text))
	}
}

// Subscribe implements [driver.Store]. It listens on every node that it can, and calls notify with
// the zero Notification whenever it begins to. It ends when it listens on none.
func (v *values) Subscribe(ctx context.Context, notify func(driver.Notification)) error {
	return v.listen(ctx, "subscribe", func(message string) {
		var list []driver.Notification
		_, text, _ := strings.Cut(message, " ")
		switch {
		case message == "":
			notify(driver.Notification{})
		case isProgress(message) || json.Unmarshal([]byte(text), &list) != nil:
			return
		}
		for _, n := range list {
			notify(n)
		}
	})
}

// Publish implements [protocol.Store]. It returns an error when the store is closed.
func (s *store) Publish(ctx context.Context, message []byte) error {
	if err := protocol.CheckMessage(message); err != nil {
		return err
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return s.values.publish(progressPrefix, string(message))
}

// PublishTo implements [protocol.Store].
func (s *store) PublishTo(context.Context, []protocol.Letter) (sent bool, err error) {
	return false, nil
}

// Subscribe implements [protocol.Store].
func (s *store) Subscribe(ctx context.Context, receive func(message []byte), _ ...string) error {
	return s.values.listen(ctx, "subscribe", func(message string) {
		if _, text, ok := strings.Cut(message, " "); ok && isProgress(message) {
			receive([]byte(text))
		}
	})
}

// relisten is when a node that has failed is listened on again.
const relisten = time.Second

// listen calls receive with the messages of all nodes, one after another, and with the empty one
// whenever it begins to listen on a node.
func (n *nodes) listen(ctx context.Context, what string, receive func(message string)) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(n.life, func() { cancel(errClosed) })()
	l := &listener{what: what, receive: receive, failed: make([]error, len(n.list)), end: cancel}
	var listening sync.WaitGroup
	for i, node := range n.list {
		listening.Go(func() { l.listen(ctx, i, node) })
	}
	listening.Wait()
	return context.Cause(ctx)
}

// listener listens on all nodes.
type listener struct {
	what string
	end  context.CancelCauseFunc

	mu       sync.Mutex
	receive  func(message string) // not called at once by two nodes
	failed   []error              // by node; nil of those that are listened on, or were not yet tried
	received [64]string           // the last messages: each comes by way of every node
	next     int
}

func (l *listener) listen(ctx context.Context, i int, n Node) {
	for ctx.Err() == nil {
		err := n.Listen(ctx, func(message string) { l.take(i, message) })
		l.fail(i, fmt.Errorf("%s: %s: %w", l.what, n, err))
		sleep.For(ctx, relisten)
	}
}

func (l *listener) take(i int, message string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failed[i] = nil
	if message == "" {
		l.receive("")
	} else if !slices.Contains(l.received[:], message) {
		l.received[l.next%len(l.received)] = message
		l.next++
		l.receive(message)
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
