package protocol

import (
	"bufio"
	"encoding/gob"
	"io"
	"sync"
)

// Outbox holds the messages to the other side that are not sent. Who puts one in never waits for
// that side.
type Outbox[T any] struct {
	wake chan struct{} // of size 1: there is something to send

	mu      sync.Mutex
	waiting []T
}

// NewOutbox returns an empty outbox.
func NewOutbox[T any]() *Outbox[T] { return &Outbox[T]{wake: make(chan struct{}, 1)} }

// Put queues a message.
func (o *Outbox[T]) Put(message T) {
	o.Change(func(waiting []T) []T { return append(waiting, message) })
}

// Change replaces the messages that are not taken yet.
func (o *Outbox[T]) Change(change func(waiting []T) []T) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.waiting = change(o.waiting)
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// Take empties the outbox.
func (o *Outbox[T]) Take() []T {
	o.mu.Lock()
	defer o.mu.Unlock()
	waiting := o.waiting
	o.waiting = nil
	return waiting
}

// Send sends messages until the connection ends, or gone is closed, and calls sent with those that
// it has sent. Who receives on the connection sees its end, too.
func (o *Outbox[T]) Send(conn io.Writer, gone <-chan struct{}, sent func([]T)) {
	w := bufio.NewWriter(conn)
	encoder := gob.NewEncoder(w)
	for {
		select {
		case <-gone:
			return
		case <-o.wake:
		}
		messages := o.Take()
		for _, m := range messages {
			if encoder.Encode(m) != nil {
				return
			}
		}
		if w.Flush() != nil {
			return
		}
		sent(messages)
	}
}

// Receive calls handle with each message until the connection ends.
func Receive[T any](conn io.Reader, handle func(T)) {
	decoder := gob.NewDecoder(bufio.NewReader(conn))
	for {
		var message T
		if decoder.Decode(&message) != nil {
			return
		}
		handle(message)
	}
}
