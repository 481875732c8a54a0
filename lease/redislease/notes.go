package redislease

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"time"
)

// notes passes on triggers, pauses and resumptions. Each answer about the time brings them along,
// since notifications may get lost. The zero value has no listeners.
type notes struct {
	mu        sync.Mutex
	listeners map[*func(name string, tick int64)]struct{}
	seen      int64     // up to when it has been read, in us of the server
	asked     time.Time // when it was read last; zero before the first answer that a new listener needs
}

// listen has wake called with each note, and with those of the last minute, until stop is called.
func (n *notes) listen(wake func(name string, tick int64)) (stop func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.listeners == nil {
		n.listeners = make(map[*func(name string, tick int64)]struct{})
	}
	n.listeners[&wake] = struct{}{}
	n.seen, n.asked = 0, time.Time{}
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.listeners, &wake)
	}
}

// after is since when a call is to ask for notes; empty when there are no listeners.
func (n *notes) after() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.listeners) == 0 {
		return ""
	}
	return strconv.FormatInt(n.seen, 10)
}

// read takes in the notes after a time.
func (n *notes) read(now int64, after string, list any) {
	noted, _ := list.([]any)
	n.mu.Lock()
	if after == "" || after != strconv.FormatInt(n.seen, 10) { // another call has read them
		n.mu.Unlock()
		return
	}
	n.seen, n.asked = now, time.Now()
	var listeners []func(name string, tick int64)
	if len(noted) > 0 {
		for l := range n.listeners {
			listeners = append(listeners, *l)
		}
	}
	n.mu.Unlock()
	for _, v := range noted {
		name, number, _ := strings.Cut(text(v), " ")
		tick, _ := strconv.ParseInt(number, 10, 64)
		for _, wake := range listeners {
			wake(name, tick)
		}
	}
}

// age is how long ago they were read.
func (n *notes) age() time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	return time.Since(n.asked)
}

// ask has notes read in time, where nobody asks for the time.
func (s *store) ask(ctx context.Context) {
	t := time.NewTimer(askEvery / 10) // soon: Watch may be called again and again
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		wait := askEvery - s.notes.age()
		if wait <= 0 {
			_, _, _ = s.values.Time(ctx) // an error shows in other calls, if it matters
			wait = askEvery
		}
		t.Reset(wait)
	}
}
